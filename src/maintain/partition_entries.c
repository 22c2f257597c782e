/*-------------------------------------------------------------------------
 *
 * partition_entries.c
 *	  Writes or deletes the entries of a partition that is attached, detached, dropped
 *	  or truncated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../definition/cache.h"
#include "../definition/fact_partition.h"
#include "../entry/block_scan.h"
#include "../entry/deltas.h"
#include "../entry/diff.h"
#include "../indextable.h"
#include "../place/foreign/foreign_rows.h"
#include "../queue/append.h"
#include "../util/inherit.h"
#include "../util/subxact.h"
#include "batch.h"
#include "entries_by_bounds.h"
#include "in_step.h"
#include "partition_entries.h"

/* The entries of so many rows are written together. */
#define MAX_ROWS			10000

static FactDef *open_definition(Relation root);
static void update_entries_by_rows(FactDef *def, Relation root, Relation partition, bool attached, bool only_queue,
								   bool *settled);
static void update_totals(FactDef *def, Relation partition, bool attached);
static void flush(FactDef *def, OpList *lists, MemoryContext cxt);

/* Partitions that are about to leave their fact tables: of NotedTable *. */
static List *leaving = NIL;

/*
 * update_entries_of_partition
 *		Writes the entries of the rows of a partition that is attached, or deletes those
 *		of one that is detached, dropped or truncated, and queues the rows for
 *		asynchronous index tables.  The caller has locked the partition against writers.
 *
 * A partition that is detached and is on another server may be out of reach: then its
 * bounds tell which entries to delete, and its rows are not read.  The bounds also tell
 * for a partition that DETACH CONCURRENTLY has marked before.  Its entries are deleted
 * already, unless an older version of this library has left them; and those that were
 * left need not be the entries of the rows that it has by now.  Otherwise the rows are read
 * if that costs less, or if they are to be queued.
 *
 * If whole is not NULL, the entries of those partitions of index tables are left alone that have
 * entries of this partition only.  They are listed in *whole, and the caller empties them, or has
 * delete_entries_of_whole() delete their entries.
 */
void
update_entries_of_partition(Oid root, Oid partition, bool attached, List **whole)
{
	Relation	root_rel = relation_open(root, AccessShareLock);
	Relation	rel = relation_open(partition, NoLock);
	bool		by_bounds = !attached &&
		(foreign_leaves(partition) != NIL || OidIsValid(find_root_detached_from(partition)));
	FactDef    *def = open_definition(root_rel);
	List	   *left_alone = NIL;

	in_step_lost(root);
	if (whole != NULL)
		left_alone = *whole = partitions_in_bounds(def, rel);
	if (by_bounds)
		delete_entries_in_bounds(def, rel, left_alone, false);
	else
	{
		bool		done = !attached && delete_entries_if_cheaper(def, rel, left_alone);

		if (!done || def->queued != NULL)
			update_entries_by_rows(def, root_rel, rel, attached, done,
								   left_alone == NIL ? NULL : settled_index_tables(def, rel, left_alone));
		if (def->ntotals > 0)
			update_totals(def, rel, attached);
	}
	relation_close(rel, NoLock);
	relation_close(root_rel, NoLock);
}

/* delete_entries_of_whole: deletes the entries that update_entries_of_partition() has left alone */
void
delete_entries_of_whole(Oid root, Oid partition, List *whole)
{
	Relation	root_rel = relation_open(root, AccessShareLock);
	Relation	rel = relation_open(partition, NoLock);
	FactDef    *def = open_definition(root_rel);

	delete_entries_of_partitions(def, rel, whole);
	relation_close(rel, NoLock);
	relation_close(root_rel, NoLock);
}

/*
 * open_definition
 *		Returns the definition of a fact table, held in the current memory context, with its
 *		transactional index tables locked as by their writers.
 */
static FactDef *
open_definition(Relation root)
{
	FactDef    *def;

	do
		def = definition_of_fact(root, RelationGetRelid(root));
	while (!definition_settled(def, definition_lock(def, 0, def->nsync)));
	definition_hold(def, CurrentMemoryContext);
	return def;
}

/*
 * queue_rows_of_partition
 *		Queues all rows that a partition has, and those that have entries within its bounds,
 *		because any of them may have changed.  The caller drains the queue.
 */
