/*-------------------------------------------------------------------------
 *
 * judge.c
 *	  Judges whether a key of a fact table should have an index table: resolves the
 *	  definition that create() would make of it, and profiles it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rls.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../read/plan.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/sql.h"
#include "advise.h"

PG_FUNCTION_INFO_V1(indextable_field_parts);
PG_FUNCTION_INFO_V1(indextable_index_serves);

static void check_reader(Relation fact, DefinitionRow *row);
static List *partition_columns(Relation fact);

/* new_request: returns the definition of an index table with a key, apart from that as create() has it by default */
DefinitionRow *
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
Relation
open_judged(Oid relid, DefinitionRow *row, const char *document)
{
	Relation	fact = open_fact(relid, AccessShareLock);

	place_check_fact(fact, false);
	check_reader(fact, row);
	row->fact_table = RelationGetRelid(fact);
	if (foreign_leaves(row->fact_table) != NIL && stored_key(row->fact_table) == NIL)
		row->primary_key = partition_columns(fact);
	row->document = document_column(fact, document);
	return fact;
}

/* open_documents: opens a fact table likewise; returns what is known of it, and which column has the documents */
FactDef *
open_documents(Oid relid, const char *document, Relation *fact, AttrNumber *doc)
{
	DefinitionRow *row = new_request(NIL, NIL, NULL);

	*fact = open_judged(relid, row, document);
	*doc = get_attnum(relid, row->document);
	return make_fact_def(*fact, row->primary_key != NIL ? row->primary_key : stored_key(relid), NULL, CurrentMemoryContext);
}

/*
 * judge_key
 *		Collects the profile of the key in p->row, from a sample of at most so many rows and
 *		bytes.
 */
void
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
static void
check_reader(Relation fact, DefinitionRow *row)
{
	ListCell   *cell;
	bool		brings_code = row->filter != NULL;

	if (check_enable_rls(RelationGetRelid(fact), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot take a sample of table \"%s\" because row security applies to the current user",
						RelationGetRelationName(fact)),
				 errhint("Call the function as a user who may see all rows.")));
	if (owns_relation(RelationGetRelid(fact), GetUserId()))
		return;
	foreach(cell, list_concat_copy(row->key, row->include))
	{
		FieldSpec  *spec = parse_field_spec(lfirst(cell), true);

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

	for (int i = 0; i < spec->nsteps; i++)
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
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, steps)
		append_path_step(&text, lfirst(cell), false);
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
	Relation	index = try_relation_open(PG_GETARG_OID(0), AccessShareLock);
	AttrNumber	doc = PG_GETARG_INT16(1);
	FieldSpec  *spec = parse_field_spec(text_arg(fcinfo, 2, ""), true);
	Oid			type = PG_ARGISNULL(3) ? InvalidOid : PG_GETARG_OID(3);
	Node	   *expr;
	bool		serves = false;
	int			n = 0;

	/* The snapshot of the caller may see an index that is gone. */
	if (index == NULL)
		PG_RETURN_BOOL(false);
	if (index->rd_index == NULL)
		elog(ERROR, "\"%s\" is not an index", RelationGetRelationName(index));
	expr = index->rd_index->indkey.values[0] == 0 ? linitial(RelationGetIndexExpressions(index)) : NULL;
	if (spec->multi)
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
