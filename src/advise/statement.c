/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  Writes the statements that advise() recommends: calls of create(), and indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../definition/create_call.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "profile.h"
#include "statement.h"

static char *path_sql(Profile *p, Field *field, bool as_text);
static char *field_sql(Profile *p, Field *field, bool as_text);
static char *value_sql(Field *field, Datum value);
static bool is_taken(Profile *p, Relation fact, const char *name);
static char *free_name(Profile *p, Relation fact);

/* path_sql: returns a field's path into the document as SQL, up to its [*] if it has one */
static char *
path_sql(Profile *p, Field *field, bool as_text)
{
	const char *document = quote_identifier(p->row->document);
	PathStep   *steps = field->spec->steps;
	Datum	   *names = palloc(sizeof(Datum) * Max(field->plain_steps, 1));
	int			i;

	if (field->plain_steps == 0)
		return pstrdup(document);
	if (field->plain_steps == 1 && !steps[0].is_index)
		return psprintf("%s %s %s", document, as_text ? "->>" : "->",
						quote_literal_cstr(pnstrdup(steps[0].name, steps[0].len)));
	for (i = 0; i < field->plain_steps; i++)
		names[i] = PointerGetDatum(cstring_to_text_with_len(steps[i].name, steps[i].len));
	return psprintf("%s %s %s", document, as_text ? "#>>" : "#>",
					quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(
																						  construct_array(names, field->plain_steps, TEXTOID, -1, false, TYPALIGN_INT)))));
}

/*
 * field_sql
 *		Returns SQL over the fact table for a field's value, or for its text before
 *		the cast if as_text is set.
 */
static char *
field_sql(Profile *p, Field *field, bool as_text)
{
	char	   *type = format_type_with_typemod(field->type, field->typmod);

	if (field->spec->column != NULL)
		return field->convert == NULL ? pstrdup(quote_identifier(field->spec->column)) :
			psprintf("(%s)::%s", quote_identifier(field->spec->column), type);
	if (field->is_jsonb)
		return path_sql(p, field, false);
	if (as_text || field->type == TEXTOID)
		return path_sql(p, field, true);
	return psprintf("(%s)::%s", path_sql(p, field, true), type);
}

/*
 * value_sql
 *		Returns a value as an SQL literal that can be compared with what field_sql()
 *		gives as text.
 *
 * Filters compare texts, because a cast would fail for a value that does not fit.
 */
static char *
value_sql(Field *field, Datum value)
{
	if (field->spec->column == NULL && field->type == BOOLOID)
		return pstrdup(DatumGetBool(value) ? "'true'" : "'false'");
	return quote_literal_cstr(value_text(field->type, value));
}

/*
 * filter_without
 *		Returns the caller's filter, extended so that it leaves the n most common
 *		keys out; NULL if there is neither.
 */
char *
filter_without(Profile *p, int n)
{
	StringInfoData result;
	int			i;
	int			k;

	initStringInfo(&result);
	if (p->row->filter != NULL)
		appendStringInfo(&result, n > 0 ? "(%s) AND " : "%s", p->row->filter);
	if (p->def->nkeys == 1 && n > 0)
	{
		Field	   *field = &p->def->fields[0];

		appendStringInfo(&result, "%s %s", field_sql(p, field, true), n == 1 ? "<> " : "NOT IN (");
		for (i = 0; i < n; i++)
			appendStringInfo(&result, "%s%s", i > 0 ? ", " : "", value_sql(field, p->common[i].values[0]));
		appendStringInfoString(&result, n == 1 ? "" : ")");
	}
	for (i = 0; i < n && p->def->nkeys > 1; i++)
	{
		appendStringInfoString(&result, i > 0 ? " AND NOT (" : "NOT (");
		for (k = 0; k < p->def->nkeys; k++)
			appendStringInfo(&result, "%s%s = %s", k > 0 ? " AND " : "", field_sql(p, &p->def->fields[k], true),
							 value_sql(&p->def->fields[k], p->common[i].values[k]));
		appendStringInfoChar(&result, ')');
	}
	return result.len > 0 ? result.data : NULL;
}

