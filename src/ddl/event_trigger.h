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
#include "nodes/pg_list.h"

extern void require_event_trigger(FunctionCallInfo fcinfo, const char *function);
extern List *event_trigger_relations(const char *function, bool with_columns);

#endif							/* INDEXTABLE_EVENT_TRIGGER_H */
