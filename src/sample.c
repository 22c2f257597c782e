/*-------------------------------------------------------------------------
 *
 * sample.c
 *	  Reads a table, or some of its blocks, and finds single entries.
 *
 * Called by verify.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/genam.h"
#include "access/tableam.h"
#include "indextable.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#define CPU_CACHE_LINE		64

/* sample_begin: the same percentage and seed choose the same blocks */
void
sample_begin(BlockScan *scan, Relation rel, Snapshot snapshot, double percent, uint32 seed)
{
	ItemPointerData first;

	scan->rel = rel;
	scan->slot = table_slot_create(rel, NULL);
	scan->all = percent >= 100;
	scan->in_block = false;
	scan->nrows = 0;
	scan->asked_for = InvalidBuffer;
	if (scan->all)
	{
		scan->scan = table_beginscan(rel, snapshot, 0, NULL);
		return;
	}
	BlockSampler_Init(&scan->blocks, RelationGetNumberOfBlocks(rel),
					  (int) Min(ceil(RelationGetNumberOfBlocks(rel) * percent / 100), INT_MAX), seed);
	ItemPointerSet(&first, 0, 1);
	scan->scan = table_beginscan_tidrange(rel, snapshot, &first, &first);
}

/*
 * ask_for_block
 *		Has the whole of a new block come into the CPU's cache.  Rows are read here
 *		and there, and the CPU would wait for each of these places by itself.
 */
static inline void
ask_for_block(BlockScan *scan)
{
	BufferHeapTupleTableSlot *slot = (BufferHeapTupleTableSlot *) scan->slot;
	char	   *page;
	int			i;

	if (!TTS_IS_BUFFERTUPLE(scan->slot) || slot->buffer == scan->asked_for)
		return;
	scan->asked_for = slot->buffer;
	page = BufferGetPage(slot->buffer);
	for (i = 0; i < BLCKSZ; i += CPU_CACHE_LINE)
		__builtin_prefetch(page + i);
}

/* sample_next: the next row; NULL: there is none */
TupleTableSlot *
sample_next(BlockScan *scan)
{
	/* A check by a worker may take long, and must not be in the way. */
	if (MyBgworkerEntry != NULL && ++scan->nrows % 8192 == 0 && wanted_alone(MyDatabaseId))
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("the check was given up because somebody wants to be alone with the database")));
	if (scan->all)
	{
		if (!table_scan_getnextslot(scan->scan, ForwardScanDirection, scan->slot))
			return NULL;
		ask_for_block(scan);
		return scan->slot;
	}
	for (;;)
	{
		BlockNumber block;
		ItemPointerData first;
		ItemPointerData last;

		if (scan->in_block &&
			table_scan_getnextslot_tidrange(scan->scan, ForwardScanDirection, scan->slot))
			return scan->slot;
		if (!BlockSampler_HasMore(&scan->blocks))
			return NULL;
		block = BlockSampler_Next(&scan->blocks);
		ItemPointerSet(&first, block, FirstOffsetNumber);
		ItemPointerSet(&last, block, MaxOffsetNumber);
		table_rescan_tidrange(scan->scan, &first, &last);
		scan->in_block = true;
	}
}

void
sample_end(BlockScan *scan)
{
	table_endscan(scan->scan);
	ExecDropSingleTupleTableSlot(scan->slot);
}

void
probe_begin(Probe *probe, IndexDef *def, Relation index_table, Snapshot snapshot)
{
	probe->def = def;
	probe->cxt = CurrentMemoryContext;
	probe->index = index_open(def->primary_index, AccessShareLock);
	probe->slot = table_slot_create(index_table, NULL);
	probe->scan = index_beginscan_compat(index_table, probe->index, snapshot, def->nsearch);
	probe->keys = palloc(sizeof(ScanKeyData) * def->nsearch);
	memcpy(probe->keys, def->search_keys, sizeof(ScanKeyData) * def->nsearch);
}

/* probe_entry: the one with the identity of another; NULL: there is none */
TupleTableSlot *
probe_entry(Probe *probe, Datum *values)
{
	IndexDef   *def = probe->def;
	MemoryContext old = MemoryContextSwitchTo(probe->cxt);
	bool		found = false;
	int			i;

	for (i = 0; i < def->nsearch; i++)
		probe->keys[i].sk_argument = values[def->search[i] - 1];
	index_rescan(probe->scan, probe->keys, def->nsearch, NULL, 0);
	while (!found && index_getnext_slot(probe->scan, ForwardScanDirection, probe->slot))
	{
		slot_getallattrs(probe->slot);
		/* A unique one is found by its key, and may be of another row. */
		found = compare_identity(def, probe->slot->tts_values, values) == 0;
	}
	MemoryContextSwitchTo(old);
	return found ? probe->slot : NULL;
}

void
probe_end(Probe *probe)
{
	index_endscan(probe->scan);
	index_close(probe->index, NoLock);
	ExecDropSingleTupleTableSlot(probe->slot);
}
