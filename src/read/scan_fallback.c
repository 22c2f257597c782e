/*-------------------------------------------------------------------------
 *
 * scan_fallback.c
 *	  Answers for a scan of an index table by a native plan of the same query, with the same
 *	  snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/dest.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "scan_fallback.h"
#include "served.h"

static void plan_fallback(IndexTableScan *scan, ParamListInfo params);

/* begin_fallback: plans the query that does without the index table, and starts it */
void
begin_fallback(IndexTableScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	int			n = list_length(scan->values) - scan->plan.nconditions;
	ParamListInfo params;
	int			i;

	scan->fallback_cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable fallback", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->fallback_cxt);
	params = makeParamList(n);
	for (i = 0; i < n; i++)
	{
		int			at = scan->plan.nconditions + i;
		Node	   *expr = list_nth(((CustomScan *) scan->css.ss.ps.plan)->custom_exprs, at);

		params->params[i].ptype = exprType(expr);
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].value = ExecEvalExpr((ExprState *) list_nth(scan->values, at), econtext,
											   &params->params[i].isnull);
	}
	if (scan->fallback_plan == NULL)
		plan_fallback(scan, params);
	scan->fallback = CreateQueryDesc(scan->fallback_plan, "", estate->es_snapshot, InvalidSnapshot, None_Receiver, params,
									 estate->es_queryEnv, 0);
	ExecutorStart(scan->fallback, 0);
	MemoryContextSwitchTo(old);
}

/*
 * plan_fallback
 *		Plans the query that does without the index table: the first time with the values of its
 *		parameters, and the second time for any values, which is kept then.
 */
static void
plan_fallback(IndexTableScan *scan, ParamListInfo params)
{
	MemoryContext old = MemoryContextSwitchTo(scan->css.ss.ps.state->es_query_cxt);
	Query	   *query = copyObject(scan->plan.fallback);

	AcquireRewriteLocks(query, true, false);
	scan->fallback_plan = plan_without_index_tables(query, scan->fell_back ? NULL : params);
	MemoryContextSwitchTo(old);
}

/* next_of_fallback: returns the next row as the scan would, or an empty slot */
TupleTableSlot *
next_of_fallback(IndexTableScan *scan)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;
	EState	   *estate = scan->css.ss.ps.state;
	MemoryContext old;
	TupleTableSlot *row;
	int			i;

	do
	{
		old = MemoryContextSwitchTo(scan->fallback->estate->es_query_cxt);
		row = ExecProcNode(scan->fallback->planstate);
		MemoryContextSwitchTo(old);
		ExecClearTuple(slot);
		if (TupIsNull(row))
			return slot;
		slot_getallattrs(row);
	} while (scan->plan.stored_rows &&
			 !table_tuple_fetch_row_version(scan->fact_table, (ItemPointer) DatumGetPointer(row->tts_values[0]),
											estate->es_snapshot, slot));
	if (scan->plan.stored_rows)
		return slot;

	/*
	 * A scan of entries alone that nothing is wanted of has a row of no
	 * columns.
	 */
	for (i = 0; i < slot->tts_tupleDescriptor->natts && i < row->tts_nvalid; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
	return ExecStoreVirtualTuple(slot);
}

/* end_fallback: ends it, if there is one; the next one is planned for any values */
void
end_fallback(IndexTableScan *scan)
{
	if (scan->fallback == NULL)
		return;
	ExecutorFinish(scan->fallback);
	ExecutorEnd(scan->fallback);
	FreeQueryDesc(scan->fallback);
	scan->fallback = NULL;
	MemoryContextDelete(scan->fallback_cxt);
	/* The first plan is for the values that it had. */
	if (!scan->fell_back)
		scan->fallback_plan = NULL;
	scan->fell_back = true;
}
