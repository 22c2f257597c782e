/*-------------------------------------------------------------------------
 *
 * event_trigger.h
 *	  Tells event triggers of the command that fired them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_EVENT_TRIGGER_H
#define INDEXTABLE_EVENT_TRIGGER_H

#include "fmgr.h"
#include "nodes/nodes.h"
#include "nodes/pg_list.h"

/*
 * What event triggers note before a command for those that fire after it: a CommandNotes for each
 * command that has not ended, the innermost first.
 */
typedef struct CommandNotes
{
	Node	   *command;
	List	   *notes;
	struct CommandNotes *outer;
} CommandNotes;

extern void require_event_trigger(FunctionCallInfo fcinfo, const char *function);
extern List *event_trigger_relations(const char *function, bool with_columns);
extern void begin_notes(CommandNotes **innermost, Node *command);
extern List *take_notes(CommandNotes **innermost, Node *command);

#endif							/* INDEXTABLE_EVENT_TRIGGER_H */
