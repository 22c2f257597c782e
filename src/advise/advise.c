/*-------------------------------------------------------------------------
 *
 * advise.c
 *	  Provides indextable.advise() and indextable.profile(), which tell whether a key
 *	  should have an index table, and which, and the notice of create() that an index
 *	  table may cost more than it saves.
 *
 * The numbers are collected here, in C.  What is made of them is SQL, in the install script:
 * indextable_internal.verdict() decides, and others write what people read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../match/match.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "advise.h"

PG_FUNCTION_INFO_V1(indextable_advise);
PG_FUNCTION_INFO_V1(indextable_profile);
PG_FUNCTION_INFO_V1(indextable_judge_key);
PG_FUNCTION_INFO_V1(indextable_field_parts);
PG_FUNCTION_INFO_V1(indextable_index_serves);

/* The arguments of advise() and profile(), in their order. */
enum
{
	ARG_FACT_TABLE,
	ARG_KEY,
	ARG_INCLUDE,
	ARG_FILTER,
	ARG_DOCUMENT,
	ARG_SAMPLE_ROWS
};

#define MIN_SAMPLE_ROWS		100
#define MAX_SAMPLE_ROWS		1000000

/* The number of rows that create() looks at, which takes a few milliseconds. */
#define NOTICE_ROWS			1000

/* It says nothing of tables with fewer rows, and neither does reason_against(). */
#define MIN_NOTICE_ROWS		1000

/*
 * The number of characters in a line of advice, so that a terminal of 100 columns shows it
 * beside its topic.
 */
#define LINE_COLUMNS		86

/* The number of bytes of documents that advise() without a key reads for each field. */
#define JUDGED_BYTES		(SAMPLE_BYTES / 4)

typedef struct Notice
{
	Profile		profile;
	MemoryContext cxt;			/* for reason and hint */
	char	   *reason;			/* NULL: there is no need for a notice */
	char	   *hint;
} Notice;

static void advise_on_new(DefinitionRow *row, IndexDef *def);
static void evaluate_new_index_table(void *arg);
static bool may_read(Oid relid);
static int	sample_rows(FunctionCallInfo fcinfo);
static char *fact_name(Oid relid);
static Datum profile_of_arguments(FunctionCallInfo fcinfo);
static void return_rows(const Rows *rows, ReturnSetInfo *rsinfo);
static int	words_that_fit(const char *text, int columns);
static List *partition_columns(Relation fact);
static DefinitionRow *new_request(List *key, List *include, char *filter);
static Relation open_judged(Oid relid, DefinitionRow *row, const char *document);
static void judge_key(Profile *p, Relation fact, int rows, double bytes);

/*
 * indextable_advise
 *		advise(fact_table regclass, key text[], include text[], filter text, document
 *		name, sample_rows integer, OUT topic text, OUT advice text)
 */
Datum
indextable_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	fact;
	AttrNumber	doc;
	char	   *document;
	Oid			types[] = {REGCLASSOID, TEXTOID, INT4OID, NAMEOID};
	Datum		values[4];
	Rows		rows;

	InitMaterializedSRF(fcinfo, 0);
	if (!PG_ARGISNULL(ARG_KEY) || PG_ARGISNULL(ARG_FACT_TABLE))
	{
		rows = query_profile("SELECT * FROM indextable_internal.advise_key($1)", profile_of_arguments(fcinfo),
							 false);
		return_rows(&rows, rsinfo);
		return (Datum) 0;
	}
	if (!PG_ARGISNULL(ARG_INCLUDE) || !PG_ARGISNULL(ARG_FILTER))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("include and filter need a key")));

	/*
	 * What is wrong with the arguments is reported before SQL runs, in whose
	 * context it would be.
	 */
	(void) profile_row_type(false);
	document = PG_ARGISNULL(ARG_DOCUMENT) ? NULL : NameStr(*PG_GETARG_NAME(ARG_DOCUMENT));
	(void) open_documents(PG_GETARG_OID(ARG_FACT_TABLE), document, &fact, &doc);
	relation_close(fact, NoLock);
	values[0] = PG_GETARG_DATUM(ARG_FACT_TABLE);
	values[1] = CStringGetTextDatum(fact_name(PG_GETARG_OID(ARG_FACT_TABLE)));
	values[2] = Int32GetDatum(sample_rows(fcinfo));
	values[3] = PG_GETARG_DATUM(ARG_DOCUMENT);
	rows = query_as_caller(InvalidOid, psprintf("SELECT * FROM indextable_internal.advise_fields($1, $2, %s, $3)",
												document == NULL ? "NULL" : "$4"), document == NULL ? 3 : 4, types, values);
	return_rows(&rows, rsinfo);
	return (Datum) 0;
}

