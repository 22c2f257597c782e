/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  Implements indextable.explain(), which tells which index tables a query of fact tables
 *	  uses, and why it does not use the others.
 *
 * It plans the query, and is told meanwhile what was thought of each index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/varlena.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../planner/plan.h"
#include "../scan/scan.h"
#include "../util/settings.h"
#include "../util/while_set.h"

PG_FUNCTION_INFO_V1(indextable_explain);

static bool told_other_sessions;	/* that these do not use index tables */

static List *join_opinions(List *found);
static bool is_about_another(Opinion *opinion);
static void note_opinions(const char *sql, Opinions *noted);
static void plan_query(const char *sql);
static bool is_preloaded(const char *setting);
static char *command_to_preload(void);
static Query *parse_query(const char *sql, int *options);
static List *group_names(IndexTableScan *scan);
static char *describe_conditions(IndexTableScan *scan, List *ancestors, ExplainState *es);

/* indextable_explain: explain(query) returns fact_table, index_table, used, reason */
Datum
indextable_explain(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Opinions	noted = {.cxt = CurrentMemoryContext};
	char	   *sql;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	if (setting_planner == PLANNER_OFF)
		ereport(NOTICE,
				(errmsg("index tables are not used, because indextable.planner is off"),
				 errdetail("What follows holds if it is on."),
				 errhint("SET indextable.planner = on;")));
	else if (!told_other_sessions && !is_preloaded("shared_preload_libraries") && !is_preloaded("session_preload_libraries"))
	{
		told_other_sessions = true;
		ereport(NOTICE,
				(errmsg("index tables are not used in other sessions"),
				 errdetail("This session has loaded the library indextable by now, but others may not."),
				 pg_parameter_aclcheck("session_preload_libraries", GetUserId(), ACL_SET) == ACLCHECK_OK ?
				 errhint("%s", command_to_preload()) :
				 errhint("Have each new session run SELECT FROM indextable.explain(NULL), or a superuser %s",
						 command_to_preload())));
	}
	sql = TextDatumGetCString(PG_GETARG_DATUM(0));
	if (setting_planner == PLANNER_OFF)
		WHILE_SET(setting_planner, PLANNER_ON, note_opinions(sql, &noted));
	else
		note_opinions(sql, &noted);
	foreach_ptr(Opinion, opinion, join_opinions(noted.list))
	{
		Datum		values[4] = {0};
		bool		nulls[4] = {false, !OidIsValid(opinion->index_table), false, false};

		values[0] = ObjectIdGetDatum(opinion->fact);
		values[1] = ObjectIdGetDatum(opinion->index_table);
		values[2] = BoolGetDatum(opinion->used);
		values[3] = CStringGetTextDatum(opinion->reason);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* note_opinions: has it noted what is thought while a query is planned */
static void
note_opinions(const char *sql, Opinions *noted)
{
	WHILE_SET(opinions, noted, plan_query(sql));
}

static void
plan_query(const char *sql)
{
	int			options = CURSOR_OPT_PARALLEL_OK;
	ParseContext context;
	Query	   *query;

	push_parse_context(&context, NULL, sql, 0, 0);
	query = parse_query(sql, &options);

	/* Whether an index table is used tells of its values, like EXPLAIN. */
	check_rights(pg_plan_query_compat(query, sql, options, NULL));
	pop_parse_context(&context);
}

/*
 * join_opinions
 *		Makes one opinion of those of several index tables of a fact table that nothing in the
 *		query is about, so that their reason is read once.
 */
static List *
join_opinions(List *found)
{
	List	   *result = NIL;

	foreach_ptr(Opinion, opinion, found)
	{
		Opinion    *first = opinion;
		Opinion    *joined;
		StringInfoData names;
		int			n = 0;

		initStringInfo(&names);
		foreach_ptr(Opinion, same, found)
		{
			if (same->fact != opinion->fact || same->used || !is_about_another(opinion) ||
				strcmp(same->reason, opinion->reason) != 0)
				continue;
			if (n == 0)
				first = same;
			appendStringInfo(&names, "%s%s", n++ > 0 ? ", " : "", quote_identifier(get_rel_name(same->index_table)));
		}
		if (first != opinion)
			continue;
		if (n > 1)
		{
			joined = palloc0(sizeof(Opinion));
			joined->fact = opinion->fact;
			joined->reason = psprintf("each of %s: %s", names.data, opinion->reason);
			opinion = joined;
		}
		result = lappend(result, opinion);
	}
	return result;
}

/* is_about_another: returns whether the reason against an index table is that the query is about others */
static bool
is_about_another(Opinion *opinion)
{
	return strcmp(opinion->reason, REASON_NO_CONDITION) == 0 || strcmp(opinion->reason, REASON_NO_ELEMENTS) == 0 ||
		strcmp(opinion->reason, REASON_NO_AGGREGATE) == 0;
}

/* is_preloaded: returns whether a setting names the library */
static bool
is_preloaded(const char *setting)
{
	const char *libraries = GetConfigOption(setting, true, false);

	return libraries != NULL && strstr(libraries, IT_SCHEMA) != NULL;
}

/*
 * command_to_preload
 *		Returns the command that has new sessions of the database load the library, too, beside
 *		those that they load now.  These are named only to those who may see the setting.
 */
static char *
command_to_preload(void)
{
	char	   *now = pstrdup(GetConfigOption("session_preload_libraries", false, false));
	StringInfoData buf;
	List	   *libraries = NIL;

	initStringInfo(&buf);
	appendStringInfo(&buf, "ALTER DATABASE %s SET session_preload_libraries = ", quote_identifier(get_database_name(MyDatabaseId)));
	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS))
		(void) SplitDirectoriesString(now, ',', &libraries);
	else if (now[0] != '\0')
		appendStringInfoString(&buf, "(what it is now), ");
	foreach_ptr(char, library, libraries)
		appendStringInfo(&buf, "%s, ", quote_literal_cstr(library));
	appendStringInfo(&buf, "%s;", quote_literal_cstr(IT_SCHEMA));
	return buf.data;
}

