/*-------------------------------------------------------------------------
 *
 * scan_explain.c
 *	  Shows scans of index tables in EXPLAIN: which index table, by what it is searched, and with
 *	  ANALYZE how much was read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "../place/place.h"
#include "scan.h"

static void explain_reading(IndexTableScan *scan, ExplainState *es);
static List *group_names(IndexTableScan *scan);
static char *describe_checks(IndexTableScan *scan, List *ancestors, ExplainState *es);
static char *describe_conditions(IndexTableScan *scan, List *ancestors, ExplainState *es);

/* explain_index_table: shows an index table, which may be gone */
void
explain_index_table(const char *label, Oid index_table, ExplainState *es)
{
	char	   *name = get_rel_name(index_table);

	if (name != NULL && es->verbose)
		name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(index_table)), name);
	ExplainPropertyText(label, name != NULL ? name : "?", es);
}

/* explain_scan: adds what is particular of a scan of an index table to its node in EXPLAIN */
void
explain_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	IndexTableScan *scan = (IndexTableScan *) node;

	if (scan->plan.any_part)
		ExplainPropertyText("Combines", "OR", es);
	else if (OidIsValid(scan->plan.index_table))
		explain_index_table(scan->plan.entries_only ? "Index Table Only" : "Index Table", scan->plan.index_table,
							es);
	if (scan->plan.nconditions > 0)
		ExplainPropertyText("Entry Cond", describe_conditions(scan, ancestors, es), es);
	if (scan->plan.has_checks)
		ExplainPropertyText("Entry Filter", describe_checks(scan, ancestors, es), es);
	if (scan->plan.groups != NIL)
		ExplainPropertyList("Loose Key", group_names(scan), es);
	if (scan->plan.backward)
		ExplainPropertyText("Scan Direction", "Backward", es);
	if (scan->plan.async)
		ExplainPropertyText("Staleness", "asynchronous", es);
	if (!OidIsValid(scan->plan.index_table))
		ExplainPropertyText("Fallback", "partitions are looked at when it is executed", es);
	if (OidIsValid(scan->plan.index_table) && place_of(scan->plan.fact)->entries->explain != NULL)
		place_of(scan->plan.fact)->entries->explain(scan->plan.index_table, es);
	if (es->analyze && OidIsValid(scan->plan.index_table))
		explain_reading(scan, es);
	if (scan->plan.query != NULL)
		explain_users_index_search(scan, es);
}

/* explain_reading: shows what EXPLAIN ANALYZE knows of a scan that has ended */
static void
explain_reading(IndexTableScan *scan, ExplainState *es)
{
	EntryScan  *entries = scan->begun && scan->plan.query == NULL ? &scan->entries : NULL;

	if (scan->why != NULL)
		ExplainPropertyText("Fallback", scan->why, es);

	/*
	 * Of conditions that the user chooses, these would tell how many rows
	 * satisfy them that he may not see.
	 */
	if (scan->plan.secured || scan->plan.any_part)
		return;
	if ((scan->array_key >= 0 || scan->loose != NULL) && scan->def != NULL &&
		!scan->css.ss.ps.plan->parallel_aware)
		ExplainPropertyUInteger("Searches", NULL, scan->searches, es);
	ExplainPropertyUInteger("Entries", NULL, scan->ended_entries + (entries != NULL ? entries->entries : 0), es);
	if (scan->plan.query == NULL)
		ExplainPropertyUInteger("Heap Fetches", NULL,
								scan->ended_heap_fetches + (entries != NULL ? entries->heap_fetches : 0), es);
	if (!scan->plan.entries_only)
		ExplainPropertyUInteger("Rows Fetched", NULL, scan->rows_fetched, es);
}

/* group_names: lists the columns whose different values are searched for */
static List *
group_names(IndexTableScan *scan)
{
	List	   *result = NIL;

	foreach_int(attno, scan->plan.groups)
	{
		char	   *column = get_attname(scan->plan.index_table, attno, true);

		result = lappend(result, column != NULL ? column : "?");
	}
	return result;
}

/*
 * describe_checks
 *		Returns the conditions that are checked for entries, with the names of their columns.
 */
static char *
describe_checks(IndexTableScan *scan, List *ancestors, ExplainState *es)
{
	Plan	   *plan = scan->css.ss.ps.plan;
	Node	   *checks = (Node *) make_ands_explicit(copyObject(llast(((CustomScan *) plan)->custom_exprs)));
	int			varno = 0;

	foreach_ptr(RangeTblEntry, rte, es->rtable)
	{
		if (rte->rtekind == RTE_RELATION && rte->relid == scan->plan.index_table)
			varno = foreach_current_index(rte) + 1;
	}
	ChangeVarNodes(checks, INDEX_VAR, varno, 0);
	return deparse_expression(checks, set_deparse_context_plan(es->deparse_cxt, plan, ancestors), es->verbose,
							  false);
}

static char *
describe_conditions(IndexTableScan *scan, List *ancestors, ExplainState *es)
{
	Plan	   *plan = scan->css.ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		char	   *value = deparse_expression(list_nth(((CustomScan *) plan)->custom_exprs, i), context,
											   es->verbose, false);
		char	   *column = get_attname(scan->plan.index_table, condition->attno, true);

		if (condition->taking == TAKE_NULL || condition->taking == TAKE_NOT_NULL)
		{
			appendStringInfo(&buf, "%s(%s IS %sNULL)", i > 0 ? " AND " : "",
							 column != NULL ? quote_identifier(column) : "?",
							 condition->taking == TAKE_NULL ? "" : "NOT ");
			continue;
		}
		appendStringInfo(&buf,
						 condition->array ? "%s(%s %s ANY (%s))" :
						 condition->taking == TAKE_CONTAINED || condition->taking == TAKE_MEMBER ?
						 "%s(%s %s element of %s)" :
						 condition->taking == TAKE_DAY ? "%s(%s %s about %s)" :
						 condition->taking == TAKE_PREFIX ? "%s(%s %s prefix %s)" :
						 "%s(%s %s %s)",
						 i > 0 ? " AND " : "", column != NULL ? quote_identifier(column) : "?",
						 get_opname(condition->operator), value);
	}
	return buf.data;
}
