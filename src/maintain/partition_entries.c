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
#include "access/table.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/uncounted_reads.h"
#include "../util/while_set.h"
#include "maintain.h"

/* The number of rows whose entries are written together. */
#define MAX_ROWS			10000

static FactDef *open_definition(Relation root);
static void update_entries_by_rows(FactDef *def, Relation root, Relation partition, bool attached, bool only_queue,
								   bool *settled);
static void flush(FactDef *def, OpList *lists, MemoryContext cxt);

/* Partitions that are about to leave their fact tables. */
static List *detaching = NIL;

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
		(elsewhere->leaves(partition) != NIL || OidIsValid(find_root_detached_from(partition)));
	FactDef    *def = open_definition(root_rel);
	List	   *left_alone = NIL;

	/*
	 * A new partition, to which an event trigger has written rows, may have
	 * had no trigger for the end of that.
	 */
	batch_end_statement(root);
	refuse_put_off_of_fact(root);
	in_step_lost(root);
	if (whole != NULL)
		left_alone = *whole = partitions_in_bounds(def, rel);
	if (by_bounds)
		delete_entries_in_bounds(def, rel, left_alone, false);
	else
	{
		bool		done = !attached && delete_entries_if_cheaper(def, rel, left_alone);

		if (!done || def->layout.queued != NULL)
			update_entries_by_rows(def, root_rel, rel, attached, done,
								   left_alone == NIL ? NULL : settled_index_tables(def, rel, left_alone));
		if (def->ntotals > 0)
		{
			Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

			deltas_write_rows(def->totals, def->ntotals, rel, snapshot, attached);
			UnregisterSnapshot(snapshot);
		}
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
	block_scan_begin(&scan, def, rel, snapshot, NULL);
	while ((row = block_scan_next(&scan)) != NULL)
		queue_collect(def, NULL, row);
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

	block_scan_begin(&scan, def, partition, snapshot, NULL);
	while ((row = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);

		if (scan.foreign != NULL)
			elsewhere->rows->require_in_bounds(def, root, RelationGetRelid(scan.rel), row, true);
		if (def->layout.queued != NULL)
			queue_collect(def, NULL, row);
		if (!only_queue)
			batch_add_row(def, row, attached, attached, lists, cxt);
		for (int d = 0; settled != NULL && d < def->nsync; d++)
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

/* note_detaching: notes that the entries of a partition, and of its own partitions, are deleted */
void
note_detaching(Oid partition)
{
	foreach_oid(relid, list_with_partitions(partition))
		note_table(&detaching, relid);
}

/* is_detaching: returns whether that was noted of a partition */
bool
is_detaching(Oid partition)
{
	return list_member_oid(detaching, partition);
}

/* forget_detaching: forgets a partition, and its own, that has been detached, or attached since */
void
forget_detaching(Oid partition)
{
	List	   *partitions = detaching == NIL ? NIL : list_with_partitions(partition);

	foreach_oid(relid, detaching)
	{
		if (list_member_oid(partitions, relid))
			detaching = foreach_delete_current(detaching, relid);
	}
}

/*
 * refuse_write_to_detaching
 *		Raises an error if a row is written to a partition whose entries are deleted already.
 */
void
refuse_write_to_detaching(Relation written)
{
	if (is_detaching(RelationGetRelid(written)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot write to partition \"%s\" while it is being detached or dropped", RelationGetRelationName(written)),
				 errdetail("The entries of its rows are deleted already."),
				 errhint("Check the event triggers of the database.")));
}

/*
 * refuse_to_stay
 *		Raises an error before a transaction ends if a partition has stayed, because its name had
 *		another meaning by the time the command came to it.
 */
void
refuse_to_stay(void)
{
	/* DETACH CONCURRENTLY commits right after it has marked the partition. */
	if (detaching != NIL)
		CommandCounterIncrement();
	foreach_oid(relid, detaching)
	{
		Oid			root = registered_root(relid);

		if (root != relid && catalog_fact_in_use(root))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" was to be detached or dropped, and has stayed", get_rel_name(relid)),
					 errdetail("The entries of its rows are deleted already."),
					 errhint("The transaction might succeed if retried.")));
	}
}

