/*-------------------------------------------------------------------------
 *
 * key_set.c
 *	  Reads from JSON the keys that are looked up, and keeps them sorted.
 *
 * A key is {"column": value, ...}.  An array as a value stands for each of its elements, so
 * that one object may stand for several keys; and an array of objects is several keys, too.
 * All of them are searched for one after the other, in the order of the index table, so that
 * what is found comes in that order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/json_members.h"
#include "lookup.h"

/* No look-up is for more keys than these, which take a few megabytes of memory. */
#define MAX_KEYS	100000

/* The values of a column in one object. */
typedef struct Values
{
	Datum	   *values;
	int			n;
} Values;

static void read_key(IndexDef *def, JsonbContainer *object, KeySet *set);
static void read_key_objects(IndexDef *def, JsonbContainer *objects, KeySet *set);
pg_noreturn static void key_error(IndexDef *def, JsonbContainer *key);
static void read_values(IndexDef *def, int column, JsonbValue *value, Values *result);
static void add_column(KeySet *set, Values *values);
static void check_number(int64 n);
static void key_set_sort(IndexDef *def, KeySet *set);

/* Values that are longer are left out. */
#define MAX_VALUE	100

static char *hint_for_key_column(IndexDef *def, const char *name);
static char *key_example(IndexDef *def, JsonbContainer *key);

/*
 * key_set_read
 *		Reads a key, or several.  An object without columns is the key of all entries, if
 *		that is allowed.
 *
 * Raises an error unless the columns are leading key columns, the same ones in all keys, and
 * the values can be cast to their types; also where nothing can match because of a null.
 */
void
key_set_read(IndexDef *def, Jsonb *json, bool all_allowed, KeySet *set)
{
	if (JsonContainerIsObject(&json->root) && (all_allowed || JsonContainerSize(&json->root) > 0))
		read_key(def, &json->root, set);
	else if (JsonContainerIsArray(&json->root) && !JsonContainerIsScalar(&json->root))
		read_key_objects(def, &json->root, set);
	else
		key_error(def, &json->root);
	key_set_sort(def, set);
}

/* read_key: reads an object; its keys are not sorted */
static void
read_key(IndexDef *def, JsonbContainer *object, KeySet *set)
{
	JsonMembers members = {.it = JsonbIteratorInit(object)};
	Values		values[INDEX_MAX_KEYS];
	bool		given[INDEX_MAX_KEYS] = {0};
	int			n = 0;
	int			i;

	while (next_member(&members))
	{
		i = find_key_column(def, members.name);
		read_values(def, i, &members.value, &values[i]);
		given[i] = true;
		n++;
	}
	set->ncolumns = 0;
	set->n = 1;
	set->values = NULL;
	for (i = 0; i < n; i++)
	{
		if (!given[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key must have the leading key columns of index table \"%s\"", def->name),
					 errdetail("Column \"%s\" is missing.", key_column_name(def, i)),
					 errhint("The key columns are %s.", key_columns(def))));
		add_column(set, &values[i]);
	}
}

/* read_key_objects: reads the objects of an array; their keys are not sorted */
static void
read_key_objects(IndexDef *def, JsonbContainer *objects, KeySet *set)
{
	JsonMembers members = {.it = JsonbIteratorInit(objects)};
	int			max = 0;

	memset(set, 0, sizeof(KeySet));
	while (next_member(&members))
	{
		JsonbContainer *object = members.value.type == jbvBinary ? members.value.val.binary.data : NULL;
		KeySet		keys;

		if (object == NULL || !JsonContainerIsObject(object) || JsonContainerSize(object) == 0)
			key_error(def, objects);
		read_key(def, object, &keys);
		if (set->ncolumns > 0 && keys.ncolumns != set->ncolumns)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("all keys must have the same columns"),
					 errdetail("One key has %d of the key columns of index table \"%s\", another has %d.",
							   set->ncolumns, def->name, keys.ncolumns)));
		set->ncolumns = keys.ncolumns;
		if (keys.n == 0)
			continue;
		check_number((int64) set->n + keys.n);
		if (set->n + keys.n > max)
		{
			max = Max(set->n + keys.n, 2 * max);
			set->values = set->values == NULL ? palloc(sizeof(Datum) * max * set->ncolumns) :
				repalloc(set->values, sizeof(Datum) * max * set->ncolumns);
		}
		memcpy(KEY_VALUES(set, set->n), keys.values, sizeof(Datum) * keys.n * keys.ncolumns);
		set->n += keys.n;
		pfree(keys.values);
	}
}

