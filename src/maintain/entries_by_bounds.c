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
 * If the bounds of such a partition are within those of the partition that leaves, it has
 * entries of that one alone, and none is looked at: it can be emptied as a whole, by a command
 * that has locked all readers out (ddl/detach_partition.c).
 *
 * Nobody else writes entries of the partition meanwhile, since its writers are locked out,
 * but for a repair() of entries that have no row, which may have been faster.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "catalog/partition.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "partitioning/partbounds.h"
#include "rewrite/rewriteManip.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../apply/apply.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "maintain.h"

/*
 * To make an entry of a row that was read, and to search for it, costs as much as to read
 * this number of entries in vain, or more: up to a hundred, as measured.
 */
#define READ_PER_ROW		60

static bool is_default(Oid partition, Oid root);
static void visit_entries(FactDef *def, int d, Relation partition, List *leaves);
static List *bounds_of_entries(FactDef *def, IndexDef *index, Relation partition);
static List *leaves_in_bounds(FactDef *def, int d, Relation partition);
static bool is_out_of_bounds(Relation rel, Oid partition, List *bounds);
static double estimate_rows(List *leaves);

/*
 * delete_entries_in_bounds
 *		Deletes the entries whose primary keys are within the bounds of a partition, and
 *		queues the rows of those in asynchronous index tables.  With queued_only, no entry is
 *		deleted, and only rows are queued.  The tables in left_alone are passed over.
 */
void
delete_entries_in_bounds(FactDef *def, Relation partition, List *left_alone, bool queued_only)
{
	if (def->queue.feed)
		queue_collect_key(def, NULL, NULL);
	for (int d = queued_only ? def->nsync : 0; d < def->ndefs; d++)
		visit_entries(def, d, partition, list_difference_oid(leaves_in_bounds(def, d, partition), left_alone));
}

/*
 * delete_entries_if_cheaper
 *		Deletes the entries within the bounds of a partition in transactional index tables,
 *		if that costs less than to do so row by row; returns whether it has.  The tables in
 *		left_alone are passed over.
 */
bool
delete_entries_if_cheaper(FactDef *def, Relation partition, List *left_alone)
{
	List	  **leaves = palloc0(sizeof(List *) * Max(def->nsync, 1));
	double		rows;
	double		entries = 0;
	bool		reads = false;

	if (def->nsync == 0 || is_default(RelationGetRelid(partition), def->relid))
		return false;
	rows = estimate_rows(lock_leaves(RelationGetRelid(partition), NULL));
	for (int d = 0; d < def->nsync; d++)
	{
		leaves[d] = list_difference_oid(leaves_in_bounds(def, d, partition), left_alone);
		entries += estimate_rows(leaves[d]);
		reads |= leaves[d] != NIL;
	}

	/*
	 * To read all of an index table would be in conflict with all
	 * serializable transactions that write the fact table.
	 */
	if (entries > rows * READ_PER_ROW * def->nsync || (reads && IsolationIsSerializable()))
		return false;
	for (int d = 0; d < def->nsync; d++)
		visit_entries(def, d, partition, leaves[d]);
	return true;
}

/*
 * delete_entries_of_partitions
 *		Deletes the entries within the bounds of a partition in these partitions of
 *		transactional index tables.
 */
void
delete_entries_of_partitions(FactDef *def, Relation partition, List *leaves)
{
	for (int d = 0; d < def->nsync; d++)
	{
		List	   *all = leaves_in_bounds(def, d, partition);

		visit_entries(def, d, partition, list_difference_oid(all, list_difference_oid(all, leaves)));
	}
}

/*
 * partitions_in_bounds
 *		Lists the partitions of transactional index tables whose own bounds say that all of their
 *		entries are within the bounds of a partition, and that have any.  Those are left out that
 *		cannot be truncated because this session is reading them.
 */
List *
partitions_in_bounds(FactDef *def, Relation partition)
{
	List	   *result = NIL;

	if (is_default(RelationGetRelid(partition), def->relid))
		return NIL;
	for (int d = 0; d < def->nsync; d++)
	{
		IndexDef   *index = def->defs[d];
		Relation	rel = relation_open(index->relid, NoLock);
		List	   *bounds = bounds_of_entries(def, index, partition);

		if (index->layout.parts != NULL && rel->rd_refcnt == 1)
			foreach_oid(relid, leaves_in_bounds(def, d, partition))
		{
			Relation	leaf = relation_open(relid, NoLock);

			if (leaf->rd_refcnt == 1 && predicate_implied_by(bounds, RelationGetPartitionQual(leaf), false))
				result = lappend_oid(result, relid);
			relation_close(leaf, NoLock);
		}
		relation_close(rel, NoLock);
	}
	return result;
}

/*
 * settled_index_tables
 *		Returns of each transactional index table whether all entries within the bounds of a
 *		partition are in the tables of left_alone.
 */
