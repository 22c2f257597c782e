/*-------------------------------------------------------------------------
 *
 * what_if.c
 *	  Implements indextable.explain(query, what_if), which tells what a query would be like with index tables
 *	  that do not exist.
 *
 * Calls of create() are read and resolved as create() does it, up to where it would make a table.  A sample of
 * the fact table's rows tells how many entries there would be, of which sizes and which values; from these
 * come the statistics that ANALYZE would have.  With the definitions and the statistics the query is planned
 * as if the index tables existed (catalog/supposed.c), and once without them.  Nothing is executed or written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../reasons/reasons.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "advise.h"

PG_FUNCTION_INFO_V1(indextable_explain_what_if);

/* The number of entries of which statistics are made. */
#define KEPT_ENTRIES	30000

/* The columns of the result. */
enum
{
	COLUMN_FACT_TABLE,
	COLUMN_INDEX_TABLE,
	COLUMN_USED,
	COLUMN_REASON,
	COLUMN_ENTRIES,
	COLUMN_BYTES,
	COLUMN_INSERT_COST,
	COLUMN_COST,
	COLUMN_COST_WITHOUT,
	COLUMNS
};

/* An index table that is asked about. */
typedef struct Supposition
{
	Oid			fact;
	SupposedTable table;
	int64		bytes;
	double		insert_cost;
	char	   *refused;		/* why create() would fail; NULL: it would not */
} Supposition;

static List *parse_calls(const char *text);
static List *create_arguments(Node *target);
static Supposition *suppose(List *arguments, List **facts);
static SupposedFact *fact_of(List **facts, Relation fact, DefinitionRow *row);
static Oid	unused_oid(void);
static void judge_sizes(Supposition *s, Profile *p, bool is_async);
static void return_supposition(ReturnSetInfo *rsinfo, Supposition *s, List *noted, Cost with, Cost without);
static Opinion *opinion_of(List *noted, Oid fact, Oid index_table);
static void return_opinion(ReturnSetInfo *rsinfo, Opinion *opinion, Cost with, Cost without);

/*
 * indextable_explain_what_if
 *		explain(query text, what_if text) returns what explain() does of the index tables that there are, with
 *		those that calls of create() ask for first, and their numbers.
 */
Datum
indextable_explain_what_if(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Opinions	noted = {.cxt = CurrentMemoryContext};
	Opinions	unused = {.cxt = CurrentMemoryContext};
	List	   *supposed = NIL;
	List	   *facts = NIL;
	char	   *sql;
	Cost		without;
	Cost		with;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	notice_not_used();
	sql = TextDatumGetCString(PG_GETARG_DATUM(0));
	foreach_ptr(List, arguments, PG_ARGISNULL(1) ? NIL : parse_calls(TextDatumGetCString(PG_GETARG_DATUM(1))))
		supposed = lappend(supposed, suppose(arguments, &facts));
	without = plan_explained(sql, PLANNER_ON, NIL, &unused)->planTree->total_cost;
	with = plan_explained(sql, PLANNER_ON, facts, &noted)->planTree->total_cost;
	foreach_ptr(Supposition, s, supposed)
		return_supposition(rsinfo, s, noted.list, with, without);
	foreach_ptr(Opinion, opinion, noted.list)
	{
		bool		shown = false;

		foreach_ptr(Supposition, s, supposed)
			shown |= s->table.relid == opinion->index_table ||
			(!OidIsValid(opinion->index_table) && s->fact == opinion->fact);
		if (!shown)
			return_opinion(rsinfo, opinion, with, without);
	}
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 * Reads the calls of create().
 *-------------------------------------------------------------------------
 */

/*
 * parse_calls
 *		Returns the arguments of calls of create() (List * of Const *), which are written one after the other,
 *		each with or without SELECT.
 *
 * The server's parser knows the names, the types and the defaults of the arguments, and what create() itself
 * says of those that are wrong, it says here.  So these are calls as they would be run, and as advise()
 * prints them.
 */
static List *
parse_calls(const char *text)
{
	const char *start = text +strspn(text, " \t\r\n");
	const char *prefix = pg_strncasecmp(start, "select", 6) == 0 ? "" : "SELECT ";
	const char *sql = psprintf("%s%s", prefix, text);
	ParseContext context;
	List	   *result = NIL;

	push_parse_context(&context, "what_if", text, strlen(prefix), 0);
	foreach_node(RawStmt, statement, pg_parse_query(sql))
	{
		Oid		   *types = NULL;
		int			ntypes = 0;
		List	   *queries = pg_analyze_and_rewrite_varparams(statement, sql, &types, &ntypes, NULL);
		Query	   *query = list_length(queries) == 1 ? linitial(queries) : NULL;
		bool		plain = query != NULL && query->commandType == CMD_SELECT && query->rtable == NIL &&
			query->jointree->quals == NULL;

		foreach_node(TargetEntry, target, plain ? query->targetList : NIL)
			result = lappend(result, create_arguments((Node *) target->expr));
		if (!plain)
			(void) create_arguments(NULL);
	}
	pop_parse_context(&context);
	if (result == NIL)
		(void) create_arguments(NULL);
	return result;
}

/* create_arguments: returns the arguments of a call of create(), and refuses anything else */
static List *
create_arguments(Node *target)
{
	FuncExpr   *call = (FuncExpr *) target;

	if (target == NULL || !IsA(target, FuncExpr) ||
		get_func_namespace(call->funcid) != get_namespace_oid(IT_SCHEMA, false) ||
		strcmp(get_func_name(call->funcid), "create") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("what_if must be calls of indextable.create()"),
				 errhint("For example: what_if => $$indextable.create('person_by_town', 'person', '{town}')$$.")));
	call = (FuncExpr *) eval_const_expressions(NULL, target);
	foreach_ptr(Node, argument, call->args)
	{
		if (!IsA(argument, Const))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the arguments of indextable.create() in what_if must be constants")));
	}
	return call->args;
}