/*
 * indextable_profile
 *		profile(fact_table regclass, key text[], include text[], filter text, document
 *		name, sample_rows integer, OUT ...)
 */
Datum
indextable_profile(PG_FUNCTION_ARGS)
{
	Rows		rows = query_profile("SELECT * FROM indextable_internal.profile_columns($1)",
									 profile_of_arguments(fcinfo), false);

	PG_RETURN_DATUM(heap_copy_tuple_as_datum(rows.tuples[0], BlessTupleDesc(rows.desc)));
}

/*
 * indextable_judge_key
 *		judge_key(fact_table regclass, fact_name text, key text[], document name, sample_rows
 *		integer): returns the numbers by which advise() without a key judges the key that it proposes.
 */
Datum
indextable_judge_key(PG_FUNCTION_ARGS)
{
	Profile    *p = palloc0(sizeof(Profile));
	Relation	fact;

	require_arg(fcinfo, 0, "fact_table");
	require_arg(fcinfo, 2, "key");
	require_arg(fcinfo, 4, "sample_rows");
	p->row = new_request(field_list(fcinfo, 2, "key"), NIL, NULL);
	check_request(p->row);
	p->fact_name = text_arg(fcinfo, 1, NULL);
	p->document = PG_ARGISNULL(3) ? NULL : NameStr(*PG_GETARG_NAME(3));
	fact = open_judged(PG_GETARG_OID(0), p->row, p->document);
	judge_key(p, fact, PG_GETARG_INT32(4), JUDGED_BYTES);
	relation_close(fact, NoLock);
	return profile_row(p, NIL);
}

void
advise_init(void)
{
	index_table_created = advise_on_new;
}

/*
 * advise_on_new
 *		Raises a notice if an index table that was just created may cost more than it saves, or
 *		has an entry for many rows that lack a key field.
 *
 * It looks at some rows.  An error that one of them raises does not make create()
 * fail.  Functions of users may do anything, and so they are not called for advice.
 * A catalog of the version before has no verdicts.
 */
static void
advise_on_new(DefinitionRow *row, IndexDef *def)
{
	Notice		notice = {.profile = {.row = row,.def = def},.cxt = CurrentMemoryContext};
	Profile    *p = &notice.profile;
	ErrorData  *error;

	if (!setting_advice || index_calls_users_code(def) || !may_read(row->fact_table) ||
		elsewhere->leaves(row->fact_table) != NIL)
		return;
	if (def->spec.is_unique || catalog_is_old())
		return;
	error = run_catching_row_errors(evaluate_new_index_table, &notice);
	if (error == NULL && notice.reason != NULL)
		ereport(NOTICE,
				(errmsg("index table \"%s\" may cost more than it saves", def->name),
				 errdetail("%s", notice.reason),
				 notice.hint != NULL ? errhint("%s", notice.hint) :
				 errhint("See indextable.advise() for more. To turn these notices off, run SET indextable.advice = off;")));
	else if (error == NULL && !def->spec.sparse && !def->spec.multi && p->documents >= MIN_NOTICE_ROWS &&
			 p->missing > (p->sampled - p->filtered) / 2)
		ereport(NOTICE,
				(errmsg("most entries of index table \"%s\" have NULL in their key", def->name),
				 errdetail("Of " INT64_FORMAT " rows that were looked at, " INT64_FORMAT " lack a key field.",
						   p->sampled - p->filtered, p->missing),
				 errhint("If no query looks for these rows, run SELECT indextable.alter(%s, sparse => true);",
						 sql_literal(quoted_relation(def->relid)))));
}

/*
 * evaluate_new_index_table
 *		Finds out whether a new index table needs a notice, and with which reason and
 *		hint.
 */
static void
evaluate_new_index_table(void *arg)
{
	Notice	   *notice = arg;
	Profile    *p = &notice->profile;
	Relation	fact = relation_open(p->row->fact_table, NoLock);
	MemoryContext old;
	char	   *reason;
	char	   *filter;
	Rows		rows;

	profile_table(p, fact, NOTICE_ROWS, SAMPLE_BYTES);
	relation_close(fact, NoLock);
	rows = query_profile("SELECT * FROM indextable_internal.reason_against($1, $2)", profile_row(p, NIL),
						 p->def->spec.async);
	reason = row_text(&rows, 0, 1);
	filter = row_text(&rows, 0, 2);
	old = MemoryContextSwitchTo(notice->cxt);
	if (reason != NULL)
		notice->reason = pstrdup(reason);
	if (filter != NULL)
		notice->hint = psprintf("To leave these entries out, run SELECT indextable.alter(%s, filter => %s);",
								sql_literal(quoted_relation(p->def->relid)), sql_literal(filter));
	MemoryContextSwitchTo(old);
}

