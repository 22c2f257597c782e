/*-------------------------------------------------------------------------
 *
 * scan_kept.c
 *	  Keeps the rows that a scan of an index table has found, for a cursor that goes back.
 *
 * A native scan of a table or an index can be read in both directions, and so can a cursor that
 * says neither SCROLL nor NO SCROLL.  A materialize node above the scan would do, but WHERE
 * CURRENT OF does not look below it.  Of rows that are returned as they are stored, only the
 * places are kept: the cursor's snapshot keeps the rows there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "../util/compat.h"
#include "scan.h"

static TupleTableSlot *kept_row(IndexTableScan *scan);

/* keep_begin: has a scan keep its rows */
void
keep_begin(IndexTableScan *scan)
{
	TupleDesc	desc = scan->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;

	if (scan->plan.stored_rows)
	{
		desc = CreateTemplateTupleDesc(1);
		TupleDescInitEntry(desc, 1, "ctid", TIDOID, -1, 0);
		TupleDescFinalize(desc);
	}
	scan->kept = tuplestore_begin_heap(true, false, work_mem);
	scan->kept_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

/*
 * keep_next
 *		Returns the next row in the direction in which the plan is read if it is kept, an empty
 *		slot if there is none, or NULL if the next one has to be found.
 *
 * What was added last is before the position, so to go back from there is to leave out the row
 * that was returned last.  When all are kept, the last of them is the one before the end.
 */
TupleTableSlot *
keep_next(IndexTableScan *scan)
{
	bool		forward = ScanDirectionIsForward(scan->css.ss.ps.state->es_direction);

	if (!forward && tuplestore_ateof(scan->kept) && !scan->all_kept &&
		!tuplestore_advance(scan->kept, false))
		return ExecClearTuple(scan->css.ss.ss_ScanTupleSlot);
	if ((!forward || !tuplestore_ateof(scan->kept)) &&
		tuplestore_gettupleslot(scan->kept, forward, false, scan->kept_slot))
		return kept_row(scan);
	if (!forward || scan->all_kept)
		return ExecClearTuple(scan->css.ss.ss_ScanTupleSlot);
	return NULL;
}

/* keep_add: keeps a row that was found, and returns it; none is left if the slot is empty */
TupleTableSlot *
keep_add(IndexTableScan *scan, TupleTableSlot *row)
{
	if (TupIsNull(row))
		scan->all_kept = true;
	else if (scan->plan.stored_rows)
	{
		ExecClearTuple(scan->kept_slot);
		scan->kept_slot->tts_values[0] = PointerGetDatum(&row->tts_tid);
		scan->kept_slot->tts_isnull[0] = false;
		tuplestore_putvalues(scan->kept, scan->kept_slot->tts_tupleDescriptor, scan->kept_slot->tts_values,
							 scan->kept_slot->tts_isnull);
	}
	else
		tuplestore_puttupleslot(scan->kept, row);
	return row;
}

static TupleTableSlot *
kept_row(IndexTableScan *scan)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (scan->plan.stored_rows)
	{
		slot_getallattrs(scan->kept_slot);
		table_tuple_fetch_row_version(scan->fact_table, (ItemPointer) DatumGetPointer(scan->kept_slot->tts_values[0]),
									  scan->css.ss.ps.state->es_snapshot, slot);
		return slot;
	}
	return return_columns(slot, scan->kept_slot);
}

/* keep_restart: forgets all rows, as the scan starts anew */
void
keep_restart(IndexTableScan *scan)
{
	if (scan->kept == NULL)
		return;
	ExecClearTuple(scan->kept_slot);
	tuplestore_clear(scan->kept);
	scan->all_kept = false;
}

void
keep_end(IndexTableScan *scan)
{
	if (scan->kept == NULL)
		return;
	ExecDropSingleTupleTableSlot(scan->kept_slot);
	tuplestore_end(scan->kept);
}