/*-------------------------------------------------------------------------
 * Supposes that an index table exists.
 *-------------------------------------------------------------------------
 */

/*
 * suppose
 *		Returns what an index table would be like that a call of create() makes, and adds it to those of its
 *		fact table in *facts, unless create() would fail.
 *
 * Only who might create it may ask, as fields and filters are evaluated as the owner of the fact table.
 */
static Supposition *
suppose(List *arguments, List **facts)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	Supposition *result = palloc0(sizeof(Supposition));
	CreateCall	call = {0};
	Profile    *p = palloc0(sizeof(Profile));
	DefinitionRow *row = &call.row;
	Relation	fact;
	SupposedFact *supposed;

	InitFunctionCallInfoData(*fcinfo, NULL, list_length(arguments), InvalidOid, NULL, NULL);
	foreach_node(Const, argument, arguments)
	{
		fcinfo->args[foreach_current_index(argument)].value = argument->constvalue;
		fcinfo->args[foreach_current_index(argument)].isnull = argument->constisnull;
	}
	read_create_call(fcinfo, &call);
	if (keeps_totals(row))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("what_if knows no tables of totals")));
	fact = open_fact(row->fact_table, AccessShareLock, NOT_WAITING);
	require_owner(RelationGetRelid(fact));
	check_reader(fact, row);
	(void) resolve_create_call(&call, fact);
	(void) target_schema(call.name, fact, &call.name);
	row->state = STATE_ACTIVE;

	AS_OWNER(fact->rd_rel->relowner);
	{
		supposed = fact_of(facts, fact, row);
		p->def = definition_suppose(supposed->def, fact, row);
	}
	END_AS_OWNER();
	p->row = row;
	p->fact_name = quoted_relation(RelationGetRelid(fact));
	p->keep = KEPT_ENTRIES;
	profile_table(p, fact, SAMPLE_ROWS, SAMPLE_BYTES / 4);
	result->fact = RelationGetRelid(fact);
	result->table.relid = p->def->relid = unused_oid();
	result->table.name = p->def->name = call.name;
	result->table.entries = p->entries;
	result->table.recorded = VALUES_RECORDED | p->lacking;
	result->table.ncolumns = p->def->layout.desc->natts;
	result->table.statistics = entry_statistics(p->def, p->kept, p->nkept, p->entries);
	judge_sizes(result, p, is_async(row));
	p->def->layout.covering = p->widest <= p->def->layout.max_covered_bytes && primary_key_can_cover(p->def);
	if (p->mismatching > 0 && !is_async(row) && !p->def->spec.skip_mismatch)
	{
		result->refused = p->mismatch != NULL ? p->mismatch : pstrdup("some values cannot be cast");
		p->def->active = false;
	}
	supposed->tables = lappend(supposed->tables, &result->table);
	relation_close(fact, NoLock);
	return result;
}

/* fact_of: returns what is supposed of a fact table, which it adds to *facts if it is not there */
static SupposedFact *
fact_of(List **facts, Relation fact, DefinitionRow *row)
{
	SupposedFact *result;

	foreach_ptr(SupposedFact, known, *facts)
	{
		if (known->def->relid == RelationGetRelid(fact))
			return known;
	}
	result = palloc0(sizeof(SupposedFact));
	result->def = definition_uncached(fact, row->primary_key);
	*facts = lappend(*facts, result);
	return result;
}

/*
 * unused_oid
 *		Returns an OID that no table has, other than those that this function has returned before.  The counter of
 *		the server is left alone, which would write WAL.
 */