/* may_read: returns whether the caller may see all rows */
static bool
may_read(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

/* sample_rows: returns the argument of this name */
static int
sample_rows(FunctionCallInfo fcinfo)
{
	int			rows = PG_ARGISNULL(ARG_SAMPLE_ROWS) ? SAMPLE_ROWS : PG_GETARG_INT32(ARG_SAMPLE_ROWS);

	if (rows < MIN_SAMPLE_ROWS || rows > MAX_SAMPLE_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample_rows must be between %d and %d", MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS)));
	return rows;
}

/* fact_name: returns the name of a table, with its schema if the caller's search_path needs it */
static char *
fact_name(Oid relid)
{
	return OidOutputFunctionCall(F_REGCLASSOUT, ObjectIdGetDatum(relid));
}

/*
 * profile_of_arguments
 *		Collects the numbers of the key and the fact table that the arguments name, and
 *		returns them as a row.
 */
static Datum
profile_of_arguments(FunctionCallInfo fcinfo)
{
	Profile    *p = palloc0(sizeof(Profile));
	DefinitionRow *row;
	int			rows = sample_rows(fcinfo);
	Relation	fact;
	List	   *same = NIL;

	require_arg(fcinfo, ARG_FACT_TABLE, "fact_table");
	require_arg(fcinfo, ARG_KEY, "key");
	row = new_request(field_list(fcinfo, ARG_KEY, "key"),
					  PG_ARGISNULL(ARG_INCLUDE) ? NIL : field_list(fcinfo, ARG_INCLUDE, "include"),
					  text_arg(fcinfo, ARG_FILTER, NULL));
	check_request(row);
	(void) profile_row_type(false);
	p->document = PG_ARGISNULL(ARG_DOCUMENT) ? NULL : NameStr(*PG_GETARG_NAME(ARG_DOCUMENT));
	fact = open_judged(PG_GETARG_OID(ARG_FACT_TABLE), row, p->document);
	p->fact_name = fact_name(RelationGetRelid(fact));
	p->row = row;
	judge_key(p, fact, rows, SAMPLE_BYTES);
	relation_close(fact, NoLock);
	foreach_ptr(DefinitionRow, existing, catalog_read_definitions(row->fact_table, InvalidOid))
	{
		if (!OidIsValid(existing->replaces) && same_strings(existing->key, row->key))
			same = lappend(same, quoted_relation(existing->index_table));
	}
	return profile_row(p, same);
}

/*
 * query_profile
 *		Returns the rows of a query of the numbers of a key, $1; $2 is whether its index table
 *		is asynchronous.
 */
Rows
query_profile(const char *query, Datum profile, bool is_async)
{
	Oid			types[] = {profile_row_type(false), BOOLOID};
	Datum		values[] = {profile, BoolGetDatum(is_async)};

	return query_as_caller(InvalidOid, query, 2, types, values);
}

/*
 * return_rows
 *		Adds the rows of a query, of a topic and an advice, to a result.  A
 *		sentence that is too long for a line goes on in rows without a topic.  A statement stays
 *		whole.
 */
static void
return_rows(const Rows *rows, ReturnSetInfo *rsinfo)
{
	for (uint64 i = 0; i < rows->n; i++)
	{
		Datum		topic = row_value(rows, i, 1);
		char	   *advice = row_text(rows, i, 2);
		bool		is_statement = advice[0] != '\0' && advice[strlen(advice) - 1] == ';';

		do
		{
			int			len = is_statement ? (int) strlen(advice) : words_that_fit(advice, LINE_COLUMNS);
			Datum		values[] = {topic, PointerGetDatum(cstring_to_text_with_len(advice, len))};
			bool		nulls[] = {false, false};

			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
			topic = CStringGetTextDatum("");
			advice += len + strspn(advice + len, " ");
		} while (*advice != '\0');
	}
}

/*
 * words_that_fit
 *		Returns the number of bytes of the words of a text that a line has room for: those of
 *		the first word, at least.
 */
static int
words_that_fit(const char *text, int columns)
{
	int			indent = strspn(text, " ");
	int			end = strlen(text);

	while (end > indent && pg_mbstrlen_with_len(text, end) > columns)
	{
		int			space = end - 1;

		while (space > indent && text[space] != ' ')
			space--;
		if (space == indent)
			break;
		end = space;
	}
	return end;
}

/*-------------------------------------------------------------------------
 * Judges a key: resolves the definition that create() would make of it, and profiles it.
 *-------------------------------------------------------------------------
 */

/*
 * new_request
 *		Returns the definition of an index table with a key, apart from that as create() has
 *		it by default.
 */
static DefinitionRow *
new_request(List *key, List *include, char *filter)
{
	DefinitionRow *row = palloc0(sizeof(DefinitionRow));

	row->key = key;
	row->include = include;
	row->filter = filter;
	row->strategy = include != NIL ? STRATEGY_PARTIAL : STRATEGY_NORMALIZED;
	row->maintenance = MAINTENANCE_TRANSACTIONAL;
	row->on_mismatch = MISMATCH_ERROR;
	row->state = STATE_ACTIVE;
	return row;
}

/*
 * open_judged
 *		Opens a fact table whose documents, in the column of that name, the caller may have
 *		sampled, and completes a request with what identifies its rows.
 */
static Relation
open_judged(Oid relid, DefinitionRow *row, const char *document)
{
	Relation	fact = open_fact(relid, AccessShareLock, NOT_WAITING);

	place_check_fact(fact, false);
	check_reader(fact, row);
	row->fact_table = RelationGetRelid(fact);
	if (elsewhere->leaves(row->fact_table) != NIL && stored_key(row->fact_table) == NIL)
		row->primary_key = partition_columns(fact);
	row->document = document_column(fact, document, row);
	return fact;
}

/*
 * open_documents
 *		Opens a fact table as open_judged() does; returns its definition, and sets *doc to the
 *		column with the documents.
 */
FactDef *
open_documents(Oid relid, const char *document, Relation *fact, AttrNumber *doc)
{
	DefinitionRow *row = new_request(NIL, NIL, NULL);

	*fact = open_judged(relid, row, document);
	if (row->document == NULL)
		row->document = document_column(*fact, document, NULL);
	*doc = get_attnum(relid, row->document);
	return make_fact_def(*fact, relid, row->primary_key != NIL ? row->primary_key : stored_key(relid), NULL,
						 CurrentMemoryContext);
}

/*
 * judge_key
 *		Collects the profile of the key in p->row, from a sample of at most this number of
 *		rows and bytes.
 */
static void
judge_key(Profile *p, Relation fact, int rows, double bytes)
{
	char	   *filter = p->row->filter;

	if (filter != NULL)
		p->row->filter = check_filter(fact, filter);
	p->def = definition_resolve(p->row, fact, NULL, 0);
	p->row->filter = filter;
	(void) definition_complete_columns(p->def, fact, layout_desc(p->def, fact));
	profile_table(p, fact, rows, bytes);
}

/*
 * check_reader
 *		Refuses callers who must not see all rows, and expressions that callers must
 *		not have evaluated.
 *
 * A sample shows values of any row, so row security must not apply to the caller.
 * Entries are made as the owner of the table, so nobody else may pass a filter, an
 * expression or a cast of a column, which can call any function.
 */
void
check_reader(Relation fact, DefinitionRow *row)
{
	bool		brings_code = row->filter != NULL;

	if (check_enable_rls(RelationGetRelid(fact), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot take a sample of table \"%s\" because row security applies to the current user",
						RelationGetRelationName(fact)),
				 errhint("Call the function as a user who may see all rows.")));
	if (owns_relation(RelationGetRelid(fact), GetUserId()))
		return;
	foreach_ptr(char, field, list_concat_copy(row->key, row->include))
	{
		FieldSpec  *spec = parse_field_spec(field, true);

		brings_code |= spec->expression != NULL || (spec->column != NULL && OidIsValid(spec->type));
	}
	if (brings_code)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of table %s", RelationGetRelationName(fact)),
				 errdetail("Filters, expressions and casts of columns are evaluated as the owner of the table.")));
}

