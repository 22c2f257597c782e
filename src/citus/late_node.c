/*-------------------------------------------------------------------------
 *
 * late_node.c
 *	  Executes plans of late_query.c: finds the keys by entries, has Citus plan the query with them, and returns
 *	  its rows.
 *
 * All that happens when the first row is asked for, as Citus reads nothing before that either.  If entries cannot
 * answer then, or there are more keys than are worth it, Citus plans the query as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../util/compat.h"
#include "citus.h"
#include "late.h"

typedef struct LateScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	MemoryContext cxt;			/* of all that is found when it starts */
	List	   *keys;			/* of QueryDesc *, of each table, once started */
	uint64		nkeys;			/* that were found, in all */
	const char *why;			/* some table was not searched by keys, or
								 * NULL */
	QueryDesc  *query;			/* has returned ... */
	Tuplestorestate *rows;		/* these; NULL: not started */
	TupleTableSlot *row;
	bool		backward;		/* a cursor may go back */
} LateScan;

static void begin_late(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_late(CustomScanState *node);
static TupleTableSlot *next_row(ScanState *node);
static void start(LateScan *scan);
static ParamListInfo known_parameters(EState *estate);
static void restrict_by_keys(LateScan *scan, Query *query, List *numbers, PlannedStmt *plan);
static const char *find_keys(QueryDesc *query, List *numbers, Datum *keys, int *n);
static const char *why_not_keys(QueryDesc *query, AttrNumber column);
static void end(LateScan *scan);
static void end_late(CustomScanState *node);
static void rescan_late(CustomScanState *node);
static void explain_late(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomExecMethods exec_methods = {
	.CustomName = LATE_NAME,
	.BeginCustomScan = begin_late,
	.ExecCustomScan = exec_late,
	.EndCustomScan = end_late,
	.ReScanCustomScan = rescan_late,
	.ExplainCustomScan = explain_late
};

const ScanType late_scan = {{.CustomName = LATE_NAME,.CreateCustomScanState = create_scan_state},
&exec_methods,
sizeof(LateScan)};

/* member: returns a member of custom_private */
static void *
member(LateScan *scan, int which)
{
	return list_nth(((CustomScan *) scan->css.ss.ps.plan)->custom_private, which);
}

static void
begin_late(CustomScanState *node, EState *estate, int eflags)
{
	LateScan   *scan = (LateScan *) node;

	scan->backward = (eflags & EXEC_FLAG_BACKWARD) != 0;
	scan->row = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
									   &TTSOpsMinimalTuple);
}

static TupleTableSlot *
exec_late(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, any_row_passes);
}