bool *
settled_index_tables(FactDef *def, Relation partition, List *left_alone)
{
	bool	   *result = palloc(sizeof(bool) * def->nsync);

	for (int d = 0; d < def->nsync; d++)
		result[d] = list_difference_oid(leaves_in_bounds(def, d, partition), left_alone) == NIL;
	return result;
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
 * visit_entries
 *		Looks at the entries within the bounds of a partition in these tables of index table
 *		number d: those of a transactional one are deleted, and the rows of another are queued.
 */
static void
visit_entries(FactDef *def, int d, Relation partition, List *leaves)
{
	IndexDef   *index = def->defs[d];
	bool		deletes = d < def->nsync;
	Snapshot	snapshot;
	MemoryContext cxt;
	Relation	rel;
	EState	   *estate;
	ExprContext *econtext;
	ExprState  *check;
	Relation	leaf = NULL;
	Writer		writer;
	BlockScan	scan;
	TupleTableSlot *entry;

	if (leaves == NIL)
		return;
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable leave", ALLOCSET_DEFAULT_SIZES);

	/*
	 * The bounds may call functions of users: those of the types by which the
	 * parents of the partition are partitioned.
	 */
	AS_OWNER(def->owner);
	{
		rel = relation_open(index->relid, deletes ? NoLock : AccessShareLock);
		estate = CreateExecutorState();
		econtext = GetPerTupleExprContext(estate);
		check = ExecPrepareCheck(bounds_of_entries(def, index, partition), estate);
		block_scan_begin_in(&scan, leaves, snapshot);
		while ((entry = block_scan_next(&scan)) != NULL)
		{
			MemoryContext old;

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

				slot_getallattrs(entry);
				for (int i = 0; i < def->layout.npk; i++)
					key[i] = entry->tts_values[index->layout.pk_attno[i] - 1];
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
	END_AS_OWNER();
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

	for (int i = 0; i < def->layout.npk; i++)
	{
		AttrNumber	attno = get_attnum(RelationGetRelid(partition),
									   get_attname(def->relid, def->layout.pk_attno[i], false));

		map->attnums[attno - 1] = index->layout.pk_attno[i];
	}
	result = (List *) map_variable_attnos((Node *) RelationGetPartitionQual(partition), 1, 0, map,
										  InvalidOid, &whole_row);
	free_attrmap(map);
	return result;
}

/*
 * leaves_in_bounds
 *		Lists the tables that hold the entries of index table number d, locked, but for those that
 *		are empty, and those of its partitions whose own bounds say that no entry can be within the
 *		bounds of a partition of the fact table.
 *
 * Only what is listed is locked, as there may be thousands of partitions.  Their bounds do not
 * change while the index table is locked.
 */
static List *
leaves_in_bounds(FactDef *def, int d, Relation partition)
{
	IndexDef   *index = def->defs[d];
	Relation	rel;
	List	   *bounds = NIL;
	List	   *result = NIL;

	/*
	 * Others are drained, and locked as by a reader only now; until then one
	 * may be dropped.
	 */
	rel = d >= def->nsync ? try_relation_open(index->relid, AccessShareLock) : relation_open(index->relid, NoLock);
	if (rel == NULL)
		return NIL;
	if (index->layout.parts != NULL)
		bounds = bounds_of_entries(def, index, partition);
	foreach_oid(relid, list_with_partitions(index->relid))
	{
		Relation	leaf;

		if (index->layout.parts != NULL &&
			(relid == index->relid || is_out_of_bounds(rel, relid, bounds) ||
			 !lock_if_exists(relid, AccessShareLock)))
			continue;
		leaf = relation_open(relid, NoLock);
		if (RelationGetNumberOfBlocks(leaf) > 0)
			result = lappend_oid(result, relid);
		relation_close(leaf, NoLock);
	}
	relation_close(rel, NoLock);
	return result;
}

/*
 * is_out_of_bounds
 *		Returns whether the own bounds of a partition of the index table rel, which need not be
 *		locked, say that none of its entries can be within other bounds.
 */
static bool
is_out_of_bounds(Relation rel, Oid partition, List *bounds)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(partition));
	bool		isnull = true;
	Datum		bound = 0;
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return true;
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	if (!isnull)
		result = predicate_refuted_by(bounds,
									  get_qual_from_partbound(rel, stringToNode(TextDatumGetCString(bound))),
									  false);
	ReleaseSysCache(tuple);
	return result;
}

/* estimate_rows: estimates how many rows these tables have, as the planner does */
static double
estimate_rows(List *leaves)
{
	double		result = 0;

	foreach_oid(relid, leaves)
	{
		Relation	leaf = relation_open(relid, NoLock);
		BlockNumber pages;
		double		rows;
		double		all_visible;

		estimate_rel_size(leaf, NULL, &pages, &rows, &all_visible);
		result += rows;
		relation_close(leaf, NoLock);
	}
	return result;
}
