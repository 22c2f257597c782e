/*-------------------------------------------------------------------------
 *
 * entries_by_bounds.c
 *	  Deletes the entries of a partition that is detached, dropped or truncated, without
 *	  reading its rows.
 *
 * The bounds of the partition tell of each entry, by its primary key, whether it belongs
 * to a row of the partition: the primary key has all columns that the fact table is
 * partitioned by.  So the index table is read once, in the order in which it is stored,
 * and what is within the bounds is deleted where it is found.  No index is searched, and
 * no document is looked at.
 *
 * That is done for partitions on other servers, which may be out of reach; for those that
 * are being detached already, whose rows may not be those that had the entries; and
 * wherever it costs less than to make the entries of each row and search for them.  The
 * more partitions a fact table has, the more entries of others are read in vain.  But if
 * an index table is partitioned by a column that its fact table is partitioned by, only
 * those of its partitions are read that can have such entries.
 *
 * Nobody else writes entries of the partition meanwhile, since its writers are locked out,
 * but for a repair() of entries that have no row, which may have been faster.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/attnum.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/pg_list.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "partitioning/partdefs.h"
#include "rewrite/rewriteManip.h"
#include "storage/block.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../entry/block_scan.h"
#include "../entry/diff.h"
#include "../entry/table_writer.h"
#include "../entry/write_entry.h"
#include "../indextable.h"
#include "../queue/append.h"
#include "../util/inherit.h"
#include "../util/role.h"
#include "entries_by_bounds.h"

/*
 * To make an entry of a row that was read, and to search for it, costs as much as to read
 * so many entries in vain, or more: up to a hundred, as measured.
 */
#define READ_PER_ROW		60

static bool is_default(Oid partition, Oid root);
static void visit_entries_in_bounds(FactDef *def, Relation partition, int from, int to);
static List *bounds_of_entries(FactDef *def, IndexDef *index, Relation partition);
static List *leaves_in_bounds(IndexDef *index, Relation rel, List *bounds);
static double estimate_rows(List *leaves);

/*
 * delete_entries_in_bounds
 *		Deletes the entries whose primary keys are within the bounds of a partition, and
 *		queues the rows of those in asynchronous index tables.  With queued_only, no entry is
 *		deleted, and only rows are queued.
 */
void
delete_entries_in_bounds(FactDef *def, Relation partition, bool queued_only)
{
	if (def->feed)
		queue_collect_key(def, NULL, NULL);
	visit_entries_in_bounds(def, partition, queued_only ? def->nsync : 0, def->ndefs);
}

/*
 * delete_entries_if_cheaper
 *		Deletes the entries within the bounds of a partition in transactional index tables,
 *		if that costs less than to do so row by row; returns whether it has.
 */
bool
delete_entries_if_cheaper(FactDef *def, Relation partition)
{
	double		rows;
	double		entries = 0;
	int			d;

	/*
	 * To read all of an index table would be in conflict with all who write
	 * the fact table in serializable transactions.
	 */
	if (def->nsync == 0 || IsolationIsSerializable() || is_default(RelationGetRelid(partition), def->relid))
		return false;
	rows = estimate_rows(lock_leaves(RelationGetRelid(partition), NULL, AccessShareLock));
	for (d = 0; d < def->nsync; d++)
	{
		Relation	rel = relation_open(def->defs[d]->relid, NoLock);

		entries += estimate_rows(leaves_in_bounds(def->defs[d], rel, bounds_of_entries(def, def->defs[d], partition)));
		relation_close(rel, NoLock);
	}
	if (entries > rows * READ_PER_ROW * def->nsync)
		return false;
	visit_entries_in_bounds(def, partition, 0, def->nsync);
	return true;
}

/*
 * is_default
 *		Returns whether a partition of a fact table, or a table above it, is a default partition,
 *		whose bounds are what is left by those of all others, and so take long to check.
 */
static bool
is_default(Oid partition, Oid root)
{
	while (partition != root)
	{
		Oid			parent = get_partition_parent(partition, true);

		if (get_default_partition_oid(parent) == partition)
			return true;
		partition = parent;
	}
	return false;
}

/*
 * visit_entries_in_bounds
 *		Looks at the entries within the bounds of a partition in the index tables from number
 *		"from" up to "to": those of transactional ones are deleted, and the rows of the others
 *		are queued.
 */
