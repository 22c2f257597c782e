/*-------------------------------------------------------------------------
 *
 * ddl.h
 *	  Offers what commands on tables mean for index tables to the event triggers that fire for
 *	  them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DDL_H
#define INDEXTABLE_DDL_H

#include "nodes/nodes.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "tcop/deparse_utility.h"

#include "../indextable.h"

/* before_alter.c: refuses commands that would make index tables wrong */
extern void refuse_again(Node *command, List *commands);

/* column_type.c: has index tables follow a change of a fact table's column to another type */
extern bool can_follow_type(FactDef *fact, const char *column);
extern void prepare_type_change(FactDef *fact);
extern void lock_for_type_change(Oid table);
extern void follow_type_change(Oid fact, AlterTableStmt *stmt);

/*
 * detach_partition.c: deletes the entries of partitions of fact tables that a command is about
 * to detach or drop.
 */

/* A partition that is about to leave its fact table. */
typedef struct Detach
{
	RangeVar   *name;			/* as the command has it */
	Oid			partition;
	Oid			parent;
	Oid			root;			/* the fact table */
	List	   *whole;			/* partitions of index tables that are to be
								 * emptied */
} Detach;

extern bool prepare_detaches(List *detaches);
extern bool detach_under_locks(List *detaches);
extern Oid	partition_parent(Oid relid);
extern Oid	root_to_detach_from(Oid relid);
extern void delete_entries_before_detach(Oid root, Oid partition, List **whole);

/* event_trigger.c: tells event triggers of the command that fired them */

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

/* IS_COMMAND: returns whether a collected command is of a kind, by the type of its parse tree */
#define IS_COMMAND(collected, type)	((collected)->parsetree != NULL && IsA((collected)->parsetree, type))

extern List *collected_commands(void);
extern void refuse_uncollected(Node *command);
extern Oid	created_object(CollectedCommand *command, Oid class);
extern Oid	altered_relation(List *commands);
extern void begin_notes(CommandNotes **innermost, Node *command);
extern List *take_notes(CommandNotes **innermost, Node *command);

/* filter_rename.c: rewrites the filters of index tables when something that they use is renamed */
extern bool may_affect_filters(Node *command);
extern void parse_filters_before_rename(Node *command);
extern void rewrite_filters_after_rename(Node *command);

/* on_drop.c: deletes the entries of partitions that are about to be dropped */
extern bool names_tables(Node *command);
extern void prepare_drop(DropStmt *stmt);

/* readers.c: warns of roles that read entries of what their fact table does not show them */
extern void warn_of_readers(CollectedCommand *command);
extern void revoke_default_privileges(Oid relid);

/* own_objects.c: refuses to alter or drop what the extension itself needs */
extern void check_extension_object_change(Node *command);
extern void check_extension_object_drop(const char *type, const char *schema, const char *name,
										const char *subobject);
extern void refuse_drop_of_queue(Oid relid, const char *name);
extern void refuse_drop_of_row_index(Oid schema);
extern void refuse_forged_trigger(const char *name, bool has_arguments);
extern void refuse_trigger_of_others(Oid relid, CreateTrigStmt *stmt, Oid function);
extern void refuse_misused_function(Oid relid, CreateTrigStmt *stmt, Oid function);
extern void refuse_other_trigger(Oid relid, CreateTrigStmt *stmt);
extern void refuse_row_trigger(Oid relid, const char *name, Oid function);

/* partition_ddl.c: keeps index tables in step when partitions are created, attached or detached */
extern List *attached_partitions(Oid parent, CollectedATSubcmd *subcommand);
extern void handle_attach_detach(Oid parent, CollectedATSubcmd *subcommand);
extern void prepare_detach(AlterTableStmt *stmt, AlterTableCmd *cmd);
extern void handle_new_partition(Oid relid);

/*
 * table_relations.c: refuses relations that fact tables and index tables cannot have with
 * other tables.
 */
extern void refuse_relations(Node *command);
extern void refuse_relations_of(Oid relid);

#endif							/* INDEXTABLE_DDL_H */
