/*-------------------------------------------------------------------------
 *
 * entry_search.c
 *	  Finds the entries of a scan by a plan that the server has made of a query of them, which uses an index
 *	  that users have put on the index table: see ../planner/entry_query.c.
 *
 * The query has the snapshot of the scan.  It is started only after the scan has found out that entries
 * may stand for rows in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan.h"

static QueryDesc *start_query(IndexTableScan *scan, int instrument, int eflags);

/* start_query: starts the query in the current memory context */
static QueryDesc *
start_query(IndexTableScan *scan, int instrument, int eflags)
{
	EState	   *estate = scan->css.ss.ps.state;
	ParamListInfo params = eflags & EXEC_FLAG_EXPLAIN_ONLY ? NULL :
		parameters_of_scan(&scan->css, scan->values, scan->plan.nconditions);

	return begin_inner_query(scan->plan.query, estate->es_snapshot, params, estate->es_queryEnv, instrument,
							 eflags);
}

/* begin_entry_query: starts to find entries, by the values that parameters have now */
void
begin_entry_query(IndexTableScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;
	MemoryContext old;

	end_entry_query(scan);
	scan->query_cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable entries", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->query_cxt);
	/* Of conditions on hidden rows nothing is counted. */
	scan->query = start_query(scan, scan->plan.secured ? 0 : estate->es_instrument, 0);
	MemoryContextSwitchTo(old);
}

/* next_of_entry_query: returns the next entry, or NULL */
TupleTableSlot *
next_of_entry_query(IndexTableScan *scan)
{
	TupleTableSlot *entry = next_of_inner_query(scan->query);

	if (TupIsNull(entry))
		return NULL;
	scan->ended_entries++;
	return entry;
}

/* end_entry_query: ends the query, if it was started */
void
end_entry_query(IndexTableScan *scan)
{
	if (scan->query == NULL)
		return;
	end_inner_query(scan->query);
	scan->query = NULL;
	MemoryContextDelete(scan->query_cxt);
}

/*
 * explain_entry_query
 *		Shows the plan by which entries are found, below the scan.  What EXPLAIN knows of the plan around
 *		it stays as it is.
 */
void
explain_entry_query(IndexTableScan *scan, ExplainState *es)
{
	ExplainState inner = *es;
	QueryDesc  *query = scan->query != NULL ? scan->query : start_query(scan, 0, EXEC_FLAG_EXPLAIN_ONLY);

	inner.analyze = scan->query != NULL && query->instrument_options != 0;
	ExplainPrintPlan(&inner, query);
	es->grouping_stack = inner.grouping_stack;
	if (query != scan->query)
		end_inner_query(query);
}