static void
visit_entries_in_bounds(FactDef *def, Relation partition, int from, int to)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable leave", ALLOCSET_DEFAULT_SIZES);
	Caller		caller;
	int			d;

	/*
	 * The bounds may call functions of users: those of the types by which the
	 * parents of the partition are partitioned.
	 */
	become_owner(&caller, def->owner);
	for (d = from; d < to; d++)
	{
		IndexDef   *index = def->defs[d];
		bool		deletes = d < def->nsync;
		Relation	rel = relation_open(index->relid, deletes ? NoLock : AccessShareLock);
		List	   *bounds = bounds_of_entries(def, index, partition);
		EState	   *estate = CreateExecutorState();
		ExprContext *econtext = GetPerTupleExprContext(estate);
		ExprState  *check = ExecPrepareCheck(bounds, estate);
		Relation	leaf = NULL;
		Writer		writer;
		BlockScan	scan;
		TupleTableSlot *entry;

		block_scan_begin(&scan, NULL, rel, snapshot, 100, 0);
		scan.rels = leaves_in_bounds(index, rel, bounds);
		while ((entry = block_scan_next(&scan)) != NULL)
		{
			MemoryContext old;

			CHECK_FOR_INTERRUPTS();
			ResetExprContext(econtext);
			econtext->ecxt_scantuple = entry;
			if (!ExecCheck(check, econtext))
				continue;
			if (deletes && (leaf == NULL || RelationGetRelid(leaf) != RelationGetRelid(scan.rel)))
			{
				if (leaf != NULL)
				{
					close_writer(&writer);
					relation_close(leaf, NoLock);
				}
				leaf = relation_open(RelationGetRelid(scan.rel), RowExclusiveLock);
				open_writer(&writer, index, leaf);
				new_command(&writer);
			}
			old = MemoryContextSwitchTo(cxt);
			if (deletes)
			{
				Op			op = {.kind = OP_DELETE};

				op.tuple = ExecFetchSlotHeapTuple(entry, false, NULL);
				op.place.table = RelationGetRelid(leaf);
				op.place.tid = entry->tts_tid;
				write_op(&writer, &op, true, false);
			}
			else
			{
				Datum		key[INDEX_MAX_KEYS];
				int			i;

				slot_getallattrs(entry);
				for (i = 0; i < def->npk; i++)
					key[i] = entry->tts_values[index->pk_attno[i] - 1];
				queue_collect_key(def, NULL, key);
			}
			MemoryContextSwitchTo(old);
			MemoryContextReset(cxt);
		}
		if (leaf != NULL)
		{
			close_writer(&writer);
			relation_close(leaf, NoLock);
		}
		block_scan_end(&scan);
		FreeExecutorState(estate);
		relation_close(rel, NoLock);
	}
	become_caller(&caller);
	MemoryContextDelete(cxt);
	UnregisterSnapshot(snapshot);
}

/*
 * bounds_of_entries
 *		Returns the bounds of a partition as conditions on the entries in an index table.
 */
static List *
bounds_of_entries(FactDef *def, IndexDef *index, Relation partition)
{
	AttrMap    *map = make_attrmap(RelationGetDescr(partition)->natts);
	List	   *result;
	bool		whole_row;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		AttrNumber	attno = get_attnum(RelationGetRelid(partition),
									   get_attname(def->relid, def->pk_attno[i], false));

		map->attnums[attno - 1] = index->pk_attno[i];
	}
	result = (List *) map_variable_attnos((Node *) RelationGetPartitionQual(partition), 1, 0, map,
										  InvalidOid, &whole_row);
	free_attrmap(map);
	return result;
}

/*
 * leaves_in_bounds
 *		Lists the tables that hold the entries of an index table, locked, but for those of its
 *		partitions whose own bounds say that no entry can be within these bounds.
 */
static List *
leaves_in_bounds(IndexDef *index, Relation rel, List *bounds)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, lock_leaves(RelationGetRelid(rel), NULL, AccessShareLock))
	{
		Relation	leaf = relation_open(lfirst_oid(cell), NoLock);

		if (index->parts == NULL || !predicate_refuted_by(bounds, RelationGetPartitionQual(leaf), false))
			result = lappend_oid(result, lfirst_oid(cell));
		relation_close(leaf, NoLock);
	}
	return result;
}

/* estimate_rows: estimates how many rows these tables have, as the planner does */
static double
estimate_rows(List *leaves)
{
	double		result = 0;
	ListCell   *cell;

	foreach(cell, leaves)
	{
		Relation	leaf = relation_open(lfirst_oid(cell), NoLock);
		BlockNumber pages;
		double		rows;
		double		all_visible;

		estimate_rel_size(leaf, NULL, &pages, &rows, &all_visible);
		result += rows;
		relation_close(leaf, NoLock);
	}
	return result;
}