static void
key_error(IndexDef *def, JsonbContainer *key)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("key must be an object with at least one column"),
			 errhint("For example: %s. Several keys are an array of such objects.", key_example(def, key))));
}

/* find_key_column: returns the place in the key of the column with a name */
int
find_key_column(IndexDef *def, const char *name)
{
	for (int i = 0; i < def->spec.nkeys; i++)
		if (strcmp(name, key_column_name(def, i)) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("\"%s\" is not a key column of index table \"%s\"", name, def->name),
			 errhint("%s", hint_for_key_column(def, name))));
}

/*
 * read_values
 *		Reads what a column is to be equal to: a value, or those in an array.  A null is equal
 *		to nothing.
 *
 * A column of jsonb can have arrays, so that an array is a value of it.
 */
static void
read_values(IndexDef *def, int column, JsonbValue *value, Values *result)
{
	JsonbContainer *array = value->type == jbvBinary ? value->val.binary.data : NULL;
	JsonMembers elements;

	if (array == NULL || !JsonContainerIsArray(array) || getBaseType(def->spec.fields[column].type) == JSONBOID)
	{
		result->values = palloc(sizeof(Datum));
		result->n = key_value_cast(def, column, value, result->values) ? 1 : 0;
		return;
	}
	check_number(JsonContainerSize(array));
	result->values = palloc(sizeof(Datum) * Max(JsonContainerSize(array), 1));
	result->n = 0;
	elements.it = JsonbIteratorInit(array);
	while (next_member(&elements))
	{
		if (key_value_cast(def, column, &elements.value, &result->values[result->n]))
			result->n++;
		CHECK_FOR_INTERRUPTS();
	}
}

/* add_column: adds a column to keys; each of them becomes as many as there are values */
static void
add_column(KeySet *set, Values *values)
{
	Datum	   *old = set->values;
	int			ncolumns = set->ncolumns++;
	Datum	   *next;

	check_number((int64) set->n * values->n);
	next = set->values = ncolumns == 0 ? values->values :
		palloc(sizeof(Datum) * Max(set->n * values->n, 1) * set->ncolumns);
	for (int i = 0; i < set->n && ncolumns > 0; i++)
	{
		for (int k = 0; k < values->n; k++)
		{
			memcpy(next, &old[i * ncolumns], sizeof(Datum) * ncolumns);
			next[ncolumns] = values->values[k];
			next += set->ncolumns;
		}
	}
	set->n *= values->n;
}

static void
check_number(int64 n)
{
	if (n > MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many keys"),
				 errdetail("One call is for at most %d keys. Arrays in several columns stand for all combinations of their elements.",
						   MAX_KEYS)));
}

/*
 * key_set_restrict
 *		Adds to sorted keys, which are for fewer columns, that the next one is equal to a
 *		value, or to one in an array.
 */
void
key_set_restrict(IndexDef *def, JsonbValue *value, KeySet *set)
{
	Values		values;

	read_values(def, set->ncolumns, value, &values);
	add_column(set, &values);
	key_set_sort(def, set);
}

/*
 * key_set_find
 *		Returns the number of a key, or -1 if there is no such key, as there is none with
 *		NULL.
 */
int
key_set_find(IndexDef *def, KeySet *set, Datum *key, bool *isnull)
{
	for (int i = 0; i < set->ncolumns; i++)
		if (isnull[i])
			return -1;
	if (set->ncolumns == 0)		/* the key of all entries */
		return set->n - 1;
	return find_key_values(set->values, set->n, set->ncolumns, def->layout.ident_sort, key);
}

/*
 * key_set_has
 *		Returns whether an entry has one of the keys, by its values in the columns of the
 *		index table.
 */
