/*-------------------------------------------------------------------------
 *
 * totals.c
 *	  Reads totals: by indextable.totals(), which returns those of each group by the name of their
 *	  table, and by the plans of aggregates, which run their query of totals if the snapshot sees
 *	  just the entries of the rows that it sees, else the query of the fact table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../planner/plan.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "scan.h"

PG_FUNCTION_INFO_V1(indextable_totals);

typedef struct TotalsScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	List	   *values;			/* of ExprState *: of the parameters of both
								 * queries */
	FactDef    *fact;			/* pinned, or NULL */
	IndexDef   *def;			/* NULL: totals cannot answer */
	CommandId	begun_at;		/* the command id of the start */
	const char *why;			/* they could not, or NULL */
	PlannedStmt *fallback;		/* the plan of the query of the fact table, or
								 * NULL */
	QueryDesc  *query;			/* that is run; NULL: none */
	MemoryContext cxt;			/* of it */
} TotalsScan;

static char *totals_query(IndexDef *def, Jsonb *key);
static const char *column_name(IndexDef *def, AttrNumber attno);
static void begin_totals(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_totals(CustomScanState *node);
static TupleTableSlot *next_group(ScanState *node);
static void start_query(TotalsScan *scan);
static const char *why_not_totals(TotalsScan *scan);
static void end_query(TotalsScan *scan);
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

const ScanType totals_scan = {{.CustomName = TOTALS_NAME,.CreateCustomScanState = create_scan_state}, &exec_methods, sizeof(TotalsScan)};

/*
 * indextable_totals
 *		totals(index_table regclass, key jsonb, OUT key jsonb, OUT rows bigint, OUT counts jsonb,
 *		OUT sums jsonb): a row for each group, or for those with the key fields that key has
 */
Datum
indextable_totals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Jsonb	   *key = PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1);
	Oid			types[] = {JSONBOID};
	Datum		values[] = {PG_GETARG_DATUM(1)};
	IndexDef   *def;
	char	   *sql;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	require_reader(PG_GETARG_OID(0));
	def = definition_of_index_table(PG_GETARG_OID(0));
	if (def == NULL)
		report_not_index_table(PG_GETARG_OID(0));
	if (!is_totals(def))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table of totals", def->name),
				 errhint("Such tables are made by indextable.create() with totals.")));
	sql = totals_query(def, key);
	SPI_connect();
	if (SPI_execute_with_args(sql, key == NULL ? 0 : 1, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run: %s", sql);
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rsinfo->setResult, SPI_tuptable->vals[i]);
	SPI_finish();
	return (Datum) 0;
}

