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
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/dest.h"
#include "utils/memutils.h"

#include "../planner/plan.h"
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
	MemoryContext old;
	ParamListInfo params;

	scan->fallback_cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable fallback", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->fallback_cxt);
	params = parameters_of_scan(&scan->css, scan->values, scan->plan.nconditions);
	if (scan->fallback_plan == NULL)
		scan->fallback_plan = plan_fallback(estate, scan->plan.fallback, scan->fell_back ? NULL : params);
	/* Compiling it for each outer row takes longer than running it. */
	if (scan->fell_back)
		scan->fallback_plan->jitFlags = PGJIT_NONE;
	scan->fallback = begin_inner_query(scan->fallback_plan, estate->es_snapshot, params, estate->es_queryEnv);
	MemoryContextSwitchTo(old);
}

/* parameters_of_scan: returns the values that the expressions of a scan have now, but for the first ones, as parameters of another query */
ParamListInfo
parameters_of_scan(CustomScanState *scan, List *values, int first)
{
	int			n = list_length(values) - first;
	ParamListInfo params = makeParamList(n);

	for (int i = 0; i < n; i++)
	{
		params->params[i].ptype = exprType(list_nth(((CustomScan *) scan->ss.ps.plan)->custom_exprs, first + i));
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].value = ExecEvalExpr((ExprState *) list_nth(values, first + i), scan->ss.ps.ps_ExprContext,
											   &params->params[i].isnull);
	}
	return params;
}

/* begin_inner_query: starts a query that is executed for another one, with its snapshot, in the current memory context */
QueryDesc *
begin_inner_query(PlannedStmt *plan, Snapshot snapshot, ParamListInfo params, QueryEnvironment *env)
{
	QueryDesc  *query = CreateQueryDesc(plan, "", snapshot, InvalidSnapshot, None_Receiver, params, env, 0);

	ExecutorStart(query, 0);
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
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
}

/* plan_fallback: plans a query that does without index tables, for as long as the query around it is executed */
PlannedStmt *
plan_fallback(EState *estate, Query *fallback, ParamListInfo params)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Query	   *query = copyObject(fallback);
	PlannedStmt *result;

	AcquireRewriteLocks(query, true, false);
	result = plan_without_index_tables(query, params);
	MemoryContextSwitchTo(old);
	return result;
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

/* end_fallback: ends it, if there is one */
void
end_fallback(IndexTableScan *scan)
{
	if (scan->fallback == NULL)
		return;
	end_inner_query(scan->fallback);
	scan->fallback = NULL;
	MemoryContextDelete(scan->fallback_cxt);
	/* The first plan is for the values that it had. */
	if (!scan->fell_back)
		scan->fallback_plan = NULL;
	scan->fell_back = true;
}