bool
key_set_has(IndexDef *def, KeySet *set, Datum *entry, bool *isnull)
{
	Datum		key[INDEX_MAX_KEYS];
	bool		key_isnull[INDEX_MAX_KEYS];

	for (int i = 0; i < set->ncolumns; i++)
	{
		key[i] = entry[def->layout.ident[i] - 1];
		key_isnull[i] = isnull[def->layout.ident[i] - 1];
	}
	return key_set_find(def, set, key, key_isnull) >= 0;
}

static void
key_set_sort(IndexDef *def, KeySet *set)
{
	if (set->n > 1)
		set->n = sort_key_values(set->values, set->n, set->ncolumns, def->layout.ident_sort);
}

/*-------------------------------------------------------------------------
 * Writes hints for keys and conditions that are not as they have to be, from what the
 * user has written.
 *-------------------------------------------------------------------------
 */

/* key_columns: returns the names of the key columns, for hints */
char *
key_columns(IndexDef *def)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < def->spec.nkeys; i++)
		appendStringInfo(&list, "%s\"%s\"", i > 0 ? ", " : "", key_column_name(def, i));
	return list.data;
}

/*
 * key_example
 *		Returns the key that is meant by a JSON value that is none, as an SQL literal: it is the
 *		value of the first key column, or those that this may have.
 */
static char *
key_example(IndexDef *def, JsonbContainer *key)
{
	StringInfoData json;
	char	   *text = JsonbToCString(NULL, key, 0);

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	escape_json(&json, key_column_name(def, 0));
	appendStringInfo(&json, ": %s}", strlen(text) > MAX_VALUE || strchr(text, '{') != NULL ? "..." : text);
	return quote_literal_cstr(json.data);
}

/* condition_example: returns a condition on a column as an SQL literal */
char *
condition_example(const char *column, const char *op, JsonbValue *value)
{
	StringInfoData json;
	Jsonb	   *jsonb = JsonbValueToJsonb(value);
	char	   *text = JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb));

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	escape_json(&json, column);
	appendStringInfo(&json, ": {\"%s\": %s}}", op, strlen(text) > MAX_VALUE ? "..." : text);
	return quote_literal_cstr(json.data);
}

/*
 * hint_for_key_column
 *		Returns a hint for a name that is no key column: the column that is spelled almost like
 *		it, or whose field is the name, and all columns.
 */
static char *
hint_for_key_column(IndexDef *def, const char *name)
{
	Nearest		nearest = {.written = name};
	const char *meant = NULL;

	for (int i = 0; i < def->spec.nkeys && meant == NULL; i++)
	{
		FieldSpec  *spec = def->spec.fields[i].spec;

		try_name(&nearest, key_column_name(def, i));
		if (strncmp(spec->text, name, spec->tail) == 0 && (int) strlen(name) == spec->tail)
			meant = key_column_name(def, i);
	}
	if (meant == NULL)
		meant = nearest.name;
	return meant == NULL ? psprintf("The key columns are %s.", key_columns(def)) :
		psprintf("Perhaps you mean \"%s\". The key columns are %s.", meant, key_columns(def));
}

/*
 * operator_meant
 *		Returns the operator of a condition that is meant by one of another language, or NULL.
 */
const char *
operator_meant(const char *op)
{
	static const char *const others[][2] = {
		{"==", "="}, {"eq", "="}, {"gt", ">"}, {"gte", ">="}, {"ge", ">="}, {"lt", "<"}, {"lte", "<="}, {"le", "<="},
		{"=>", ">="}, {"=<", "<="}, {"in", "="}, {"starts_with", "begins_with"}, {"startswith", "begins_with"},
		{"prefix", "begins_with"}, {"like", "begins_with"}, {"begins", "begins_with"}, {"beginswith", "begins_with"},
		{"BETWEEN", "between"}, {"range", "between"}
	};

	for (int i = 0; i < (int) lengthof(others); i++)
		if (pg_strcasecmp(op + (*op == '$'), others[i][0]) == 0)
			return others[i][1];
	return NULL;
}

/* key_column: returns the name of a key column */
const char *
key_column_name(IndexDef *def, int i)
{
	return NameStr(TupleDescAttr(def->layout.desc, def->spec.fields[i].attno - 1)->attname);
}
