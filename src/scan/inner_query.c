/*-------------------------------------------------------------------------
 *
 * inner_query.c
 *	  Makes, plans and executes a query in place of a part of another one, with the same snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/dest.h"
#include "utils/memutils.h"

#include "../util/compat.h"
#include "../util/while_set.h"
#include "scan.h"

static bool without_index_tables = false;	/* it is a fallback */

/* query_of_table: returns a query of one table; what is to be checked of rights is yet to be set */
Query *
query_of_table(RangeTblEntry *rte, List *targets, Node *quals)
{
	Query	   *query = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->targetList = targets;
	query->jointree = makeFromExpr(list_make1(ref), quals);
	query->stmt_location = -1;
	return query;
}

/* plan_natively: plans a query, with options of cursors, so that no index table serves it */
PlannedStmt *
plan_natively(Query *query, const char *text, int options, ParamListInfo params)
{
	PlannedStmt *result;

	WHILE_SET(without_index_tables, true, result = planner_compat(query, text, options, params));
	return result;
}

/* is_planned_natively: returns whether what is planned now is to do without index tables */
bool
is_planned_natively(void)
{
	return without_index_tables;
}

/*
 * plan_without_index_tables
 *		Plans a query in the same way whose rights are checked by the query around it.
 */
PlannedStmt *
plan_without_index_tables(Query *query, int options, ParamListInfo params)
{
	PlannedStmt *result = plan_natively(query, NULL, options, params);

	plan_without_checks(result);
	return result;
}

/*
 * plan_fallback
 *		Plans a query that does without index tables, for as long as the query around it is
 *		executed.
 */
PlannedStmt *
plan_fallback(EState *estate, Query *fallback, ParamListInfo params)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Query	   *query = copyObject(fallback);
	PlannedStmt *result;

	AcquireRewriteLocks(query, true, false);
	result = plan_without_index_tables(query, 0, params);
	MemoryContextSwitchTo(old);
	return result;
}

/*
 * parameters_of_scan
 *		Returns the values that the expressions of a scan have now, but for the first ones, as
 *		parameters of another query.
 */
ParamListInfo
parameters_of_scan(CustomScanState *scan, List *values, int first)
{
	int			n = list_length(values) - first;
	ParamListInfo params;

	/* Citus crashes on a list without parameters. */
	if (n == 0)
		return NULL;
	params = makeParamList(n);
	for (int i = 0; i < n; i++)
	{
		params->params[i].ptype = exprType(list_nth(((CustomScan *) scan->ss.ps.plan)->custom_exprs, first + i));
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].value = ExecEvalExpr((ExprState *) list_nth(values, first + i),
											   scan->ss.ps.ps_ExprContext, &params->params[i].isnull);
	}
	return params;
}

/*
 * begin_inner_query
 *		Starts a query that is executed for another one, with its snapshot, in the current
 *		memory context.
 */
QueryDesc *
begin_inner_query(PlannedStmt *plan, Snapshot snapshot, ParamListInfo params, QueryEnvironment *env,
				  int instrument, int eflags)
{
	QueryDesc  *query = CreateQueryDesc(plan, "", snapshot, InvalidSnapshot, None_Receiver, params, env,
										instrument);

	ExecutorStart(query, eflags);
	return query;
}

/* next_of_inner_query: returns its next row, or an empty slot */
TupleTableSlot *
next_of_inner_query(QueryDesc *query)
{
	MemoryContext old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	TupleTableSlot *row = ExecProcNode(query->planstate);

	MemoryContextSwitchTo(old);
	return row;
}

void
end_inner_query(QueryDesc *query)
{
	if (!(query->estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY))
		ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
}

/*
 * begin_query_of_scan
 *		Starts a query in place of a part of a scan, in a memory context of its own.  Its parameters are the
 *		values that the expressions of the scan have now, but for the first ones.
 */
QueryDesc *
begin_query_of_scan(CustomScanState *scan, PlannedStmt *plan, List *values, int first, int instrument)
{
	EState	   *estate = scan->ss.ps.state;
	MemoryContext cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable inner query", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	QueryDesc  *query = begin_inner_query(plan, estate->es_snapshot, parameters_of_scan(scan, values, first),
										  estate->es_queryEnv, instrument, 0);

	MemoryContextSwitchTo(old);
	return query;
}

/* end_query_of_scan: ends such a query, if it was started, and frees its memory */
void
end_query_of_scan(QueryDesc **query)
{
	MemoryContext cxt;

	if (*query == NULL)
		return;
	cxt = GetMemoryChunkContext(*query);
	end_inner_query(*query);
	*query = NULL;
	MemoryContextDelete(cxt);
}

/*
 * explain_inner_query
 *		Shows the plan of a query below the node that EXPLAIN shows.  What it knows of the plan around it stays as
 *		it is.
 */
void
explain_inner_query(QueryDesc *query, ExplainState *es)
{
	ExplainState inner = *es;

	inner.analyze = es->analyze && query->instrument_options != 0;
	ExplainPrintPlan(&inner, query);
	es->grouping_stack = inner.grouping_stack;
}

/* explain_inner_plan: shows a plan that was not executed in the same way */
void
explain_inner_plan(PlannedStmt *plan, EState *estate, ExplainState *es)
{
	QueryDesc  *query = begin_inner_query(plan, estate->es_snapshot, NULL, estate->es_queryEnv, 0,
										  EXEC_FLAG_EXPLAIN_ONLY);

	explain_inner_query(query, es);
	end_inner_query(query);
}

/*
 * return_columns
 *		Returns the columns of another row in the slot of a scan, which is empty.  A scan of entries
 *		alone that nothing is wanted of has a row of no columns.
 */
TupleTableSlot *
return_columns(TupleTableSlot *slot, TupleTableSlot *row)
{
	int			n = Min(slot->tts_tupleDescriptor->natts, row->tts_tupleDescriptor->natts);

	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, n * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}
