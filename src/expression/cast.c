/*-------------------------------------------------------------------------
 *
 * cast.c
 *	  Turns text from a document into a value of a field's type.
 *
 * The value is what SQL gives for text::type, while the settings that the input of date
 * and time types reads are held fixed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/fixed_settings.h"
#include "../util/subxact.h"
#include "expression.h"

static bool is_type_of_fields(Oid type);
static const char *suited_type(Oid type);
static bool convert_apart(Cast *cast, char *str, int len, Datum *result, Mismatch *why);
static void catch_mismatch(MemoryContext cxt, int roles, Mismatch *why);
static void take_mismatch(ErrorData *error, Mismatch *why);
static bool convert(Cast *cast, char *str, int len, Datum *result, Mismatch *why);
static bool is_iso(Oid type, const char *str);

/*
 * cast_check_type
 *		Refuses a type for a field, spec, if its input depends on more than the text.
 */
void
cast_check_type(const char *spec, Oid type)
{
	if (is_type_of_fields(type))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("field \"%s\" cannot have type %s", spec, format_type_be(type)),
			 errdetail("The input function of a field's type must not depend on anything but the text."),
			 hint_for_type(spec, type)));
}

static bool
is_type_of_fields(Oid type)
{
	Oid			function;
	Oid			ioparam;
	char		typtype = get_typtype(type);

	if (type == JSONBOID || is_datetime(type))
		return true;
	if (typtype != TYPTYPE_PSEUDO && typtype != TYPTYPE_DOMAIN)
	{
		/*
		 * A cast function that a user has defined is refused, because it
		 * would run with the rights of each writer of the fact table.
		 */
		if (find_coercion_pathway(type, TEXTOID, COERCION_EXPLICIT, &function) != COERCION_PATH_FUNC)
			getTypeInputInfo(type, &function, &ioparam);
		else if (function >= FirstNormalObjectId)
			function = InvalidOid;
		return OidIsValid(function) && func_volatile(function) == PROVOLATILE_IMMUTABLE;
	}
	return false;
}

/*
 * hint_for_type
 *		Adds a hint to the error that a field cannot have a type: the nearest one that it can
 *		have.
 */
int
hint_for_type(const char *spec, Oid type)
{
	Oid			element = get_element_type(type);

	if (OidIsValid(element) && parse_field_spec(spec, false)->multi)
		type = element;
	else if (OidIsValid(element))
		return errhint("As a key field, %s has an entry for each element; %s has the array as a whole.",
					   field_of_type(spec, suited_type(element), true), field_of_type(spec, "jsonb", false));
	return errhint("Perhaps you mean this field: %s.", field_of_type(spec, suited_type(type), false));
}

/*
 * suited_type
 *		Returns the nearest type that a key field can have to one that it perhaps cannot have.
 */
static const char *
suited_type(Oid type)
{
	Oid			base = getBaseType(type);

	if (is_type_of_fields(base) && OidIsValid(GetDefaultOpClass(base, BTREE_AM_OID)))
		return format_type_be(base);
	if (base == MONEYOID)
		return "numeric";
	if (base == JSONOID || base == RECORDOID || get_typtype(base) == TYPTYPE_COMPOSITE)
		return "jsonb";
	return "text";
}

/*
 * cast_init
 *		Prepares a cast: looks up how text becomes a value of a type.  What the look-ups of
 *		functions allocate lives in cxt.
 */
void
cast_init(Cast *cast, Oid type, int32 typmod, Oid collation, MemoryContext cxt)
{
	Oid			function;
	CoercionPathType path;

	memset(cast, 0, sizeof(Cast));
	cast->type = type;
	cast->typmod = typmod;
	cast->collation = collation;
	cast->datetime = is_datetime(type);

	path = find_coercion_pathway(type, TEXTOID, COERCION_EXPLICIT, &function);
	if (path == COERCION_PATH_FUNC)
	{
		cast->kind = CAST_FUNCTION;
		fmgr_info_cxt(function, &cast->convert, cxt);
	}
	else if (path == COERCION_PATH_COERCEVIAIO)
	{
		cast->kind = CAST_INPUT;
		getTypeInputInfo(type, &function, &cast->ioparam);
		fmgr_info_cxt(function, &cast->convert, cxt);
	}
	else
		cast->kind = CAST_NONE;

	/*
	 * The input function of numeric applies the typmod as its length coercion
	 * does, which cannot return its errors without raising them.
	 */
	if (typmod >= 0 && type != NUMERICOID &&
		find_typmod_coercion_function(type, &function) == COERCION_PATH_FUNC)
	{
		cast->has_length = true;
		fmgr_info_cxt(function, &cast->length, cxt);
	}
	cast->users = cast->convert.fn_oid >= FirstNormalObjectId ||
		cast->length.fn_oid >= FirstNormalObjectId;
}

