/*-------------------------------------------------------------------------
 *
 * judge.c
 *	  Judges whether a key of a fact table should have an index table: resolves the
 *	  definition that create() would make of it, and profiles it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "catalog/heap.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "parser/scansup.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/rls.h"

#include "../catalog/definition_rows.h"
#include "../definition/fact_columns.h"
#include "../definition/field_spec.h"
#include "../definition/layout.h"
#include "../definition/request.h"
#include "../definition/resolve.h"
#include "../definition/users_text.h"
#include "../indextable.h"
#include "../maintain/fact_table.h"
#include "../place/place.h"
#include "../read/field_match.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/sql.h"
#include "judge.h"
#include "profile.h"

PG_FUNCTION_INFO_V1(indextable_field_at);

static void check_reader(Relation fact, DefinitionRow *row);
static List *partition_columns(Relation fact);

static char *field_text(FactDef *fact, const char *document, List *steps, Oid type);
static char *existing_index(Relation fact, AttrNumber doc, FieldSpec *spec, Oid type);
static bool same_path(FieldSpec *a, FieldSpec *b);
static bool index_serves(Relation index, AttrNumber doc, FieldSpec *spec, Oid type);

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
	FactDef    *factdef;

	if (filter != NULL)
		p->row->filter = check_filter(fact, filter);
	p->def = definition_resolve(p->row, fact, NULL, 0, &factdef);
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
 * Writes fields of index tables, so that create() takes them, and tells which index or
 * index table serves look-ups by one already.
 *-------------------------------------------------------------------------
 */

/*
 * indextable_field_at
 *		field_at(fact_table regclass, document name, field text, of_type boolean, OUT path
 *		text, OUT field_as text, OUT text_as text, OUT served text): writes a field so that
 *		create() takes it, with its type and as text; served is the index that it has, of its
 *		type or of any.  NULL: it cannot be a field.
 */
Datum
indextable_field_at(PG_FUNCTION_ARGS)
{
	Relation	fact;
	AttrNumber	doc;
	FactDef    *def = open_documents(PG_GETARG_OID(0), PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1)), &fact, &doc);
	const char *document = get_attname(def->relid, doc, false);
	FieldSpec  *spec = parse_field_spec(text_arg(fcinfo, 2, ""), true);
	Oid			type = OidIsValid(spec->type) ? spec->type : TEXTOID;
	List	   *steps = NIL;
	int			wildcards = 0;
	Datum		values[4] = {0};
	bool		isnull[4] = {true, true, true, true};

	for (int i = 0; i < spec->nsteps; i++)
	{
		steps = lappend(steps, spec->steps[i].name);
		wildcards += spec->steps[i].name == NULL;
	}
	if (wildcards <= 1)
	{
		char	   *served = existing_index(fact, doc, spec, PG_GETARG_BOOL(3) ? type : InvalidOid);

		values[0] = CStringGetTextDatum(path_text(steps));
		values[1] = CStringGetTextDatum(field_text(def, document, steps, type));
		values[2] = CStringGetTextDatum(field_text(def, document, steps, TEXTOID));
		memset(isnull, 0, sizeof(bool) * 3);
		isnull[3] = served == NULL;
		if (served != NULL)
			values[3] = CStringGetTextDatum(served);
	}
	relation_close(fact, NoLock);
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

/* field_text: returns a field of an index table, with a name of its own where the last member's would not do */
static char *
field_text(FactDef *fact, const char *document, List *steps, Oid type)
{
	StringInfoData text;
	char	   *name = NULL;
	bool		clashes = false;
	ListCell   *cell;

	initStringInfo(&text);
	appendStringInfoString(&text, path_text(steps));
	if (type != TEXTOID)
		appendStringInfo(&text, "::%s", field_type_name(type));
	foreach(cell, steps)
		if (lfirst(cell) != NULL)
		name = lfirst(cell);
	for (int i = 0; i < fact->npk && name != NULL; i++)
		clashes |= strcmp(get_attname(fact->relid, fact->pk_attno[i], false), name) == 0;
	if (name == NULL || name[0] == '\0' || strlen(name) >= NAMEDATALEN || SystemAttributeByName(name) != NULL || clashes)
	{
		/*
		 * The document's column cannot have the name of one of the primary
		 * key.
		 */
		char	   *own = psprintf("%s_%s", document, name == NULL || name[0] == '\0' ? "value" : name);

		for (int i = 0; i < fact->npk; i++)
			if (strcmp(get_attname(fact->relid, fact->pk_attno[i], false), own) == 0)
			{
				own = psprintf("field_%s", own);
				i = -1;
			}
		truncate_identifier(own, strlen(own), false);
		appendStringInfo(&text, " AS %s", quote_identifier(own));
	}
	return text.data;
}

