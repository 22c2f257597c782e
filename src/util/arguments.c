/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Reads the arguments of SQL functions: texts, lists of fields, intervals, and
 *	  words of which only some are allowed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "nodes/value.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "arguments.h"
#include "settings.h"

/*
 * The largest number of elements of an array of fields or bounds; no index table can have as
 * many.
 */
#define MAX_ELEMENTS		10000

/* A longer interval is taken for this one, ten years, which fits into microseconds. */
#define MAX_INTERVAL_DAYS	3650

/* Longer names are not compared: that takes the product of their lengths. */
#define MAX_COMPARED_BYTES	200

/* same_or_null: returns whether two strings are the same, or both NULL */
bool
same_or_null(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/*
 * same_strings
 *		Returns whether two lists have the same strings (char *), or NULL, in the same order.
 */
bool
same_strings(List *a, List *b)
{
	ListCell   *x;
	ListCell   *y;

	if (list_length(a) != list_length(b))
		return false;
	forboth(x, a, y, b)
	{
		if (!same_or_null(lfirst(x), lfirst(y)))
			return false;
	}
	return true;
}

/*
 * text_arg
 *		Returns a text argument as a string, or a copy of missing, which may be NULL, if it is
 *		null.
 */
char *
text_arg(FunctionCallInfo fcinfo, int arg, const char *missing)
{
	if (PG_ARGISNULL(arg))
		return missing ? pstrdup(missing) : NULL;
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

/* require_arg: raises an error if an argument, of this name, is null */
void
require_arg(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/*
 * qualified_name
 *		Returns the parts of the name that an index table is to have, as
 *		makeRangeVarFromNameList() takes them.
 */
List *
qualified_name(const char *name)
{
	List	   *parts;
	List	   *result = NIL;
	ListCell   *cell;

	if (!SplitIdentifierString(pstrdup(name), '.', &parts) || parts == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" is not a valid name", name),
				 name[strspn(name, " \t\n")] == '\0' ? errhint("An index table needs a name.") : strchr(name, '"') != NULL ? 0 :
				 errhint("Quote a name that has other characters than letters, digits and underscores, as in %s.",
						 quote_literal_cstr(quote_identifier(name)))));
	foreach(cell, parts)
		result = lappend(result, makeString(lfirst(cell)));
	return result;
}

/*
 * field_list
 *		Returns the elements of a text[] argument, which must not be null, as a list of
 *		strings.
 *
 * name is that of the argument, for errors.
 */
List *
field_list(FunctionCallInfo fcinfo, int arg, const char *name)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);
	Datum	   *elems;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be a one-dimensional array of fields", name)));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elems, &nulls, &n);
	if (n > MAX_ELEMENTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s must not have more than %d elements", name, MAX_ELEMENTS)));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not contain nulls", name)));
		result = lappend(result, TextDatumGetCString(elems[i]));
	}
	return result;
}

/* row_result: returns the row that is the result of a function, with these values */
Datum
row_result(FunctionCallInfo fcinfo, Datum *values, bool *isnull)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull));
}

/*
 * check_allowed_value
 *		Returns the number of the element of allowed, a list that ends with NULL, that is equal
 *		to value; raises an error if there is none, with the nearest one first.
 *
 * what is the name of the parameter, for the error.
 */
int
check_allowed_value(const char *what, const char *value, const char *const *allowed)
{
	StringInfoData list;
	int			nearest = 0;

	for (int i = 0; allowed[i] != NULL; i++)
		if (strcmp(value, allowed[i]) == 0)
			return i;
	for (int i = 1; allowed[i] != NULL; i++)
		if (name_distance(value, allowed[i]) < name_distance(value, allowed[nearest]))
			nearest = i;
	initStringInfo(&list);
	appendStringInfo(&list, "\"%s\"", allowed[nearest]);
	for (int i = 0; allowed[i] != NULL; i++)
		if (i != nearest)
			appendStringInfo(&list, ", \"%s\"", allowed[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%s\"", what, value),
			 errhint("Available values: %s.", list.data)));
}

/* batch_size_arg: returns an argument batch_size, or indextable.batch_size if it is null */
int
batch_size_arg(FunctionCallInfo fcinfo, int arg)
{
	int			batch_size = PG_ARGISNULL(arg) ? setting_batch_size : PG_GETARG_INT32(arg);

	if (batch_size < 1 || batch_size > MAX_BATCH_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_size must be between 1 and %d", MAX_BATCH_SIZE)));
	return batch_size;
}

/*
 * interval_arg
 *		Returns an interval argument in microseconds, or -1 if it is null; a month has 30
 *		days.
 */
int64
interval_arg(FunctionCallInfo fcinfo, int arg, const char *name)
{
	Interval   *interval;
	int64		days;
	int64		us;

	if (PG_ARGISNULL(arg))
		return -1;
	interval = PG_GETARG_INTERVAL_P(arg);
	days = interval->day + interval->month * INT64CONST(30) + interval->time / USECS_PER_DAY;
	days = Max(Min(days, MAX_INTERVAL_DAYS), -MAX_INTERVAL_DAYS);
	us = days * USECS_PER_DAY + interval->time % USECS_PER_DAY;
	if (us < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", name)));
	return us;
}

/*-------------------------------------------------------------------------
 * Finds the name that a user means who has written another one.
 *-------------------------------------------------------------------------
 */

/*
 * name_distance
 *		Returns how many characters differ between two names, apart from the case of ASCII
 *		letters.
 */
int
name_distance(const char *a, const char *b)
{
	int			alen = strlen(a);
	int			blen = strlen(b);
	char	   *x;
	char	   *y;

	if (pg_strcasecmp(a, b) == 0)
		return 0;
	if (alen > MAX_COMPARED_BYTES || blen > MAX_COMPARED_BYTES)
		return Max(alen, blen);
	x = asc_tolower(a, alen);
	y = asc_tolower(b, blen);
	return varstr_levenshtein(x, alen, y, blen, 1, 1, 1, true);
}

/*
 * is_near
 *		Returns whether what was written may be a misspelling of a name at this distance.
 *		Where more than one character differs, the first one is mostly right.
 */
bool
is_near(const char *written, const char *name, int distance)
{
	int			len = strlen(written);

	return distance == 0 ||
		(distance < len && distance <= (len + 2) / 3 &&
		 (distance == 1 || pg_tolower((unsigned char) *written) == pg_tolower((unsigned char) *name)));
}

/*
 * try_name
 *		Makes a name the nearest one, if it is near to what was written, and nearer than the
 *		others so far.
 */
void
try_name(Nearest *nearest, const char *name)
{
	int			distance = name_distance(nearest->written, name);

	if (is_near(nearest->written, name, distance) && (nearest->name == NULL || distance < nearest->distance))
	{
		nearest->name = name;
		nearest->distance = distance;
	}
}