/*
 * cast_text
 *		Sets *result to str::type and returns true; returns false, and sets *why, where SQL
 *		would raise an error about the data.  str has len bytes and ends with a zero byte.
 *
 * Functions that are not the server's own run in a subtransaction: they may do anything
 * before they raise an error, and a transaction that only notes the row as rejected goes on
 * after it.
 *
 * The server's own functions run without a subtransaction, which would cost more than the
 * rest of an entry.  That is sound because cast_check_type() lets only immutable functions
 * be used on documents: they compute the value from the text, and when they find that the
 * text is no value they hold no lock, pin, snapshot or other resource, nothing but memory.
 * (The input functions of arrays, rows, ranges, enums and domains look into the catalog, and
 * are not immutable.  The keys of look-ups may have such types, but a look-up raises an error
 * of its own and does not go on.)  An error that is not about the data is thrown on.
 */
bool
cast_text(Cast *cast, char *str, int len, Datum *result, Mismatch *why)
{
	MemoryContext cxt = CurrentMemoryContext;
	bool		unfixed = cast->datetime && !are_settings_fixed(READS_DATETIME | READS_ZONES);
	int			roles = roles_entered();
	SessionSettings saved;
	volatile bool ok = false;
	volatile bool caught = false;

	if (cast->kind == CAST_NONE && !cast->has_length)
	{
		*result = PointerGetDatum(cstring_to_text_with_len(str, len));
		return true;
	}

	if (cast->datetime && !is_iso(cast->type, str))
	{
		why->sqlstate = ERRCODE_INVALID_DATETIME_FORMAT;
		why->message = psprintf("\"%s\" is not a value of type %s in ISO form.",
								str, format_type_be(cast->type));
		return false;
	}

	if (cast->users)
		return convert_apart(cast, str, len, result, why);

	if (unfixed)
		fixed_settings_begin(&saved);
	PG_TRY();
	{
		ok = convert(cast, str, len, result, why);
	}
	PG_CATCH();
	{
		if (unfixed)
			fixed_settings_end(&saved);
		caught = true;
		catch_mismatch(cxt, roles, why);
		ok = false;
	}
	PG_END_TRY();
	if (unfixed && !caught)
		fixed_settings_end(&saved);
	return ok;
}

/* convert_apart: does what convert() does in a subtransaction, and catches errors about the data */
static bool
convert_apart(Cast *cast, char *str, int len, Datum *result, Mismatch *why)
{
	MemoryContext cxt = CurrentMemoryContext;
	ErrorData  *error;
	volatile bool ok = false;

	/* The value outlives what is freed with the subtransaction. */
	CATCHING_ERRORS(error, MemoryContextSwitchTo(cxt), ok = convert(cast, str, len, result, why));
	if (error == NULL)
		return ok;
	take_mismatch(error, why);
	return false;
}

/*
 * cast_column
 *		Sets *result to the cast of a plain column of a row and returns true.  Returns false
 *		if the result is NULL, and also, with *why set, where SQL would raise an error about
 *		the data.
 *
 * Errors of functions that are not the server's own are not caught.  The others are mostly
 * caught without a subtransaction: they are errors of the server's cast functions, input and
 * output functions and length coercions, which are immutable and see one value only.
 * cast_text() tells why that is sound.  What is evaluated as the owner under other settings
 * has a subtransaction: JSON_VALUE() returns any type, and its input function may be one that
 * looks into the catalog.
 */
bool
cast_column(RowExpression *expr, TupleTableSlot *row, Datum *result, Mismatch *why)
{
	MemoryContext cxt = CurrentMemoryContext;
	int			roles = roles_entered();
	volatile bool ok = false;

	if (expression_calls_users_code(expr))
		return expression_eval(expr, row, result);
	if (expression_is_apart(expr))
	{
		ErrorData  *error;

		/* The value outlives what is freed with the subtransaction. */
		CATCHING_ERRORS(error, MemoryContextSwitchTo(cxt), ok = expression_eval(expr, row, result));
		if (error != NULL)
			take_mismatch(error, why);
		return error == NULL && ok;
	}

	PG_TRY();
	{
		ok = expression_eval(expr, row, result);
	}
	PG_CATCH();
	{
		catch_mismatch(cxt, roles, why);
		ok = false;
	}
	PG_END_TRY();
	return ok;
}