/*
 * partition_columns
 *		Returns the columns that a table is partitioned by, which stand for its primary key
 *		as long as nobody has named one; NIL: it is partitioned by expressions.
 */
static List *
partition_columns(Relation fact)
{
	PartitionKey key = RelationGetPartitionKey(fact);
	List	   *names = NIL;
	int			i;

	for (i = 0; i < key->partnatts && key->partattrs[i] != 0; i++)
		names = lappend(names, get_attname(RelationGetRelid(fact), key->partattrs[i], false));
	return i == key->partnatts ? names : NIL;
}

/*-------------------------------------------------------------------------
 * What SQL asks of fields.
 *-------------------------------------------------------------------------
 */

/*
 * indextable_field_parts
 *		field_parts(field text, with_type boolean, OUT path text, OUT name text, OUT type regtype,
 *		OUT spelled text): returns the path of a field as create() takes it, the name of the last
 *		member if there is one, and the type, also as it is spelled in fields: text if it has none,
 *		or if it is not asked for.  NULL: it cannot be a field of an index table, or has no path.
 */
Datum
indextable_field_parts(PG_FUNCTION_ARGS)
{
	FieldSpec  *spec = parse_field_spec(text_arg(fcinfo, 0, ""), PG_GETARG_BOOL(1));
	Oid			type = OidIsValid(spec->type) ? spec->type : TEXTOID;
	List	   *steps = NIL;
	char	   *name = NULL;
	int			wildcards = 0;
	Datum		values[4] = {0};
	bool		isnull[4] = {true, true, true, true};

	for (int i = 0; i < spec->nsteps && spec->column == NULL; i++)
	{
		steps = lappend(steps, spec->steps[i].name);
		wildcards += spec->steps[i].name == NULL;
		if (spec->steps[i].name != NULL)
			name = spec->steps[i].name;
	}
	if (steps != NIL && wildcards <= 1)
	{
		values[0] = CStringGetTextDatum(path_text(steps));
		values[1] = name == NULL ? (Datum) 0 : CStringGetTextDatum(name);
		values[2] = ObjectIdGetDatum(type);
		values[3] = CStringGetTextDatum(field_type_name(type));
		memset(isnull, 0, sizeof(isnull));
		isnull[1] = name == NULL;
	}
	return row_result(fcinfo, values, isnull);
}

