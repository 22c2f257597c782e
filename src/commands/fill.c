/*-------------------------------------------------------------------------
 *
 * fill.c
 *	  Fills a new index table from its fact table, which is locked against writers.
 *
 * The entries are sorted once, then written, and then indexed in the same order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "../catalog/completeness.h"
#include "../catalog/definition_rows.h"
#include "../entry/block_scan.h"
#include "../entry/bulk_load.h"
#include "../entry/document.h"
#include "../entry/entries.h"
#include "../entry/extract.h"
#include "../place/foreign/foreign_rows.h"
#include "../indextable.h"
#include "fill.h"
#include "progress.h"

/* After how many rows the progress is shown again. */
#define PROGRESS_ROWS		1000

/*
 * fill_index_table
 *		Writes all entries; returns whether each of them would fit as a whole into
 *		an index, with room to grow: see narrow_key.c.
 *
 * Rows are read with the latest snapshot: writers are locked out, so that is what the
 * table holds, even where the transaction's own snapshot is older.
 */
bool
fill_index_table(IndexDef *def, Relation fact, Relation index_table)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	BlockScan	scan;
	TupleTableSlot *row_slot;
	TupleTableSlot *entry_slot = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable build",
											  ALLOCSET_DEFAULT_SIZES);
	Tuplesortstate *sort;
	Size		widest = 0;
	int64		skipped = 0;
	uint32		lacking = 0;
	int64		rows = 0;
	int			i;

	sort = bulk_load_begin_sort(def);
	progress_begin(fact, def->relid, PROGRESS_CREATEIDX_COMMAND_CREATE);
	block_scan_begin(&scan, def->fact, fact, snapshot, 100, 0);
	while ((row_slot = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		FactRow		row;
		Entries		entries;

		CHECK_FOR_INTERRUPTS();
		if (scan.foreign != NULL)
			require_in_bounds(def->fact, fact, RelationGetRelid(scan.rel), row_slot, true);
		if (++rows % PROGRESS_ROWS == 0)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
		factrow_init(&row, def->fact, row_slot);
		entries_init(&entries, def);
		skipped += extract_entries(def, &row, true, &entries);
		lacking |= entries.lacking;
		for (i = 0; i < entries.n; i++)
		{
			if (def->nincludes > 0)
				widest = Max(widest, heap_compute_data_size(def->desc, ENTRY_VALUES(&entries, i),
															ENTRY_NULLS(&entries, i)));
			ExecClearTuple(entry_slot);
			memcpy(entry_slot->tts_values, ENTRY_VALUES(&entries, i),
				   sizeof(Datum) * entries.natts);
			memcpy(entry_slot->tts_isnull, ENTRY_NULLS(&entries, i),
				   sizeof(bool) * entries.natts);
			ExecStoreVirtualTuple(entry_slot);
			tuplesort_puttupleslot(sort, entry_slot);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	block_scan_end(&scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(entry_slot);
	MemoryContextDelete(cxt);

	tuplesort_performsort(sort);
	bulk_load_write(def, index_table, sort);
	tuplesort_end(sort);
	pgstat_progress_end_command();
	if (skipped > 0)
		catalog_count_skipped(def->relid, skipped);
	record_lacking(def, lacking);
	return widest <= def->max_covered_bytes;
}
