/*-------------------------------------------------------------------------
 *
 * users_index_search.c
 *	  Finds the entries of a scan by a plan that the server has made of a query of them, which uses an index
 *	  that users have put on the index table: see ../planner/users_index_path.c.
 *
 * The query has the snapshot of the scan.  It is started only after the scan has found out that entries
 * may stand for rows in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../fact/fact.h"
#include "scan.h"

/* begin_users_index_search: starts to find entries, by the values that parameters have now */
void
begin_users_index_search(IndexTableScan *scan)
{
	end_query_of_scan(&scan->query);
	/* The plan has locked them: none may have been emptied before that. */
	if (scan->def->layout.parts != NULL)
		(void) lock_leaves_to_read(scan->def->relid, scan->css.ss.ps.state->es_snapshot);
	/* Of conditions on hidden rows nothing is counted. */
	scan->query = begin_query_of_scan(&scan->css, scan->plan.query, scan->values, scan->plan.nconditions,
									  scan->plan.secured ? 0 : scan->css.ss.ps.state->es_instrument);
}

/* next_of_users_index_search: returns the next entry, or NULL */
TupleTableSlot *
next_of_users_index_search(IndexTableScan *scan)
{
	TupleTableSlot *entry = next_of_inner_query(scan->query);

	if (TupIsNull(entry))
		return NULL;
	scan->ended_entries++;
	return entry;
}

/* explain_users_index_search: shows the plan by which entries are found, below the scan */
void
explain_users_index_search(IndexTableScan *scan, ExplainState *es)
{
	if (scan->query != NULL)
		explain_inner_query(scan->query, es);
	else
		explain_inner_plan(scan->plan.query, scan->css.ss.ps.state, es);
}