/*
 * existing_index
 *		Returns which index table or index of a fact table has a field as its first, for
 *		people to read; NULL: none.  Its type is to be as given, or any if that is InvalidOid.
 *		doc is the column of the documents.
 */
static char *
existing_index(Relation fact, AttrNumber doc, FieldSpec *spec, Oid type)
{
	char	   *found = NULL;
	ListCell   *cell;

	foreach(cell, catalog_read_definitions(RelationGetRelid(fact), InvalidOid))
	{
		DefinitionRow *row = lfirst(cell);
		const char *document = get_attname(RelationGetRelid(fact), doc, false);

		if (!OidIsValid(row->replaces) && strcmp(row->document, document) == 0 &&
			same_path(parse_field_spec(linitial(row->key), false), spec) &&
			(!OidIsValid(type) || get_atttype(row->index_table, 1) == type))
			return psprintf("the index table %s%s%s%s%s", quoted_relation(row->index_table),
							row->filter != NULL ? ", for rows that pass its filter" : "",
							row->state != STATE_ACTIVE ? ", which is " : "",
							row->state != STATE_ACTIVE ? state_names[row->state] : "",
							is_async(row) ? ", asynchronously" : "");
	}
	foreach(cell, RelationGetIndexList(fact))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (found == NULL && index->rd_index->indisvalid && index_serves(index, doc, spec, type))
			found = psprintf("the index %s%s", quoted_relation(RelationGetRelid(index)),
							 RelationGetIndexPredicate(index) != NIL ? ", for rows that pass its condition" :
							 index->rd_rel->relam == GIN_AM_OID ? ", in no order" : "");
		index_close(index, AccessShareLock);
	}
	return found;
}

/* same_path: returns whether two fields are at the same place in documents */
static bool
same_path(FieldSpec *a, FieldSpec *b)
{
	if (a->column != NULL || b->column != NULL || a->nsteps != b->nsteps)
		return false;
	for (int i = 0; i < a->nsteps; i++)
		if (a->steps[i].wildcard != b->steps[i].wildcard ||
			(!a->steps[i].wildcard && strcmp(a->steps[i].name, b->steps[i].name) != 0))
			return false;
	return true;
}

/*
 * index_serves
 *		Returns whether an index serves look-ups by a field: a B-tree or a hash index whose first
 *		expression it is, or for the elements of an array GIN on the array or on the document.
 */
static bool
index_serves(Relation index, AttrNumber doc, FieldSpec *spec, Oid type)
{
	Node	   *expr = index->rd_index->indkey.values[0] == 0 ? linitial(RelationGetIndexExpressions(index)) : NULL;
	int			n = 0;

	if (spec->multi)
	{
		while (!spec->steps[n].wildcard)
			n++;
		return index->rd_rel->relam == GIN_AM_OID &&
			(expr == NULL ? index->rd_index->indkey.values[0] == doc :
			 expression_is_path(doc, spec->steps, n, bare_value(expr), 1, false));
	}
	if (expr == NULL || (index->rd_rel->relam != BTREE_AM_OID && index->rd_rel->relam != HASH_AM_OID) ||
		(OidIsValid(type) && exprType(expr) != type))
		return false;
	expr = without_casts(expr);
	return expression_is_path(doc, spec->steps, spec->nsteps, expr, 1, true) ||
		expression_is_path(doc, spec->steps, spec->nsteps, expr, 1, false);
}
