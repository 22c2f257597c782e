/*-------------------------------------------------------------------------
 *
 * scan_fallback.c
 *	  Answers for a scan of an index table by a native plan of the same query, with the same
 *	  snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "jit/jit.h"

#include "scan.h"

/*
 * begin_fallback
 *		Plans the query that does without the index table, and starts it.  The first plan is for the
 *		values that parameters have, the second one for any values, and is kept.
 */
void
begin_fallback(IndexTableScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;
	int			first = scan->plan.nconditions;
	ParamListInfo params = NULL;

	if (scan->fallback_plan == NULL && !scan->fell_back)
		params = parameters_of_scan(&scan->css, scan->values, first);
	if (scan->fallback_plan == NULL)
		scan->fallback_plan = plan_fallback(estate, scan->plan.fallback, params);
	/* Compiling it for each outer row takes longer than running it. */
	if (scan->fell_back)
		scan->fallback_plan->jitFlags = PGJIT_NONE;
	scan->fallback = begin_query_of_scan(&scan->css, scan->fallback_plan, scan->values, first, 0);
}

/* next_of_fallback: returns the next row as the scan would, or an empty slot */
TupleTableSlot *
next_of_fallback(IndexTableScan *scan)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;
	EState	   *estate = scan->css.ss.ps.state;
	TupleTableSlot *row;

	do
	{
		row = next_of_inner_query(scan->fallback);
		ExecClearTuple(slot);
		if (TupIsNull(row))
			return slot;
		slot_getallattrs(row);
	} while (scan->plan.stored_rows &&
			 !table_tuple_fetch_row_version(scan->fact_table, (ItemPointer) DatumGetPointer(row->tts_values[0]),
											estate->es_snapshot, slot));
	return scan->plan.stored_rows ? slot : return_columns(slot, row);
}

/* end_fallback: ends it, if there is one */
void
end_fallback(IndexTableScan *scan)
{
	if (scan->fallback == NULL)
		return;
	end_query_of_scan(&scan->fallback);
	/* The first plan is for the values that it had. */
	if (!scan->fell_back)
		scan->fallback_plan = NULL;
	scan->fell_back = true;
}