static Oid
unused_oid(void)
{
	static Oid	next = InvalidOid;

	do
	{
		next--;
	} while (next < FirstNormalObjectId || SearchSysCacheExists1(RELOID, ObjectIdGetDatum(next)));
	return next;
}

/*
 * judge_sizes
 *		Sets how large an index table would be, and what an insert would cost, as profile() says it.
 */
static void
judge_sizes(Supposition *s, Profile *p, bool is_async)
{
	StringInfoData query;
	Rows		rows;

	/* Async: the row index, too, which has the primary key only. */
	initStringInfo(&query);
	appendStringInfo(&query,
					 "SELECT (CASE WHEN %d = %d THEN s.denormalized ELSE s.partial END"
					 " + CASE WHEN $2 THEN ceil(p.entries * indextable_internal.tuple_pages(8, p.ident_bytes - p.key_bytes) / 0.9)"
					 " * current_setting('block_size')::float8 ELSE 0 END)::bigint,"
					 " ceil(p.entries * indextable_internal.tuple_pages(8, CASE WHEN p.covered THEN p.entry_bytes ELSE p.ident_bytes END) / 0.9),"
					 " CASE WHEN p.multi THEN CASE WHEN $2 THEN 0.2 ELSE 1.9 END ELSE CASE WHEN $2 THEN 0.4 ELSE 2.3 END END::float8"
					 " FROM (SELECT ($1).*) p, indextable_internal.sizes($1, ($1).entries) s",
					 (int) p->def->spec.strategy, (int) STRATEGY_DENORMALIZED);
	rows = query_profile(query.data, profile_row(p, NIL), is_async);
	s->bytes = DatumGetInt64(row_value(&rows, 0, 1));
	s->table.index_pages = DatumGetFloat8(row_value(&rows, 0, 2));
	s->insert_cost = DatumGetFloat8(row_value(&rows, 0, 3));
}

/*-------------------------------------------------------------------------
 * Returns what was found out.
 *-------------------------------------------------------------------------
 */

static void
return_supposition(ReturnSetInfo *rsinfo, Supposition *s, List *noted, Cost with, Cost without)
{
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {0};
	Opinion    *opinion = opinion_of(noted, s->fact, s->table.relid);

	if (opinion == NULL)
		opinion = opinion_of(noted, s->fact, InvalidOid);
	values[COLUMN_FACT_TABLE] = ObjectIdGetDatum(s->fact);
	values[COLUMN_INDEX_TABLE] = CStringGetTextDatum(s->table.name);
	values[COLUMN_USED] = BoolGetDatum(s->refused == NULL && opinion != NULL && opinion->used);
	values[COLUMN_REASON] = CStringGetTextDatum(s->refused != NULL ? psprintf("create() would fail: %s", s->refused) :
												opinion != NULL ? opinion->reason :
												"the query does not read its fact table");
	values[COLUMN_ENTRIES] = Int64GetDatum((int64) s->table.entries);
	values[COLUMN_BYTES] = Int64GetDatum(s->bytes);
	values[COLUMN_INSERT_COST] = Float8GetDatum(s->insert_cost);
	values[COLUMN_COST] = Float8GetDatum(with);
	values[COLUMN_COST_WITHOUT] = Float8GetDatum(without);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* opinion_of: returns what was thought of an index table, or of InvalidOid: all of them; or NULL */
static Opinion *
opinion_of(List *noted, Oid fact, Oid index_table)
{
	foreach_ptr(Opinion, opinion, noted)
	{
		if (opinion->fact == fact && opinion->index_table == index_table)
			return opinion;
	}
	return NULL;
}

/* return_opinion: returns what was thought of an index table that exists */
static void
return_opinion(ReturnSetInfo *rsinfo, Opinion *opinion, Cost with, Cost without)
{
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {0};

	nulls[COLUMN_INDEX_TABLE] = !OidIsValid(opinion->index_table);
	if (!nulls[COLUMN_INDEX_TABLE])
		values[COLUMN_INDEX_TABLE] =
			CStringGetTextDatum(OidOutputFunctionCall(F_REGCLASSOUT, ObjectIdGetDatum(opinion->index_table)));
	values[COLUMN_FACT_TABLE] = ObjectIdGetDatum(opinion->fact);
	values[COLUMN_USED] = BoolGetDatum(opinion->used);
	values[COLUMN_REASON] = CStringGetTextDatum(opinion->reason);
	nulls[COLUMN_ENTRIES] = nulls[COLUMN_BYTES] = nulls[COLUMN_INSERT_COST] = true;
	values[COLUMN_COST] = Float8GetDatum(with);
	values[COLUMN_COST_WITHOUT] = Float8GetDatum(without);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}
