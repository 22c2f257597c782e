/*-------------------------------------------------------------------------
 *
 * totals_node.c
 *	  Executes the plans of aggregates that totals answer: their query of totals, if the snapshot
 *	  sees just the entries of the rows that it sees, else the query of the fact table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../util/settings.h"
#include "scan.h"

typedef struct TotalsScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	List	   *values;			/* of ExprState *: of the parameters of both
								 * queries */
	FactDef    *fact;			/* pinned, or NULL */
	IndexDef   *def;			/* NULL: totals cannot answer */
	CommandId	begun_at;		/* the command id of the start */
	bool		locked;			/* the partitions have been locked since then */
	const char *why;			/* they could not, or NULL */
	PlannedStmt *fallback;		/* the plan of the query of the fact table, or
								 * NULL */
	QueryDesc  *query;			/* that is run; NULL: none */
} TotalsScan;

static void begin_totals(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_totals(CustomScanState *node);
static TupleTableSlot *fetch_query_row(ScanState *node);
static void start_query(TotalsScan *scan);
static const char *why_not_totals(TotalsScan *scan);
static void end_totals(CustomScanState *node);
static void rescan_totals(CustomScanState *node);
static void explain_totals(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomExecMethods exec_methods = {
	.CustomName = TOTALS_NAME,
	.BeginCustomScan = begin_totals,
	.ExecCustomScan = exec_totals,
	.EndCustomScan = end_totals,
	.ReScanCustomScan = rescan_totals,
	.ExplainCustomScan = explain_totals
};

const ScanType totals_scan = {{.CustomName = TOTALS_NAME,.CreateCustomScanState = create_scan_state},
&exec_methods,
sizeof(TotalsScan)};

/* tables: returns the OIDs of the fact table and the table of totals */
static List *
tables(TotalsScan *scan)
{
	return list_nth(((CustomScan *) scan->css.ss.ps.plan)->custom_private, TOTALS_TABLES);
}

static void
begin_totals(CustomScanState *node, EState *estate, int eflags)
{
	TotalsScan *scan = (TotalsScan *) node;

	require_execute(list_nth(((CustomScan *) node->ss.ps.plan)->custom_private, TOTALS_FUNCTIONS));
	scan->values = ExecInitExprList(((CustomScan *) node->ss.ps.plan)->custom_exprs, &node->ss.ps);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	scan->begun_at = GetCurrentCommandId(false);
	scan->def = definition_of_scan(estate, linitial_oid(tables(scan)), lsecond_oid(tables(scan)), false,
								   &scan->fact);
	scan->locked = scan->fact != NULL && scan->fact->layout.partitioned &&
		lock_changed_tree(scan->fact->relid, estate->es_snapshot);
}

static TupleTableSlot *
exec_totals(CustomScanState *node)
{
	return ExecScan(&node->ss, fetch_query_row, any_row_passes);
}

/* fetch_query_row: returns the next row of the query, or an empty slot */
static TupleTableSlot *
fetch_query_row(ScanState *node)
{
	TotalsScan *scan = (TotalsScan *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	TupleTableSlot *row;

	if (scan->query == NULL)
		start_query(scan);
	row = next_of_inner_query(scan->query);
	ExecClearTuple(slot);
	return TupIsNull(row) ? slot : return_columns(slot, row);
}

/* start_query: starts the query that answers, with the parameters that it has now */
static void
start_query(TotalsScan *scan)
{
	CustomScan *plan = (CustomScan *) scan->css.ss.ps.plan;
	EState	   *estate = scan->css.ss.ps.state;
	PlannedStmt *stmt = list_nth(plan->custom_private, TOTALS_PLAN);

	scan->why = why_not_totals(scan);
	if (scan->why != NULL)
	{
		if (scan->fact != NULL && scan->fact->layout.partitioned)
			refuse_truncated(scan->fact->relid, estate->es_snapshot, scan->begun_at, scan->locked);
		if (scan->fallback == NULL)
			scan->fallback = plan_fallback(estate, list_nth(plan->custom_private, TOTALS_FALLBACK), NULL);
		stmt = scan->fallback;
	}
	else if (scan->fact->layout.partitioned)
		note_read_by_entries(scan->fact->relid);
	scan->query = begin_query_of_scan(&scan->css, stmt, scan->values, 0, 0);
}

/* why_not_totals: returns why totals cannot answer exactly, or NULL if they can */
static const char *
why_not_totals(TotalsScan *scan)
{
	Snapshot	snapshot = scan->css.ss.ps.state->es_snapshot;
	List	   *needs = list_nth(((CustomScan *) scan->css.ss.ps.plan)->custom_private, TOTALS_NEEDS);
	const char *why;

	if (setting_planner == PLANNER_FALLBACK)
		return "indextable.planner is fallback";
	if (scan->def == NULL)
		return "no index table serves";
	if (snapshot_precedes_checks(snapshot))
		return "a constraint may be newer than the snapshot";
	if ((why = why_out_of_step(scan->def, snapshot)) != NULL)
		return why;
	if (!totals_complete(scan->def, linitial_int(needs), snapshot))
		return "values were skipped";
	if (lsecond_int(needs) != 0 && !index_table_has_none(scan->def, lsecond_int(needs), snapshot))
		return "some rows may have values that are read in another way";
	return NULL;
}

static void
end_totals(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	end_query_of_scan(&((TotalsScan *) node)->query);
}

static void
rescan_totals(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	ExecScanReScan(&node->ss);
	end_query_of_scan(&((TotalsScan *) node)->query);
}

static void
explain_totals(CustomScanState *node, List *ancestors, ExplainState *es)
{
	TotalsScan *scan = (TotalsScan *) node;

	explain_index_table("Totals", lsecond_oid(tables(scan)), es);
	if (es->analyze && scan->why != NULL)
		ExplainPropertyText("Fallback", scan->why, es);
}
