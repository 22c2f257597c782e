/*-------------------------------------------------------------------------
 *
 * block_scan.c
 *	  Reads the rows of a table and its partitions, or of a sample of their blocks: all
 *	  rows of a fact table, or all entries of an index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/parallel.h"
#include "access/relation.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"

#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/uncounted_reads.h"
#include "fetch.h"

/* How many bytes one prefetch brings into the CPU's cache. */
#define CPU_CACHE_LINE		64

static int	count_sampled_blocks(Relation rel, double percent);
static bool next_table(BlockScan *scan);
static void end_table(BlockScan *scan);
static void prefetch_block(BlockScan *scan);
static bool is_chosen(BlockScan *scan);
static bool next_in_table(BlockScan *scan);
static bool next_row(BlockScan *scan);

/*
 * block_scan_begin
 *		Begins to read a sample of the rows of rel, or all if sample is NULL; def is the definition of the
 *		fact table, or NULL for an index table.
 *
 * The partitions that are read are those that the snapshot sees.
 */
void
block_scan_begin(BlockScan *scan, FactDef *def, Relation rel, Snapshot snapshot, const BlockSample *sample)
{
	block_scan_begin_in(scan, lock_leaves_to_read(RelationGetRelid(rel), snapshot), snapshot);
	if (sample != NULL)
		scan->sample = *sample;
	scan->def = def;
	scan->row = def != NULL && def->run.leaves != NULL ?
		MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual) :
		NULL;
}

/*
 * block_scan_begin_in
 *		Begins to read all blocks of these tables of an index table, which are locked.
 */
void
block_scan_begin_in(BlockScan *scan, List *tables, Snapshot snapshot)
{
	memset(scan, 0, sizeof(BlockScan));
	scan->cxt = CurrentMemoryContext;
	scan->row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable row", ALLOCSET_DEFAULT_SIZES);
	scan->snapshot = snapshot;
	scan->sample.percent = 100;
	scan->rels = tables;
}

/*
 * shared_block_scan_init
 *		Prepares a reading of rel and its partitions by several processes in shared memory;
 *		returns how much of that it needs, and does no more if shared is NULL.
 *
 * The partitions are those that the snapshot sees, and all of them have to be on this server.
 */
Size
shared_block_scan_init(SharedBlockScan *shared, Relation rel, Snapshot snapshot)
{
	List	   *leaves = lock_leaves_to_read(RelationGetRelid(rel), snapshot);
	Size		at = MAXALIGN(offsetof(SharedBlockScan, tables) +
							  sizeof(shared->tables[0]) * list_length(leaves));
	int			n = 0;

	foreach_oid(relid, leaves)
	{
		Relation	leaf = relation_open(relid, NoLock);

		if (shared != NULL)
		{
			shared->tables[n].relid = relid;
			shared->tables[n++].at = at;
			table_parallelscan_initialize(leaf, (ParallelTableScanDesc) ((char *) shared + at), snapshot);
		}
		at += MAXALIGN(table_parallelscan_estimate(leaf, snapshot));
		relation_close(leaf, NoLock);
	}
	if (shared != NULL)
		shared->ntables = n;
	return at;
}

/*
 * block_scan_join
 *		Has a scan that has just begun read only the blocks that no other process takes
 *		which has joined the same reading.
 */
void
block_scan_join(BlockScan *scan, SharedBlockScan *shared)
{
	scan->shared = shared;
	scan->rels = NIL;
	for (int i = 0; i < shared->ntables; i++)
		scan->rels = lappend_oid(scan->rels, shared->tables[i].relid);
}

/* block_scan_next: returns the next row, or NULL if there is none */
TupleTableSlot *
block_scan_next(BlockScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		found = false;

	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(scan->row_cxt);

	/*
	 * A worker's check may take long, so it ends if another session wants the
	 * database for itself.  A parallel worker serves a session of users,
	 * which does not.
	 */
	if (MyBgworkerEntry != NULL && !IsParallelWorker() && ++scan->nrows % 8192 == 0 &&
		is_database_lock_awaited(MyDatabaseId))
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("canceling check because another session needs the database for itself")));
	do
		found = scan->rel != NULL && next_in_table(scan);
	while (!found && next_table(scan));
	MemoryContextSwitchTo(old);
	if (!found)
		return NULL;
	return scan->leaf == NULL || scan->foreign != NULL || scan->leaf->map == NULL ? scan->slot :
		convert_row(scan->leaf->map, scan->slot, scan->row);
}

void
block_scan_end(BlockScan *scan)
{
	end_table(scan);
	if (scan->row != NULL)
		ExecDropSingleTupleTableSlot(scan->row);
	MemoryContextDelete(scan->row_cxt);
}

/*
 * block_scan_count_blocks
 *		Returns how many blocks are read of a table and its partitions on this server.
 */
double
block_scan_count_blocks(Relation rel, double percent)
{
	double		blocks = 0;

	foreach_oid(relid, lock_leaves(RelationGetRelid(rel), NULL))
	{
		Relation	leaf = relation_open(relid, NoLock);

		if (!elsewhere->has(relid))
			blocks += count_sampled_blocks(leaf, percent);
		relation_close(leaf, NoLock);
	}
	return blocks;
}

