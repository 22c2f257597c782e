/*-------------------------------------------------------------------------
 *
 * entries_by_bounds.c
 *	  Deletes the entries of a partition that is detached, dropped or truncated, without
 *	  reading its rows.
 *
 * That is done for partitions on other servers, which may be out of reach, and for
 * those that are being detached already, whose rows may not be those that had the
 * entries.  The bounds of the partition tell of each entry, by its primary key,
 * whether it belongs to a row of the partition.
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
#include "entries_by_bounds.h"

/* So many entries are deleted together. */
#define MAX_ENTRIES			10000

/* The bounds of a partition when DETACH began: afterwards the catalogs do not have them any more. */
static Oid	noted_partition = InvalidOid;
static List *noted_bounds = NIL;
static MemoryContext noted_cxt = NULL;

static void delete_entry_or_queue_row(FactDef *def, IndexDef *index, TupleTableSlot *entry, OpList *list,
									  MemoryContext cxt);

/*
 * note_partition_bounds
 *		Remembers the bounds of a partition before DETACH PARTITION removes them, until
 *		the next call.
 */
void
note_partition_bounds(Oid partition)
{
	Relation	rel = try_relation_open(partition, AccessShareLock);
	MemoryContext old;

	noted_partition = InvalidOid;
	if (rel == NULL)
		return;
	if (noted_cxt == NULL)
		noted_cxt = AllocSetContextCreate(TopMemoryContext, "indextable detach", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(noted_cxt);
	old = MemoryContextSwitchTo(noted_cxt);
	noted_bounds = copyObject(RelationGetPartitionQual(rel));
	MemoryContextSwitchTo(old);
	noted_partition = partition;

	/*
	 * The lock is released because ALTER TABLE takes a stronger one: two
	 * sessions that both held this one would wait for each other.
	 */
	relation_close(rel, AccessShareLock);
}

/*
 * delete_entries_in_bounds
 *		Deletes the entries whose primary keys are within the bounds of a partition, and
 *		queues the rows of those in asynchronous index tables.  The bounds are those that
 *		the partition has, or had when note_partition_bounds() was called.  With queued_only,
 *		no entry is deleted, and only rows are queued.
 */
void
delete_entries_in_bounds(FactDef *def, Relation partition, bool queued_only)
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
	 * The bounds may call functions of users: those of the types by which the
	 * parents of the partition are partitioned.
	 */
	if (def->feed)
		queue_collect_key(def, NULL, NULL);
	become_owner(&caller, def->owner);
	if (!partition->rd_rel->relispartition && noted_partition != RelationGetRelid(partition))
		elog(ERROR, "bounds of table \"%s\" are not known", RelationGetRelationName(partition));
	bounds = ExecPrepareCheck(partition->rd_rel->relispartition ? RelationGetPartitionQual(partition) :
							  noted_bounds, estate);
	for (i = 0; i < def->npk; i++)
		attno[i] = get_attnum(RelationGetRelid(partition), get_attname(def->relid, def->pk_attno[i], false));
	for (d = queued_only ? def->nsync : 0; d < def->ndefs; d++)
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
				delete_entry_or_queue_row(def, index, entry, d < def->nsync ? &lists[d] : NULL, cxt);
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

/*
 * delete_entry_or_queue_row
 *		Adds the deletion of an entry to the list; without a list, for an asynchronous
 *		index table, queues the primary key of its row.
 */
static void
delete_entry_or_queue_row(FactDef *def, IndexDef *index, TupleTableSlot *entry, OpList *list, MemoryContext cxt)
{
	Entries		before;
	Entries		none;
	Datum		key[INDEX_MAX_KEYS];
	int			i;

	if (list == NULL)
	{
		for (i = 0; i < def->npk; i++)
			key[i] = entry->tts_values[index->pk_attno[i] - 1];
		queue_collect_key(def, NULL, key);
		return;
	}
	entries_init(&before, index);
	entries_init(&none, index);
	before.n = 1;
	before.values = entry->tts_values;
	before.isnull = entry->tts_isnull;
	diff_entries(index, &before, &none, list, cxt);
}
