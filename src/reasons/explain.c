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
#include "utils/tuplestore.h"
#include "utils/varlena.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/settings.h"
#include "../util/while_set.h"
#include "reasons.h"

PG_FUNCTION_INFO_V1(indextable_explain);

static bool told_other_sessions;	/* that these do not use index tables */

static List *join_opinions(List *found);
static bool is_about_another(Opinion *opinion);
static PlannedStmt *note_opinions(const char *sql, List *facts, Opinions *noted);
static PlannedStmt *plan_query(const char *sql, List *facts);
static PlannedStmt *plan_supposing(Query *query, const char *sql, int options, List *facts);
static bool is_preloaded(const char *setting);
static char *command_to_preload(void);
static Query *parse_query(const char *sql, int *options);

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
	notice_not_used();
	sql = TextDatumGetCString(PG_GETARG_DATUM(0));
	(void) plan_explained(sql, setting_planner == PLANNER_OFF ? PLANNER_ON : setting_planner, NIL, &noted);
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

/* notice_not_used: tells who uses no index tables now */
void
notice_not_used(void)
{
	if (setting_planner == PLANNER_OFF)
		ereport(NOTICE,
				(errmsg("index tables are not used, because indextable.planner is off"),
				 errdetail("What follows holds if it is on."),
				 errhint("SET indextable.planner = on;")));
	else if (!told_other_sessions && !is_preloaded("shared_preload_libraries") &&
			 !is_preloaded("session_preload_libraries"))
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
}

/*
 * plan_explained
 *		Plans a query with a value of indextable.planner, and with index tables of facts (SupposedFact *) that
 *		do not exist, and notes meanwhile what is thought of index tables.
 */
PlannedStmt *
plan_explained(const char *sql, int planner, List *facts, Opinions *noted)
{
	PlannedStmt *result;

	WHILE_SET(setting_planner, planner, result = note_opinions(sql, facts, noted));
	return result;
}

/* note_opinions: plans a query, and notes what is thought of index tables */
static PlannedStmt *
note_opinions(const char *sql, List *facts, Opinions *noted)
{
	PlannedStmt *result;

	WHILE_SET(opinions, noted, result = plan_query(sql, facts));
	return result;
}

static PlannedStmt *
plan_query(const char *sql, List *facts)
{
	int			options = CURSOR_OPT_PARALLEL_OK;
	ParseContext context;
	PlannedStmt *plan;
	Query	   *query;

	push_parse_context(&context, NULL, sql, 0, 0);
	query = parse_query(sql, &options);
	plan = plan_supposing(query, sql, options, facts);

	/* Whether an index table is used tells of its values, like EXPLAIN. */
	check_rights(plan);
	pop_parse_context(&context);
	return plan;
}

/* plan_supposing: plans a query as if index tables existed */
static PlannedStmt *
plan_supposing(Query *query, const char *sql, int options, List *facts)
{
	PlannedStmt *result;

	supposing_facts = facts;
	WHILE_SET(supposing_query, query, result = pg_plan_query_compat(query, sql, options, NULL));
	return result;
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
			appendStringInfo(&names, "%s%s", n++ > 0 ? ", " : "",
							 quote_identifier(get_rel_name(same->index_table)));
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

/*
 * is_about_another
 *		Returns whether the reason against an index table is that the query is about others.
 */
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
	appendStringInfo(&buf, "ALTER DATABASE %s SET session_preload_libraries = ",
					 quote_identifier(get_database_name(MyDatabaseId)));
	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS))
		(void) SplitDirectoriesString(now, ',', &libraries);
	else if (now[0] != '\0')
		appendStringInfoString(&buf, "(what it is now), ");
	foreach_ptr(char, library, libraries)
		appendStringInfo(&buf, "%s, ", quote_literal_cstr(library));
	appendStringInfo(&buf, "%s;", quote_literal_cstr(IT_SCHEMA));
	return buf.data;
}

/*
 * parse_query
 *		Parses a query, which may have parameters of any type, or be that of a cursor, whose
 *		options it sets.
 */
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