/* next_table: begins to read the next table; returns false if there is none */
static bool
next_table(BlockScan *scan)
{
	ItemPointerData first;

	end_table(scan);
	if (scan->rels == NIL)
		return false;
	scan->rel = relation_open(linitial_oid(scan->rels), NoLock);
	scan->rels = list_delete_first(scan->rels);
	scan->leaf = scan->def != NULL ? leaf_of(scan->def, scan->rel) : NULL;
	scan->foreign = NULL;
	if (scan->leaf != NULL && scan->leaf->source != NULL)
	{
		scan->foreign = scan->leaf->source->begin(scan->def, scan->rel);
		return true;
	}
	scan->slot = table_slot_create(scan->rel, NULL);
	scan->in_block = false;
	scan->prefetched = InvalidBuffer;
	if (scan->sample.percent >= 100)
	{
		if (scan->def == NULL)
			stop_counting(scan->rel);
		if (scan->shared != NULL)
		{
			Size		at = scan->shared->tables[scan->ntable++].at;

			scan->scan = table_beginscan_parallel_compat(scan->rel,
														 (ParallelTableScanDesc) ((char *) scan->shared + at));
		}
		else
			scan->scan = table_beginscan_compat(scan->rel, scan->snapshot);
		if (scan->def == NULL)
			go_on_counting(scan->rel);
		return true;
	}
	BlockSampler_Init(&scan->blocks, RelationGetNumberOfBlocks(scan->rel),
					  count_sampled_blocks(scan->rel, scan->sample.percent), scan->sample.seed);
	ItemPointerSet(&first, 0, 1);
	scan->scan = table_beginscan_tidrange_compat(scan->rel, scan->snapshot, &first, &first);
	return true;
}

/* end_table: closes the table that is being read, if any */
static void
end_table(BlockScan *scan)
{
	if (scan->rel == NULL)
		return;
	if (scan->foreign != NULL)
	{
		scan->leaf->source->end(scan->foreign);
		scan->foreign_sampled += scan->foreign_read;
		/* If there are more, ANALYZE knows how many. */
		scan->foreign_rows += scan->sample.foreign_limit > 0 && scan->foreign_read >= scan->sample.foreign_limit ?
			Max(scan->foreign_read, scan->rel->rd_rel->reltuples) : scan->foreign_read;
		scan->foreign_read = 0;
	}
	else
	{
		table_endscan(scan->scan);
		ExecDropSingleTupleTableSlot(scan->slot);
	}
	relation_close(scan->rel, NoLock);
	scan->rel = NULL;
}

/*
 * next_in_table
 *		Puts the next row of the table that is being read into scan->slot; returns
 *		false if there is none.
 *
 * Rows of a fact table are counted in its statistics as read, those of an index
 * table are not.
 */
static bool
next_in_table(BlockScan *scan)
{
	bool		found;

	if (scan->foreign != NULL)
	{
		if (scan->sample.foreign_limit > 0 && scan->foreign_read >= scan->sample.foreign_limit)
			return false;
		do
			scan->slot = scan->leaf->source->next(scan->foreign);
		while (scan->slot != NULL && scan->sample.foreign_limit == 0 && scan->sample.percent < 100 &&
			   !is_chosen(scan));
		scan->foreign_read += scan->slot != NULL;
		return scan->slot != NULL;
	}
	if (scan->def != NULL)
		return next_row(scan);
	stop_counting(scan->rel);
	found = next_row(scan);
	go_on_counting(scan->rel);
	return found;
}

/*
 * is_chosen
 *		Returns whether a row on another server belongs to the sample.
 *
 * Another server's blocks are not known.  All its rows are read, and some of them
 * are chosen by their primary key.
 */
static bool
is_chosen(BlockScan *scan)
{
	FactDef    *def = scan->def;
	uint32		hash = scan->sample.seed;

	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);
		bool		isnull;
		Datum		value = slot_getattr(scan->slot, att->attnum, &isnull);

		if (!isnull)
			hash = hash_combine(hash, datum_image_hash(value, att->attbyval, att->attlen));
	}
	return murmurhash32(hash) < scan->sample.percent / 100 * PG_UINT32_MAX;
}

/*
 * next_row
 *		Puts the next row of a table on this server into scan->slot; returns false if there is
 *		none.
 */
static bool
next_row(BlockScan *scan)
{
	if (scan->sample.percent >= 100)
	{
		if (!table_scan_getnextslot(scan->scan, ForwardScanDirection, scan->slot))
			return false;
		prefetch_block(scan);
		return true;
	}
	for (;;)
	{
		BlockNumber block;
		ItemPointerData first;
		ItemPointerData last;

		if (scan->in_block &&
			table_scan_getnextslot_tidrange(scan->scan, ForwardScanDirection, scan->slot))
			return true;
		if (!BlockSampler_HasMore(&scan->blocks))
			return false;
		block = BlockSampler_Next(&scan->blocks);
		ItemPointerSet(&first, block, FirstOffsetNumber);
		ItemPointerSet(&last, block, MaxOffsetNumber);
		table_rescan_tidrange(scan->scan, &first, &last);
		scan->in_block = true;
	}
}

/*
 * prefetch_block
 *		Brings the whole of a block into the CPU's cache, when its first row is read.
 *
 * Rows are read in some places of a block only, and the CPU would wait for each of
 * these separately: without this, verify() would take a quarter longer for a table
 * in shared buffers.
 */
static void
prefetch_block(BlockScan *scan)
{
	BufferHeapTupleTableSlot *slot = (BufferHeapTupleTableSlot *) scan->slot;
	char	   *page;

	if (!TTS_IS_BUFFERTUPLE(scan->slot) || slot->buffer == scan->prefetched)
		return;
	scan->prefetched = slot->buffer;
	page = BufferGetPage(slot->buffer);
	for (int i = 0; i < BLCKSZ; i += CPU_CACHE_LINE)
		__builtin_prefetch(page + i);
}

/* count_sampled_blocks: returns how many blocks of one table are read */
static int
count_sampled_blocks(Relation rel, double percent)
{
	return (int) Min(ceil(RelationGetNumberOfBlocks(rel) * percent / 100), INT_MAX);
}
