/*-------------------------------------------------------------------------
 *
 * maintain.h
 *	  Offers what keeps index tables in step in the transaction of a writer, and with commands on
 *	  tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MAINTAIN_H
#define INDEXTABLE_MAINTAIN_H

#include "nodes/nodes.h"

#include "../apply/apply.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/lock_wait.h"

/* commit_code.c: keeps code of users that runs while a transaction commits from foreign tables */
extern bool is_committing;
extern void commit_code_init(void);
extern void refuse_foreign_in_plan(PlannedStmt *plan);
extern void refuse_foreign_in_command(Node *command);

/* at_commit.c: the registration of what is done when a transaction ends */
extern void at_commit_init(void);
extern int	left_for_commit(void);

/*
 * batch.c: collects operations on the index tables of a fact table until the end of the
 * statement, and writes them.
 */

/* Operations that are written together. */
typedef struct OpSet
{
	FactDef    *def;			/* pinned; NULL: nothing is collected */
	OpList	   *lists;			/* one for each transactional index table;
								 * NULL: nothing is collected */
	Deltas	  **deltas;			/* one for each table of totals */
	SubTransactionId owner;		/* the subtransaction that collected them */
	MemoryContext cxt;			/* of the lists and their tuples */
} OpSet;

extern void batch_init(void);
extern void batch_write_all(void);
extern void batch_at_end_of_transaction(void);
extern void batch_at_abort_of(SubTransactionId sub);
extern void batch_at_commit_to(SubTransactionId parent);
extern void batch_end_statement(Oid fact);
extern void batch_end_parts(void);
extern bool batch_lock(FactDef *fact);
extern OpSet *batch_get_set(FactDef *fact);
extern void batch_row_done(FactDef *fact);
extern void batch_add_row(FactDef *def, TupleTableSlot *row, bool insert, bool report, OpList *lists,
						  MemoryContext cxt);
extern void batch_write_lists(FactDef *def, OpList *lists, bool keep);
extern void batch_discard(Oid fact);
extern void batch_note_foreign(Oid fact, CommandId cid);
extern bool batch_foreign_since(Oid fact, CommandId cid);
extern int	batches_pending(Oid fact);
extern void batch_note_version(Oid fact, CommandId cid);
extern bool batch_written_since(Oid fact, CommandId cid);

/* drain_all.c: applies all that is queued here and in the feeds of other servers */
extern void drain_local_queue(Oid fact_table, DrainCall *call);
extern void warn_not_drained(Oid fact_table, ErrorData *error);

/* folding.c: replaces the entries of each group of a table of totals by their sum */
extern List *tables_of_totals(Oid fact_table);
extern int64 fold_if_free(Oid index_table, int64 limit);

/*
 * entries_by_bounds.c: deletes the entries of a partition by its bounds, without reading its
 * rows.
 */
extern bool delete_entries_if_cheaper(FactDef *def, Relation partition, List *left_alone);
extern void delete_entries_in_bounds(FactDef *def, Relation partition, List *left_alone, bool queued_only);
extern void delete_entries_of_partitions(FactDef *def, Relation partition, List *leaves);
extern List *partitions_in_bounds(FactDef *def, Relation partition);
extern bool *settled_index_tables(FactDef *def, Relation partition, List *left_alone);

/*
 * make_table.c: opens a table that is to be a fact table, checks its partitions, and finds the
 * definition of one whose trigger has fired; creates the bare table of an index table.
 */
extern Relation open_fact(Oid relid, LOCKMODE lock, WaitingCommand command);
extern void check_partitions(Relation root);
extern FactDef *get_trigger_definition(Relation fact);
extern float4 truncate_without_replication(Oid relid);
extern void empty_index_table(Oid index_table);
extern Oid	create_bare_index_table(Oid creator, Oid schema, const char *name, const char *columns,
									Partitioning *partitioning, const char *tablespace, Oid owner);
extern Oid	fact_being_filled;
extern void refuse_write_beside(Relation rel);
extern void make_partitions(Oid creator, Oid parent, Partitioning *p);
extern void drop_placeholders(Oid relid, List *names);

/*
 * follow_ddl.c: keeps the catalog in step with fact tables and index tables that were altered,
 * or marks index tables as invalid.
 */
extern void sync_index_table_owner(Oid index_table, Relation fact, bool change);
extern void update_definitions(Oid fact, bool fact_altered, bool renamed);
extern void update_definition(IndexDef *def, Relation fact, bool entries_changed);
extern void invalidate_without_triggers(Oid relid);
extern void invalidate_broken_definitions(Oid relid);
extern void warn_undefined(Oid index_table);
extern void refuse_undefined(Oid fact_table, Oid written);

/* in_step.c: whether a snapshot sees just the entries of the fact rows that it sees */
extern void in_step_init(void);
extern const char *why_out_of_step(IndexDef *def, Snapshot snapshot);
extern bool written_by_us(FactDef *def);
extern EState *innermost_writer(void);
extern void in_step_lost(Oid fact);
extern void in_step_at_end(void);
extern void in_step_at_abort_of(SubTransactionId sub);

/*
 * install_triggers.c: creates, checks and drops our triggers on fact tables, and the guards of
 * index tables.
 */
extern void triggers_install(Oid fact);
extern void triggers_install_on(Oid relid, Oid fact);
extern void triggers_remove_from(Oid relid);
extern bool triggers_intact(Oid fact);
extern bool triggers_intact_on(List *tables, Oid fact);
extern bool guards_intact(Oid index_table);
extern bool triggers_remove(Oid fact, bool wait);
extern void triggers_install_guard(Oid index_table);

/*
 * The index table that the extension truncates at this moment, or InvalidOid.  It is set by WHILE_SET()
 * only: code of others runs in such a command, and may bring about another one.
 */
extern Oid	truncated_by_us;

/*
 * partition_entries.c: writes or deletes the entries of a partition that is attached,
 * detached, dropped or truncated.
 */
extern void queue_rows_of_partition(FactDef *def, Oid partition);
extern void delete_entries_of_whole(Oid root, Oid partition, List *whole);
extern void update_entries_of_partition(Oid root, Oid partition, bool attached, List **whole);
extern void note_detaching(Oid partition);
extern bool is_detaching(Oid partition);
extern void forget_detaching(Oid partition);
extern void refuse_write_to_detaching(Relation written);
extern void refuse_to_stay(void);
extern void maintain_truncate(Relation fact);
extern void prepare_truncate(Relation rel);
extern void truncate_index_table(Oid relid);
extern void forget_truncating(void);

#endif							/* INDEXTABLE_MAINTAIN_H */