/* next_row: returns the next row of the query in the direction of a cursor, or an empty slot */
static TupleTableSlot *
next_row(ScanState *node)
{
	LateScan   *scan = (LateScan *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (scan->rows == NULL)
		start(scan);
	if (!tuplestore_gettupleslot(scan->rows, ScanDirectionIsForward(node->ps.state->es_direction), false,
								 scan->row))
		return slot;
	return return_columns(slot, scan->row);
}

/*
 * start
 *		Finds the keys, and runs the query.
 *
 * Citus computes subqueries beforehand only for a query that is run, and stores the rows that shards return
 * anyway.
 */
static void
start(LateScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	MemoryContext old;
	Query	   *query;
	PlannedStmt *plan;

	scan->cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable late query", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->cxt);
	query = copyObject((Query *) member(scan, LATE_QUERY));
	/* It is a part of a statement that is counted. */
	query->queryId = 0;
	AcquireRewriteLocks(query, true, false);
	foreach_ptr(PlannedStmt, keys, (List *) member(scan, LATE_PLANS))
		restrict_by_keys(scan, query, list_nth(member(scan, LATE_NUMBERS), foreach_current_index(keys)), keys);
	plan = plan_natively(query, estate->es_sourceText, intVal(member(scan, LATE_OPTIONS)),
						 known_parameters(estate));
	scan->query = begin_inner_query(plan, estate->es_snapshot, known_parameters(estate), estate->es_queryEnv,
									estate->es_instrument, 0);
	scan->rows = tuplestore_begin_heap(scan->backward, false, work_mem);
	SetTuplestoreDestReceiverParams(dest, scan->rows, scan->cxt, false, NULL, NULL);
	scan->query->dest = dest;
	executor_run_compat(scan->query);
	dest->rDestroy(dest);
	MemoryContextSwitchTo(old);
}

/* known_parameters: returns those of a statement.  Citus crashes on a list without parameters. */
static ParamListInfo
known_parameters(EState *estate)
{
	ParamListInfo params = estate->es_param_list_info;

	return params != NULL && params->numParams > 0 ? params : NULL;
}

/* restrict_by_keys: finds the keys of a table, and adds to a query that it has one of them */
static void
restrict_by_keys(LateScan *scan, Query *query, List *numbers, PlannedStmt *plan)
{
	EState	   *estate = scan->css.ss.ps.state;
	QueryDesc  *keys = begin_inner_query(plan, estate->es_snapshot, known_parameters(estate), estate->es_queryEnv,
										 estate->es_instrument, 0);
	Datum	   *values = palloc(sizeof(Datum) * list_nth_int(numbers, LATE_LIMIT));
	int			n = 0;
	const char *why;

	scan->keys = lappend(scan->keys, keys);
	why = why_not_keys(keys, list_nth_int(numbers, LATE_COLUMN));
	if (why == NULL)
		why = find_keys(keys, numbers, values, &n);
	if (why == NULL)
	{
		restrict_table(query, list_nth_int(numbers, LATE_NUMBER), list_nth_int(numbers, LATE_COLUMN), values, n);
		scan->nkeys += n;
	}
	else
		scan->why = why;
}

/* find_keys: sets keys, each once, and their number; returns why Citus is to do without, or NULL */
static const char *
find_keys(QueryDesc *query, List *numbers, Datum *keys, int *n)
{
	Form_pg_attribute att = TupleDescAttr(query->tupDesc, 0);
	int			limit = list_nth_int(numbers, LATE_LIMIT);
	TupleTableSlot *row;
	int			entries = 0;

	while (row = next_of_inner_query(query), !TupIsNull(row))
	{
		bool		isnull;
		Datum		key = slot_getattr(row, 1, &isnull);
		bool		known = isnull;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < *n && !known; i++)
			known = datum_image_eq(keys[i], key, att->attbyval, att->attlen);
		if (!known && *n == limit)
			return psprintf("more than %d rows are found", limit);
		if (!known)
			keys[(*n)++] = datumCopy(key, att->attbyval, att->attlen);
		if (++entries == list_nth_int(numbers, LATE_ENTRIES))
			return psprintf("%d entries or more are found", entries);
	}
	return NULL;
}

/*
 * why_not_keys
 *		Returns why entries cannot tell the keys of a table, or NULL.
 *
 * The condition on the distribution column is checked on the shards, as the current user, who need not have the
 * right to read that column.
 */
static const char *
why_not_keys(QueryDesc *query, AttrNumber column)
{
	Oid			relid = linitial_node(RangeTblEntry, query->plannedstmt->rtable)->relid;

	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(relid, column, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return "the distribution column may not be read";
	return why_not_entries_below(query->planstate);
}

/* end: ends what was started */
static void
end(LateScan *scan)
{
	ExecClearTuple(scan->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(scan->row);
	if (scan->rows != NULL)
		tuplestore_end(scan->rows);
	if (scan->query != NULL)
		end_inner_query(scan->query);
	foreach_ptr(QueryDesc, keys, scan->keys)
		end_inner_query(keys);
	scan->rows = NULL;
	scan->query = NULL;
	scan->keys = NIL;
	scan->nkeys = 0;
	scan->why = NULL;
	if (scan->cxt != NULL)
		MemoryContextDelete(scan->cxt);
	scan->cxt = NULL;
}

static void
end_late(CustomScanState *node)
{
	end((LateScan *) node);
}

static void
rescan_late(CustomScanState *node)
{
	LateScan   *scan = (LateScan *) node;

	ExecScanReScan(&node->ss);
	if (scan->backward && scan->rows != NULL)
		tuplestore_rescan(scan->rows);
	else
		end(scan);
}

/* explain_late: shows how the keys are found, and, with ANALYZE, how Citus has planned the query */
static void
explain_late(CustomScanState *node, List *ancestors, ExplainState *es)
{
	LateScan   *scan = (LateScan *) node;
	EState	   *estate = node->ss.ps.state;

	ExplainPropertyText("Shards", "those of the rows that are found when it starts", es);
	if (scan->why != NULL)
		ExplainPropertyText("Fallback", scan->why, es);
	if (scan->nkeys > 0)
		ExplainPropertyUInteger("Rows Found", NULL, scan->nkeys, es);
	foreach_ptr(PlannedStmt, plan, (List *) member(scan, LATE_PLANS))
	{
		if (scan->keys != NIL)
			explain_inner_query(list_nth(scan->keys, foreach_current_index(plan)), es);
		else
			explain_inner_plan(plan, estate, es);
	}
	if (scan->query != NULL)
		explain_inner_query(scan->query, es);
}