void
queue_rows_of_partition(FactDef *def, Oid partition)
{
	Relation	rel = relation_open(partition, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	BlockScan	scan;
	TupleTableSlot *row;

	delete_entries_in_bounds(def, rel, NIL, true);
	block_scan_begin(&scan, def, rel, snapshot, 100, 0);
	while ((row = block_scan_next(&scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		queue_collect(def, NULL, row);
	}
	block_scan_end(&scan);
	UnregisterSnapshot(snapshot);
	relation_close(rel, NoLock);
}

/*
 * update_entries_by_rows
 *		Reads the rows of a partition, queues them, and writes or deletes their entries, unless
 *		only_queue is true, and but for index tables that are settled, unless that is NULL.
 */
static void
update_entries_by_rows(FactDef *def, Relation root, Relation partition, bool attached, bool only_queue,
					   bool *settled)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable partition",
											  ALLOCSET_DEFAULT_SIZES);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	OpList	   *lists = palloc0(sizeof(OpList) * Max(def->nsync, 1));
	BlockScan	scan;
	TupleTableSlot *row;
	int			n = 0;
	int			d;

	block_scan_begin(&scan, def, partition, snapshot, 100, 0);
	while ((row = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);

		CHECK_FOR_INTERRUPTS();
		if (scan.foreign != NULL)
			require_in_bounds(def, root, RelationGetRelid(scan.rel), row, true);
		if (def->queued != NULL)
			queue_collect(def, NULL, row);
		if (!only_queue)
			batch_add_row(def, row, attached, attached, lists, cxt);
		for (d = 0; settled != NULL && d < def->nsync; d++)
			if (settled[d])
				memset(&lists[d], 0, sizeof(OpList));
		MemoryContextSwitchTo(old);
		if (++n % MAX_ROWS == 0)
			flush(def, lists, cxt);
	}
	block_scan_end(&scan);
	flush(def, lists, cxt);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(cxt);
}

/* update_totals: adds what the rows of a partition add to totals, or takes it away if it leaves */
static void
update_totals(FactDef *def, Relation partition, bool attached)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	deltas_write_rows(def, def->totals, def->ntotals, partition, snapshot, attached);
	UnregisterSnapshot(snapshot);
}

/* flush: writes the operations that were collected, and forgets them */
static void
flush(FactDef *def, OpList *lists, MemoryContext cxt)
{
	batch_write_lists(def, lists, false);
	memset(lists, 0, sizeof(OpList) * def->nsync);
	MemoryContextReset(cxt);
}

/*
 * What follows keeps rows out of partitions that a command is about to detach or drop.
 *
 * Their entries are deleted before the command, and other sessions are locked out.  But event
 * triggers of users may fire between the two, and the entries of rows that they wrote into such
 * a partition would stay.  So they get an error.  Nothing is wrong with deleting rows.
 */

/* note_leaving: notes that the entries of a partition, and of its own partitions, are deleted */
void
note_leaving(Oid partition)
{
	ListCell   *cell;

	foreach(cell, list_with_partitions(partition))
		note_table(&leaving, lfirst_oid(cell));
}

/* is_leaving: returns whether that was noted of a partition */
bool
is_leaving(Oid partition)
{
	return is_noted_table(leaving, partition);
}

/* forget_leaving: forgets a partition, and its own, that has been detached, or attached since */
void
forget_leaving(Oid partition)
{
	List	   *partitions = leaving == NIL ? NIL : list_with_partitions(partition);
	ListCell   *cell;

	foreach(cell, leaving)
	{
		if (list_member_oid(partitions, ((NotedTable *) lfirst(cell))->relid))
			leaving = foreach_delete_current(leaving, cell);
	}
}

/* refuse_leaving: raises an error if a row is written to a partition whose entries are deleted already */
void
refuse_leaving(Relation written)
{
	if (is_leaving(RelationGetRelid(written)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot write to partition \"%s\" while it is being detached or dropped", RelationGetRelationName(written)),
				 errdetail("The entries of its rows are deleted already."),
				 errhint("Check the event triggers of the database.")));
}

/*
 * leaving_at_xact_event
 *		Forgets all when the transaction has ended; before that raises an error if a partition has
 *		stayed, because its name had another meaning by the time the command came to it.
 */
void
leaving_at_xact_event(XactEvent event)
{
	bool		commits = event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE;
	ListCell   *cell;

	/* DETACH CONCURRENTLY commits right after it has marked the partition. */
	if (commits && leaving != NIL)
		CommandCounterIncrement();
	foreach(cell, commits ? leaving : NIL)
	{
		Oid			relid = ((NotedTable *) lfirst(cell))->relid;
		Oid			root = registered_root(relid);

		if (root != relid && catalog_fact_in_use(root))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" was to be detached or dropped, and has stayed", get_rel_name(relid)),
					 errdetail("The entries of its rows are deleted already."),
					 errhint("The transaction might succeed if retried.")));
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		leaving = NIL;
}

/* leaving_at_abort_of: forgets those whose command is undone with a subtransaction */
void
leaving_at_abort_of(SubTransactionId sub)
{
	leaving = notes_without_undone(leaving, sub);
}
