/*-------------------------------------------------------------------------
 *
 * scan_fallback.h
 *	  Answers for a scan of an index table by a native plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_FALLBACK_H
#define INDEXTABLE_SCAN_FALLBACK_H

#include "scan_state.h"

extern void begin_fallback(IndexTableScan *scan);
extern TupleTableSlot *next_of_fallback(IndexTableScan *scan);
extern void end_fallback(IndexTableScan *scan);

extern PlannedStmt *plan_fallback(EState *estate, Query *fallback, ParamListInfo params);

/* Of any query that is executed for another one. */
extern ParamListInfo parameters_of_scan(CustomScanState *scan, List *values, int first);
extern QueryDesc *begin_inner_query(PlannedStmt *plan, Snapshot snapshot, ParamListInfo params, QueryEnvironment *env);
extern TupleTableSlot *next_of_inner_query(QueryDesc *query);
extern void end_inner_query(QueryDesc *query);
extern TupleTableSlot *return_columns(TupleTableSlot *slot, TupleTableSlot *row);

#endif							/* INDEXTABLE_SCAN_FALLBACK_H */