/* path_text: returns a path as it is written in a field */
char *
path_text(List *steps)
{
	StringInfoData text;

	initStringInfo(&text);
	foreach_ptr(char, step, steps)
		append_path_step(&text, step, false);
	return text.data;
}

/*
 * indextable_index_serves
 *		index_serves(index regclass, document smallint, field text, of_type regtype): returns
 *		whether an index serves look-ups by a field of the documents in this column, of this type,
 *		or of any if that is NULL.
 *
 * It is a B-tree or a hash index whose first expression the field is, or for the elements of an
 * array GIN on the array or on the document.
 */
Datum
indextable_index_serves(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Oid			table = IndexGetRelation(relid, true);
	AttrNumber	doc = PG_GETARG_INT16(1);
	FieldSpec  *spec = parse_field_spec(text_arg(fcinfo, 2, ""), true);
	Oid			type = PG_ARGISNULL(3) ? InvalidOid : PG_GETARG_OID(3);
	Relation	index;
	Node	   *expr;
	bool		serves = false;
	int			n = 0;

	if (!OidIsValid(table) && get_rel_name(relid) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index", get_rel_name(relid))));
	/* Nobody else may have it locked, nor wait for its lock. */
	if (OidIsValid(table) && pg_class_aclcheck(table, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(table));
	/* The snapshot of the caller may see an index that is gone. */
	index = OidIsValid(table) ? try_relation_open(relid, AccessShareLock) : NULL;
	if (index == NULL)
		PG_RETURN_BOOL(false);
	/* The server simplifies expressions, which may call functions. */
	AS_OWNER(index->rd_rel->relowner);
	{
		expr = index->rd_index->indkey.values[0] == 0 ? linitial(RelationGetIndexExpressions(index)) : NULL;
	}
	END_AS_OWNER();
	if (spec->multi && spec->column == NULL)
	{
		while (!spec->steps[n].wildcard)
			n++;
		serves = index->rd_rel->relam == GIN_AM_OID &&
			(expr == NULL ? index->rd_index->indkey.values[0] == doc :
			 expression_is_path(doc, spec->steps, n, bare_value(expr), 1, false));
	}
	else if (expr != NULL && (index->rd_rel->relam == BTREE_AM_OID || index->rd_rel->relam == HASH_AM_OID) &&
			 (!OidIsValid(type) || exprType(expr) == type))
	{
		expr = without_casts(expr);
		serves = expression_is_path(doc, spec->steps, spec->nsteps, expr, 1, true) ||
			expression_is_path(doc, spec->steps, spec->nsteps, expr, 1, false);
	}
	relation_close(index, AccessShareLock);
	PG_RETURN_BOOL(serves);
}