/* fact_name: returns the name of the fact table, with its schema if the caller's search_path needs it */
char *
fact_name(Relation fact)
{
	return OidOutputFunctionCall(F_REGCLASSOUT, ObjectIdGetDatum(RelationGetRelid(fact)));
}

/* is_taken: returns whether a table has a name already, or one that was recommended */
static bool
is_taken(Profile *p, Relation fact, const char *name)
{
	ListCell   *cell;

	if (p->names != NULL)
	{
		foreach(cell, *p->names)
			if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return OidIsValid(get_relname_relid(name, RelationGetNamespace(fact)));
}

/*
 * free_name
 *		Returns a name for an index table that no table has: fact_by_field_field,
 *		with a number if that is taken.
 */
static char *
free_name(Profile *p, Relation fact)
{
	StringInfoData by;
	char	   *name;
	int			i;

	initStringInfo(&by);
	appendStringInfoString(&by, "by");
	for (i = 0; i < p->def->nkeys; i++)
		appendStringInfo(&by, "_%s", p->def->fields[i].spec->name);
	name = makeObjectName(RelationGetRelationName(fact), by.data, NULL);
	for (i = 2; is_taken(p, fact, name); i++)
		name = makeObjectName(RelationGetRelationName(fact), by.data, psprintf("%d", i));
	if (p->names != NULL)
		*p->names = lappend(*p->names, name);
	return pstrdup(quote_identifier(name));
}

/* create_statement: returns the call of create() that makes the index table of the verdict */
char *
create_statement(Profile *p, Relation fact, Strategy strategy, const char *filter, bool async, bool is_unique)
{
	DefinitionRow row = *p->row;

	if (strategy == STRATEGY_DENORMALIZED)
		row.include = NIL;
	row.strategy = strategy == STRATEGY_DENORMALIZED ? "denormalized" : row.include != NIL ? "partial" : "normalized";
	row.filter = (char *) filter;
	row.maintenance = async ? "async" : "transactional";
	row.is_unique = is_unique;
	row.on_mismatch = p->mismatching > 0 ? "skip" : "error";
	row.document = (char *) p->document;
	row.partitioning = NULL;
	return create_call(free_name(p, fact), fact_name(fact), &row, NULL);
}

/*
 * native_statement
 *		Returns the CREATE INDEX that makes a B-tree on the expressions of the key, of all rows or
 *		of those that pass a filter, or, if the field is rare, of those that have it.
 */
char *
native_statement(Profile *p, Relation fact, const char *filter, bool rare)
{
	StringInfoData sql;
	int			i;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE INDEX ON %s (", fact_name(fact));
	for (i = 0; i < p->def->nkeys; i++)
	{
		Field	   *field = &p->def->fields[i];
		bool		plain = field->spec->column != NULL && field->convert == NULL;

		appendStringInfo(&sql, "%s%s%s%s", i > 0 ? ", " : "", plain ? "" : "(", field_sql(p, field, false),
						 plain ? "" : ")");
		if (OidIsValid(field->spec->collation))
			appendStringInfo(&sql, " COLLATE %s", quote_identifier(get_collation_name(field->spec->collation)));
	}
	appendStringInfoChar(&sql, ')');
	if (filter == NULL && rare)
		filter = psprintf("%s IS NOT NULL", field_sql(p, &p->def->fields[0], true));
	if (filter != NULL)
		appendStringInfo(&sql, " WHERE %s", filter);
	appendStringInfoChar(&sql, ';');
	return sql.data;
}

/* gin_statement: returns the CREATE INDEX that serves @> on the part of the document that the array is in */
char *
gin_statement(Profile *p, Relation fact)
{
	Field	   *field = &p->def->fields[p->def->multi_field];
	char	   *path = path_sql(p, field, false);

	return psprintf(field->plain_steps == 0 ? "CREATE INDEX ON %s USING gin (%s jsonb_path_ops);" :
					"CREATE INDEX ON %s USING gin ((%s) jsonb_path_ops);", fact_name(fact), path);
}
