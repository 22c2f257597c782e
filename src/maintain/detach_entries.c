/*-------------------------------------------------------------------------
 *
 * detach_entries.c
 *	  Deletes the entries of a partition that goes without its rows being read.
 *
 * Called by partition.c for partitions on other servers, which may be out of reach
 * when they are detached, dropped or truncated, and for those whose rows do not tell
 * any more, because they are being detached; and by attach.c before that.  The bounds
 * of the partition say of each entry, by its primary key, whether it goes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/relation.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../entry/block_scan.h"
#include "../entry/diff.h"
#include "../entry/entries.h"
#include "../indextable.h"
#include "../queue/append.h"
#include "../util/role.h"
#include "batch.h"
#include "detach_entries.h"

/* Entries that are deleted together. */
#define MAX_ENTRIES			10000

/* Bounds as they were when DETACH began; afterwards nothing tells of them. */
static Oid	leaving = InvalidOid;
static List *leaving_bounds = NIL;
static MemoryContext leaving_cxt = NULL;

/* note_partition_bounds: before DETACH, which may commit in between */
void
note_partition_bounds(Oid partition)
{
	Relation	rel = try_relation_open(partition, AccessShareLock);
	MemoryContext old;

	leaving = InvalidOid;
	if (rel == NULL)
		return;
	if (leaving_cxt == NULL)
		leaving_cxt = AllocSetContextCreate(TopMemoryContext, "indextable detach", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(leaving_cxt);
	old = MemoryContextSwitchTo(leaving_cxt);
	leaving_bounds = copyObject(RelationGetPartitionQual(rel));
	MemoryContextSwitchTo(old);
	leaving = partition;

	/*
	 * ALTER TABLE takes a stronger lock; two that held this one would
	 * deadlock.
	 */
	relation_close(rel, AccessShareLock);
}

/* delete_entry_or_queue_key: one entry is deleted, or without a list the key of its row queued */
static void
delete_entry_or_queue_key(FactDef *def, IndexDef *index, TupleTableSlot *entry, OpList *list, MemoryContext cxt)
{
	Entries		before;
	Entries		none;
	Datum		key[INDEX_MAX_KEYS];
	int			i;

	if (list == NULL)
	{
		for (i = 0; i < def->npk; i++)
			key[i] = entry->tts_values[index->pk_attno[i] - 1];
		queue_collect_key(def, key);
		return;
	}
	entries_init(&before, index);
	entries_init(&none, index);
	before.n = 1;
	before.values = entry->tts_values;
	before.isnull = entry->tts_isnull;
	diff_entries(index, &before, &none, list, cxt);
}

/* delete_entries_in_bounds: those whose primary keys are within the bounds of a partition */
void
delete_entries_in_bounds(FactDef *def, Relation partition)
{
	TupleDesc	desc = RelationGetDescr(partition);
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable leave", ALLOCSET_DEFAULT_SIZES);
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	OpList	   *lists = palloc0(sizeof(OpList) * Max(def->ndefs, 1));
	ExprState  *bounds;
	Caller		caller;
	AttrNumber	attno[INDEX_MAX_KEYS];
	int			d;
	int			i;

	/*
	 * A parent that is partitioned by another type calls that type's
	 * functions.
	 */
	become_owner(&caller, def->owner);
	if (!partition->rd_rel->relispartition && leaving != RelationGetRelid(partition))
		elog(ERROR, "bounds of table \"%s\" are not known", RelationGetRelationName(partition));
	bounds = ExecPrepareCheck(partition->rd_rel->relispartition ? RelationGetPartitionQual(partition) :
							  leaving_bounds, estate);
	for (i = 0; i < def->npk; i++)
		attno[i] = get_attnum(RelationGetRelid(partition), get_attname(def->relid, def->pk_attno[i], false));
	for (d = 0; d < def->ndefs; d++)
	{
		IndexDef   *index = def->defs[d];
		Relation	rel = relation_open(index->relid, d < def->nsync ? NoLock : AccessShareLock);
		BlockScan	scan;
		TupleTableSlot *entry;
		int			n = 0;

		block_scan_begin(&scan, NULL, rel, snapshot, 100, 0);
		while ((entry = block_scan_next(&scan)) != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(cxt);

			CHECK_FOR_INTERRUPTS();
			slot_getallattrs(entry);
			ExecClearTuple(row);
			memset(row->tts_isnull, true, sizeof(bool) * desc->natts);
			for (i = 0; i < def->npk; i++)
			{
				row->tts_values[attno[i] - 1] = entry->tts_values[index->pk_attno[i] - 1];
				row->tts_isnull[attno[i] - 1] = false;
			}
			ExecStoreVirtualTuple(row);
			econtext->ecxt_scantuple = row;
			ResetExprContext(econtext);
			if (ExecCheck(bounds, econtext))
			{
				n++;
				delete_entry_or_queue_key(def, index, entry, d < def->nsync ? &lists[d] : NULL, cxt);
			}
			MemoryContextSwitchTo(old);
			if (n == MAX_ENTRIES)
			{
				batch_write_lists(def, lists, false);
				memset(&lists[d], 0, sizeof(OpList));
				MemoryContextReset(cxt);
				n = 0;
			}
		}
		block_scan_end(&scan);
		batch_write_lists(def, lists, false);
		memset(&lists[d], 0, sizeof(OpList));
		MemoryContextReset(cxt);
		relation_close(rel, NoLock);
	}
	become_caller(&caller);
	FreeExecutorState(estate);
	MemoryContextDelete(cxt);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(row);
}