/*
 * catch_mismatch
 *		Takes the error in PG_CATCH(): sets *why, allocated in cxt, and ends the handling of
 *		the error, with this many switches of users under way, or throws it on if it is not
 *		about the data.
 */
static void
catch_mismatch(MemoryContext cxt, int roles, Mismatch *why)
{
	ErrorData  *error;

	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	FlushErrorState();
	leave_roles(roles, true);
	take_mismatch(error, why);
}

/* take_mismatch: sets *why from an error about the data; throws any other error on */
static void
take_mismatch(ErrorData *error, Mismatch *why)
{
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
		error->sqlerrcode != ERRCODE_PROGRAM_LIMIT_EXCEEDED &&
		error->sqlerrcode != ERRCODE_SYNTAX_ERROR)
		ReThrowError(error);
	why->sqlstate = error->sqlerrcode;
	why->message = error->message;
}

/*
 * convert
 *		Sets *result to str::type, as the parser builds it: a conversion, and then a length
 *		coercion.  Returns false, and sets *why, if the input function can return its error
 *		without raising it.
 */
static bool
convert(Cast *cast, char *str, int len, Datum *result, Mismatch *why)
{
	Datum		value;

	if (cast->kind == CAST_INPUT)
	{
		ErrorSaveContext context = SOFT_ERRORS;

		if (!InputFunctionCallSafe_compat(&cast->convert, str, cast->ioparam, cast->has_length ? -1 : cast->typmod,
										  &context, &value))
		{
			take_mismatch(context.error_data, why);
			return false;
		}
	}
	else
	{
		value = PointerGetDatum(cstring_to_text_with_len(str, len));
		if (cast->kind == CAST_FUNCTION)
			value = FunctionCall1Coll(&cast->convert, cast->collation, value);
	}
	if (cast->has_length)
		value = FunctionCall3Coll(&cast->length, cast->collation, value,
								  Int32GetDatum(cast->typmod), BoolGetDatum(true));
	*result = value;
	return true;
}

/*
 * skip_digits
 *		Returns the place after the digits at p, or NULL if they are not n digits; with more
 *		set, if they are fewer than n.  Returns NULL if p is NULL.
 */
static const char *
skip_digits(const char *p, int n, bool more)
{
	int			i;

	if (p == NULL)
		return NULL;
	for (i = 0; isdigit((unsigned char) p[i]); i++)
		;
	return i == n || (more && i > n) ? p + i : NULL;
}

/*
 * is_iso
 *		Returns whether str has the form of an ISO 8601 date, time or both, as the type
 *		calls for.  The rest is left to the server's input function.
 *
 * This keeps out words for times that move ("now") or are infinite, names of time zones, and
 * other orders of year, month and day.
 */
static bool
is_iso(Oid type, const char *str)
{
	const char *p = str;

	while (isspace((unsigned char) *p))
		p++;
	if (type == INTERVALOID)
	{
		/* "P1DT2H" or "1 day 02:00:00": anything that has a number in it */
		return strpbrk(p, "0123456789") != NULL;
	}
	if (type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID)
	{
		p = skip_digits(p, 4, true);
		if (p == NULL || *p != '-')
			return false;
		p = skip_digits(p + 1, 2, false);
		if (p == NULL || *p != '-')
			return false;
		p = skip_digits(p + 1, 2, false);
		if (p == NULL)
			return false;
		if (*p == 'T' || *p == 't' || (*p == ' ' && isdigit((unsigned char) p[1])))
			p++;
		else
			goto end;
	}
	p = skip_digits(p, 2, false);
	if (p == NULL || *p != ':')
		return false;
	p = skip_digits(p + 1, 2, false);
	if (p != NULL && *p == ':')
		p = skip_digits(p + 1, 2, false);
	if (p != NULL && (*p == '.' || *p == ','))
		p = skip_digits(p + 1, 1, true);
	if (p == NULL)
		return false;
	while (isspace((unsigned char) *p))
		p++;
	if (*p == 'Z' || *p == 'z')
		p++;
	else if (*p == '+' || *p == '-')
		p += 1 + strspn(p + 1, "0123456789:");
end:
	while (isspace((unsigned char) *p))
		p++;
	return *p == '\0';
}

/*
 * has_zone
 *		Returns whether str, which is_iso() has accepted for a type of times with a zone, says
 *		which zone it is in: Z or an offset follows the time of the day.
 */
bool
has_zone(const char *str)
{
	const char *time = strchr(str, ':');

	return time != NULL && strpbrk(time, "Zz+-") != NULL;
}