/* parse_query: parses a query, which may have parameters of any type, or be that of a cursor, whose options it sets */
static Query *
parse_query(const char *sql, int *options)
{
	List	   *statements = pg_parse_query(sql);
	Oid		   *types = NULL;
	int			ntypes = 0;
	List	   *queries;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must be one statement")));
	queries = pg_analyze_and_rewrite_varparams(linitial_node(RawStmt, statements), sql, &types, &ntypes, NULL);
	if (list_length(queries) == 1 && linitial_node(Query, queries)->commandType == CMD_UTILITY &&
		IsA(linitial_node(Query, queries)->utilityStmt, DeclareCursorStmt))
	{
		DeclareCursorStmt *cursor = castNode(DeclareCursorStmt, linitial_node(Query, queries)->utilityStmt);

		*options = cursor->options;
		queries = QueryRewrite(castNode(Query, cursor->query));
	}
	if (list_length(queries) != 1 || linitial_node(Query, queries)->commandType == CMD_UTILITY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must be SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES, or DECLARE CURSOR")));
	return linitial(queries);
}

/*-------------------------------------------------------------------------
 * Shows scans of index tables in EXPLAIN: which index table, by what it is searched, and with
 * ANALYZE how much was read.
 *-------------------------------------------------------------------------
 */

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

	if (OidIsValid(scan->plan.index_table))
		explain_index_table(scan->plan.entries_only ? "Index Table Only" : "Index Table", scan->plan.index_table, es);
	if (scan->plan.nconditions > 0)
		ExplainPropertyText("Entry Cond", describe_conditions(scan, ancestors, es), es);
	if (scan->plan.groups != NIL)
		ExplainPropertyList("Loose Key", group_names(scan), es);
	if (scan->plan.backward)
		ExplainPropertyText("Scan Direction", "Backward", es);
	if (scan->plan.async)
		ExplainPropertyText("Staleness", "asynchronous", es);
	if (!OidIsValid(scan->plan.index_table))
		ExplainPropertyText("Fallback", "partitions are looked at when it is executed", es);
	if (!es->analyze || !OidIsValid(scan->plan.index_table))
		return;
	if (scan->why != NULL)
		ExplainPropertyText("Fallback", scan->why, es);

	/*
	 * Of conditions that the user chooses, these would tell how many rows
	 * satisfy them that he may not see.
	 */
	if (scan->plan.secured)
		return;
	if ((scan->array_key >= 0 || scan->loose != NULL) && scan->def != NULL && !scan->css.ss.ps.plan->parallel_aware)
		ExplainPropertyUInteger("Searches", NULL, scan->searches, es);
	ExplainPropertyUInteger("Entries", NULL, scan->ended_entries + (scan->begun ? scan->entries.entries : 0), es);
	ExplainPropertyUInteger("Heap Fetches", NULL, scan->ended_heap_fetches + (scan->begun ? scan->entries.heap_fetches : 0), es);
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

		appendStringInfo(&buf, condition->array ? "%s(%s %s ANY (%s))" :
						 condition->taking == TAKE_CONTAINED ? "%s(%s %s element of %s)" : "%s(%s %s %s)", i > 0 ? " AND " : "",
						 column != NULL ? quote_identifier(column) : "?", get_opname(condition->operator), value);
	}
	return buf.data;
}
