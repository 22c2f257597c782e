/*-------------------------------------------------------------------------
 *
 * profile_row.c
 *	  Gives SQL the numbers of a key, and the key as SQL, as a row of the type
 *	  indextable_internal.key_profile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../catalog/table_access.h"
#include "../definition/layout.h"
#include "../definition/primary_key.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "profile.h"
#include "profile_row.h"

/* How many columns the row has. */
#define COLUMNS		42

static char *path_sql(Profile *p, Field *field, bool as_text);
static char *field_sql(Profile *p, Field *field, bool as_text);
static char *value_sql(Field *field, Datum value);
static char *index_columns(Profile *p);
static char *gin_column(Profile *p);
static char *common_key_text(Profile *p, int which);
static char *common_key_sql(Profile *p, int which);
static bool all_immutable(Profile *p);
static List *never_included(Profile *p);

/* profile_row_type: returns the type of the row; InvalidOid if missing_ok, else an error: the catalog is of a version before it */
Oid
profile_row_type(bool missing_ok)
{
	Oid			type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("key_profile"),
									   ObjectIdGetDatum(catalog_schema()));

	if (!OidIsValid(type) && !missing_ok)
		report_other_version();
	return type;
}

/* profile_row: returns the numbers as a row; same has the index tables of the same key (char *) */
Datum
profile_row(Profile *p, List *same)
{
	TupleDesc	desc = lookup_rowtype_tupdesc_copy(profile_row_type(false), -1);
	IndexDef   *def = p->def;
	DefinitionRow *row = p->row;
	Datum		values[COLUMNS];
	bool		isnull[COLUMNS] = {0};
	Datum		numbers[Max(COMMON_KEYS + 1, PAGES)];
	List	   *keys = NIL;
	List	   *conditions = NIL;
	int			n = 0;

	check_version(desc, COLUMNS);
#define PUT(datum)			(values[n++] = (datum))
#define PUT_BOOL(condition)	PUT(BoolGetDatum(condition))
#define PUT_COUNT(number)	PUT(Int64GetDatum(number))
#define PUT_NUMBER(number)	PUT(Float8GetDatum(number))
#define PUT_TEXT(string)	((string) != NULL ? PUT(CStringGetTextDatum(string)) : (isnull[n] = true, PUT((Datum) 0)))
#define PUT_LIST(list)		((list) != NIL ? PUT(string_array(list, TEXTOID)) : (isnull[n] = true, PUT((Datum) 0)))
#define PUT_NUMBERS(count)	PUT(PointerGetDatum(construct_array(numbers, count, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)))
	PUT(ObjectIdGetDatum(row->fact_table));
	PUT_TEXT(p->fact_name);
	PUT_LIST(row->key);
	PUT_LIST(row->include);
	PUT_TEXT(row->filter);
	PUT_TEXT(p->document);
	PUT_LIST(row->primary_key);
	PUT_LIST(key_names(def));
	PUT_LIST(same);
	isnull[n] = !p->partitioned;
	PUT(Int32GetDatum(p->partitions));
	PUT_BOOL(def->multi);
	PUT_BOOL(p->hinted);
	PUT_BOOL(p->shows_fields);
	PUT_BOOL(all_immutable(p));
	PUT_BOOL(row->include != NIL && (p->widest > def->max_covered_bytes || !primary_key_can_cover(def)));
	PUT_NUMBER(p->documents);
	PUT_BOOL(p->complete);
	PUT_COUNT(p->sampled);
	PUT_COUNT(p->filtered);
	PUT_COUNT(p->missing);
	PUT_COUNT(p->mismatching);
	PUT_TEXT(p->mismatch);
	PUT_COUNT(p->with_entries);
	PUT_COUNT(p->sampled_entries);
	PUT_COUNT(p->numbers);
	PUT_BOOL(p->all_differ);
	PUT_LIST(never_included(p));
	for (int i = 0; i < p->ncommon; i++)
	{
		numbers[i] = Float8GetDatum(p->common[i].n);
		keys = lappend(keys, common_key_text(p, i));
		conditions = lappend(conditions, common_key_sql(p, i));
	}
	PUT_NUMBERS(p->ncommon);
	PUT(string_array(keys, TEXTOID));
	PUT(string_array(conditions, TEXTOID));
	for (int i = 0; i <= COMMON_KEYS; i++)
		numbers[i] = Float8GetDatum(p->found[i]);
	PUT_NUMBERS(COMMON_KEYS + 1);
	PUT_NUMBER(p->entries);
	PUT_NUMBER(p->keys);
	PUT_NUMBER(p->document_bytes);
	PUT_NUMBER(p->key_bytes);
	PUT_NUMBER(p->entry_bytes);
	PUT_BOOL(p->stored_bytes < TOAST_TUPLE_THRESHOLD);
	PUT_BOOL(p->document_bytes > TOAST_TUPLE_THRESHOLD);
	for (int i = 0; i < PAGES; i++)
		numbers[i] = Float8GetDatum(p->pages[i]);
	PUT_NUMBERS(PAGES);
	PUT_TEXT(index_columns(p));
	PUT_TEXT(gin_column(p));
	PUT_TEXT(field_sql(p, &def->fields[0], true));
	Assert(n == COLUMNS);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, isnull));
}

