/*-------------------------------------------------------------------------
 *
 * key_hint.c
 *	  Writes hints for keys and conditions that are not as they have to be, from what the
 *	  user has written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"

#include "../indextable.h"
#include "../util/nearest.h"
#include "key_hint.h"

/* Values that are longer are left out. */
#define MAX_VALUE	100

static void append_value(StringInfo json, JsonbValue *value);
static const char *key_column(IndexDef *def, int i);

/* key_columns: returns the names of the key columns, for hints */
char *
key_columns(IndexDef *def)
{
	StringInfoData list;
	int			i;

	initStringInfo(&list);
	for (i = 0; i < def->nkeys; i++)
		appendStringInfo(&list, "%s\"%s\"", i > 0 ? ", " : "",
						 NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname));
	return list.data;
}

/*
 * key_example
 *		Returns the key that is meant by a JSON value that is none, as an SQL literal: it is the
 *		value of the first key column, or those that this may have.
 */
char *
key_example(IndexDef *def, JsonbContainer *key)
{
	StringInfoData json;
	char	   *text = JsonbToCString(NULL, key, 0);

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	escape_json(&json, key_column(def, 0));
	appendStringInfo(&json, ": %s}", strlen(text) > MAX_VALUE || strchr(text, '{') != NULL ? "..." : text);
	return quote_literal_cstr(json.data);
}

/* condition_example: returns a condition on a column as an SQL literal */
char *
condition_example(const char *column, const char *op, JsonbValue *value)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	escape_json(&json, column);
	appendStringInfo(&json, ": {\"%s\": ", op);
	append_value(&json, value);
	appendStringInfoString(&json, "}}");
	return quote_literal_cstr(json.data);
}

/* append_value: appends a value as JSON, unless it is too long for a hint */
static void
append_value(StringInfo json, JsonbValue *value)
{
	Jsonb	   *jsonb = JsonbValueToJsonb(value);
	char	   *text = JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb));

	appendStringInfoString(json, strlen(text) > MAX_VALUE ? "..." : text);
}

/*
 * hint_for_key_column
 *		Returns a hint for a name that is no key column: the column that is spelled almost like
 *		it, or whose field is the name, and all columns.
 */
char *
hint_for_key_column(IndexDef *def, const char *name)
{
	Nearest		nearest = {.written = name};
	int			i;

	for (i = 0; i < def->nkeys; i++)
	{
		FieldSpec  *spec = def->fields[i].spec;

		try_name(&nearest, key_column(def, i));
		if (strncmp(spec->text, name, spec->tail) == 0 && (int) strlen(name) == spec->tail)
			return psprintf("Perhaps you mean \"%s\". The key columns are %s.", key_column(def, i), key_columns(def));
	}
	if (nearest.name == NULL)
		return psprintf("The key columns are %s.", key_columns(def));
	return psprintf("Perhaps you mean \"%s\". The key columns are %s.", nearest.name, key_columns(def));
}

/* operator_meant: returns the operator of a condition that is meant by one of another language, or NULL */
const char *
operator_meant(const char *op)
{
	static const char *const others[][2] = {
		{"==", "="}, {"eq", "="}, {"gt", ">"}, {"gte", ">="}, {"ge", ">="}, {"lt", "<"}, {"lte", "<="}, {"le", "<="},
		{"=>", ">="}, {"=<", "<="}, {"in", "="}, {"starts_with", "begins_with"}, {"startswith", "begins_with"},
		{"prefix", "begins_with"}, {"like", "begins_with"}, {"begins", "begins_with"}, {"beginswith", "begins_with"},
		{"BETWEEN", "between"}, {"range", "between"}
	};
	int			i;

	for (i = 0; i < (int) lengthof(others); i++)
		if (pg_strcasecmp(op + (*op == '$'), others[i][0]) == 0)
			return others[i][1];
	return NULL;
}

static const char *
key_column(IndexDef *def, int i)
{
	return NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname);
}