/* totals_query: returns the query for the groups whose key fields have the values that key has */
static char *
totals_query(IndexDef *def, Jsonb *key)
{
	StringInfoData sql;
	StringInfoData group;
	StringInfoData names;
	int			nmembers = 0;

	initStringInfo(&sql);
	initStringInfo(&group);
	initStringInfo(&names);
	appendStringInfoString(&sql, "SELECT pg_catalog.jsonb_build_object(");
	for (int i = 0; i < def->nkeys; i++)
	{
		const char *name = column_name(def, def->fields[i].attno);

		appendStringInfo(&sql, "%s%s, t.%s", i > 0 ? ", " : "", quote_literal_cstr(name), quote_identifier(name));
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", name);
		appendStringInfo(&group, "%st.%s", i > 0 ? ", " : "", quote_identifier(name));
	}
	appendStringInfo(&sql, "), coalesce(pg_catalog.sum(t.%1$s), 0)::bigint, pg_catalog.jsonb_build_object(",
					 quote_identifier(column_name(def, def->rows_attno)));
	for (int i = 0; i < def->nincludes; i++)
		appendStringInfo(&sql, "%s%s, coalesce(pg_catalog.sum(t.%s), 0)", i > 0 ? ", " : "",
						 quote_literal_cstr(def->fields[def->nkeys + i].spec->name),
						 quote_identifier(column_name(def, def->count_attno[i])));
	appendStringInfoString(&sql, "), pg_catalog.jsonb_build_object(");
	for (int i = 0; i < def->nincludes; i++)
		if (SUM_ATTNO(def, i) != 0)
			appendStringInfo(&sql, "%s%s, CASE WHEN pg_catalog.sum(t.%s) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.sum(t.%s) END",
							 sql.data[sql.len - 1] == '(' ? "" : ", ", quote_literal_cstr(def->fields[def->nkeys + i].spec->name),
							 quote_identifier(column_name(def, def->count_attno[i])),
							 quote_identifier(column_name(def, SUM_ATTNO(def, i))));
	appendStringInfo(&sql, ") FROM %s t WHERE true", quoted_relation(def->relid));
	for (int i = 0; key != NULL && i < def->nkeys; i++)
	{
		const char *name = column_name(def, def->fields[i].attno);
		JsonbValue	value;

		if (!JB_ROOT_IS_OBJECT(key) || getKeyJsonValueFromContainer(&key->root, name, strlen(name), &value) == NULL)
			continue;
		nmembers++;
		if (value.type == jbvNull)
			appendStringInfo(&sql, " AND t.%s IS NULL", quote_identifier(name));
		else
			appendStringInfo(&sql, " AND t.%s OPERATOR(pg_catalog.=) ($1 OPERATOR(pg_catalog.->>) %s)::%s",
							 quote_identifier(name), quote_literal_cstr(name),
							 format_type_extended(def->fields[i].type, def->fields[i].typmod,
												  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	}
	if (key != NULL && (!JB_ROOT_IS_OBJECT(key) || nmembers < (int) JB_ROOT_COUNT(key)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must be an object whose members are key fields of %s", quoted_relation(def->relid)),
				 def->nkeys > 0 ? errhint("Its key fields are: %s.", names.data) : errhint("It has no key fields.")));
	if (def->nkeys > 0)
		appendStringInfo(&sql, " GROUP BY %s HAVING pg_catalog.sum(t.%s) OPERATOR(pg_catalog.>) 0 ORDER BY %s", group.data,
						 quote_identifier(column_name(def, def->rows_attno)), group.data);
	return sql.data;
}

static const char *
column_name(IndexDef *def, AttrNumber attno)
{
	return NameStr(TupleDescAttr(def->desc, attno - 1)->attname);
}

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

	scan->values = ExecInitExprList(((CustomScan *) node->ss.ps.plan)->custom_exprs, &node->ss.ps);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	scan->begun_at = GetCurrentCommandId(false);
	scan->def = definition_of_scan(estate, linitial_oid(tables(scan)), lsecond_oid(tables(scan)), false, &scan->fact);
}

static TupleTableSlot *
exec_totals(CustomScanState *node)
{
	return ExecScan(&node->ss, next_group, any_row_passes);
}

/* next_group: returns the next row of the query, or an empty slot */
static TupleTableSlot *
next_group(ScanState *node)
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
	MemoryContext old;

	scan->why = why_not_totals(scan);
	if (scan->why != NULL)
	{
		if (scan->fact != NULL && scan->fact->partitioned)
			refuse_truncated(scan->fact->relid, estate->es_snapshot, scan->begun_at);
		if (scan->fallback == NULL)
			scan->fallback = plan_fallback(estate, list_nth(plan->custom_private, TOTALS_FALLBACK), NULL);
		stmt = scan->fallback;
	}
	else if (scan->fact->partitioned)
		note_read_by_entries(scan->fact->relid);
	scan->cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable totals", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->cxt);
	scan->query = begin_inner_query(stmt, estate->es_snapshot, parameters_of_scan(&scan->css, scan->values, 0),
									estate->es_queryEnv);
	MemoryContextSwitchTo(old);
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
	if ((why = why_out_of_step(scan->def, snapshot)) != NULL)
		return why;
	if (!index_table_complete(scan->def, linitial_int(needs), snapshot))
		return "values were skipped";
	if (lsecond_int(needs) != 0 && !index_table_has_none(scan->def, lsecond_int(needs), snapshot))
		return "some rows may have values that are read in another way";
	return NULL;
}

static void
end_query(TotalsScan *scan)
{
	if (scan->query == NULL)
		return;
	end_inner_query(scan->query);
	scan->query = NULL;
	MemoryContextDelete(scan->cxt);
}

static void
end_totals(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	end_query((TotalsScan *) node);
}

static void
rescan_totals(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	ExecScanReScan(&node->ss);
	end_query((TotalsScan *) node);
}

static void
explain_totals(CustomScanState *node, List *ancestors, ExplainState *es)
{
	TotalsScan *scan = (TotalsScan *) node;
	List	   *needs = list_nth(((CustomScan *) node->ss.ps.plan)->custom_private, TOTALS_NEEDS);

	explain_index_table(lthird_int(needs) != 0 ? "Totals" : "Index Table Only", lsecond_oid(tables(scan)), es);
	if (es->analyze && scan->why != NULL)
		ExplainPropertyText("Fallback", scan->why, es);
}