/* The partitioned fact table that is being truncated as a whole, or InvalidOid. */
static Oid	truncating = InvalidOid;

/*
 * prepare_truncate
 *		Deletes the entries of a partition before it is truncated, as long as its rows
 *		tell which entries they are.  Where the whole fact table is truncated, notes that:
 *		maintain_truncate() empties the index tables afterwards.
 */
void
prepare_truncate(Relation rel)
{
	Oid			root = root_of(rel);

	if (root == RelationGetRelid(rel))
		truncating = root;
	else if (!OidIsValid(root) || truncating == root)
		return;
	else if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		update_entries_of_partition(root, RelationGetRelid(rel), false, NULL);
	else if (!HAS_FOREIGN_TRUNCATE_TRIGGERS)
	{
		foreach_oid(relid, elsewhere->leaves(RelationGetRelid(rel)))
			update_entries_of_partition(root, relid, false, NULL);
	}
}

/*
 * maintain_truncate
 *		Empties the index tables of a fact table that was truncated, and queues in its feed
 *		that all rows have changed.  TRUNCATE of the fact table holds a lock that keeps
 *		every other session out.  Afterwards older snapshots see it and the index tables
 *		empty.
 *
 * Of a table in parts, Citus has locked the table that is without rows on all nodes, and
 * locks the index tables in the same way, so that the drains of all nodes have ended, and
 * transactions that they have prepared.  Each shard stays locked until the transaction has
 * committed on its node: entries of rows that are written where it already has are written
 * after that.  What is left in the queue are keys of rows that do not exist.
 */
void
maintain_truncate(Relation fact)
{
	FactDef    *def;
	List	   *index_tables = NIL;
	Oid			relid;

	truncating = InvalidOid;
	/* A shard has this trigger, too, once Citus has moved or split it. */
	if (OidIsValid(place_table_of_part(RelationGetRelid(fact))))
		return;
	def = get_trigger_definition(fact);
	if (def == NULL)
		return;
	relid = def->relid;
	batch_discard(relid);
	if (def->queue.feed)
		queue_collect_key(def, NULL, NULL);
	for (int i = 0; i < def->nall; i++)
		index_tables = lappend_oid(index_tables, def->defs[i]->relid);

	/*
	 * A session that has read an index table may come to the fact table,
	 * which the command has locked already: then it is this command that
	 * gives way.
	 */
	foreach_oid(index_table, index_tables)
	{
		lock_tree_in_turns(index_table, AccessExclusiveLock);
		if (lock_if_exists(index_table, AccessExclusiveLock))
		{
			truncate_index_table(index_table);
			catalog_forget_rejections(index_table);
			completeness_begin(index_table);
		}
	}
	CacheInvalidateRelcacheByRelid(relid);	/* see completeness.c */
}

/*
 * truncate_index_table
 *		Truncates an index table and its partitions, or one of these, which is locked.
 */
void
truncate_index_table(Oid relid)
{
	int			uncounted;

	/*
	 * TRUNCATE builds the indexes anew, which must not be counted as reading
	 * the index table.  What triggers of its owner do in the meantime is not
	 * counted either.  The truncation itself is reported afterwards.  The
	 * triggers may not act as the current user.
	 */
	uncounted = begin_uncounted();
	WHILE_SET(truncated_by_us, index_table_of(relid),
			  run_sql(table_owner(relid), "TRUNCATE TABLE %s%s",
					  get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE || place_has_parts(relid) ? "" :
					  "ONLY ",
					  held_name(relid)));
	end_uncounted(uncounted);
	foreach_oid(table, list_with_partitions(relid))
	{
		Relation	rel = relation_open(table, NoLock);

		pgstat_count_truncate(rel);
		relation_close(rel, NoLock);
	}
}

/*
 * forget_truncating
 *		Forgets which fact table is being truncated, as a (sub)transaction ends, which may be
 *		the one that does.
 */
void
forget_truncating(void)
{
	truncating = InvalidOid;
}