/* path_sql: returns a field's path into the document as SQL, up to its [*] if it has one */
static char *
path_sql(Profile *p, Field *field, bool as_text)
{
	const char *document = quote_identifier(p->row->document);
	PathStep   *steps = field->spec->steps;
	List	   *names = NIL;

	if (field->plain_steps == 0)
		return pstrdup(document);
	for (int i = 0; i < field->plain_steps; i++)
		names = lappend(names, pnstrdup(steps[i].name, steps[i].len));
	if (field->plain_steps == 1 && !steps[0].is_index)
		return psprintf("%s %s %s", document, as_text ? "->>" : "->", quote_literal_cstr(linitial(names)));
	return psprintf("%s %s %s", document, as_text ? "#>>" : "#>",
					quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, string_array(names, TEXTOID))));
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
	if (field->spec->expression != NULL)
		return pstrdup(field->spec->expression);
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

/* index_columns: returns the key as the columns of CREATE INDEX */
static char *
index_columns(Profile *p)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < p->def->nkeys; i++)
	{
		Field	   *field = &p->def->fields[i];
		bool		plain = field->spec->expression != NULL || (field->spec->column != NULL && field->convert == NULL);

		appendStringInfo(&sql, "%s%s%s%s", i > 0 ? ", " : "", plain ? "" : "(", field_sql(p, field, false),
						 plain ? "" : ")");
		if (OidIsValid(field->spec->collation))
			appendStringInfo(&sql, " COLLATE %s", quote_identifier(get_collation_name(field->spec->collation)));
	}
	return sql.data;
}

/* gin_column: returns the part of the document that the array is in, as the column of CREATE INDEX; NULL: no array */
static char *
gin_column(Profile *p)
{
	Field	   *field = &p->def->fields[p->def->multi_field];

	if (!p->def->multi)
		return NULL;
	return psprintf(field->plain_steps == 0 ? "%s" : "(%s)", path_sql(p, field, false));
}

/* common_key_text: returns the values of one of the most common keys, for people to read */
static char *
common_key_text(Profile *p, int which)
{
	StringInfoData result;

	initStringInfo(&result);
	for (int i = 0; i < p->def->nkeys; i++)
	{
		char	   *text = value_text(p->def->fields[i].type, p->common[which].values[i]);
		char	   *c;
		int			len;

		for (c = text; *c != '\0'; c++)
			if ((unsigned char) *c < ' ')
				*c = ' ';
		len = pg_mbcharcliplen(text, strlen(text), 40);
		appendStringInfo(&result, "%s\"%.*s%s\"", i > 0 ? ", " : "", len, text, text[len] != '\0' ? "..." : "");
	}
	return result.data;
}

/* common_key_sql: returns one of the most common keys as a literal; if the key has several fields, as a condition */
static char *
common_key_sql(Profile *p, int which)
{
	StringInfoData result;

	if (p->def->nkeys == 1)
		return value_sql(&p->def->fields[0], p->common[which].values[0]);
	initStringInfo(&result);
	for (int i = 0; i < p->def->nkeys; i++)
		appendStringInfo(&result, "%s%s = %s", i > 0 ? " AND " : "", field_sql(p, &p->def->fields[i], true),
						 value_sql(&p->def->fields[i], p->common[which].values[i]));
	return result.data;
}

/*
 * all_immutable
 *		Returns whether a native index can have the key's expressions.
 *
 * The cast of a text to a date depends on a setting in SQL, and so an index cannot have it.
 */
static bool
all_immutable(Profile *p)
{
	for (int i = 0; i < p->def->nkeys; i++)
	{
		Field	   *field = &p->def->fields[i];

		if (field->fact_attno == 0 && field->cast.kind != CAST_NONE && !field->is_jsonb &&
			func_volatile(field->cast.convert.fn_oid) != PROVOLATILE_IMMUTABLE)
			return false;
	}
	return true;
}

/* never_included: returns the included fields (char *) that no entry of the sample has */
static List *
never_included(Profile *p)
{
	List	   *fields = NIL;

	for (int i = 0; i < p->def->nincludes; i++)
		if (!p->included[i])
			fields = lappend(fields, (char *) p->def->fields[p->def->nkeys + i].spec->text);
	return fields;
}
