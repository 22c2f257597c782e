/*-------------------------------------------------------------------------
 *
 * scalar_value.c
 *	  Makes the value that entries are searched by of a number of another type, and of a scalar
 *	  in JSON.
 *
 * Columns of integers are searched by bigint, so that any other integer can be a bound.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../entry/entry.h"
#include "match.h"

static Taken beyond(Field *field, StrategyNumber strategy, bool above, Datum *result);
static Oid	cast_from(Node *expr);
static bool accepts(Oid type, Oid integer);

bool
is_integer_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

bool
is_number_type(Oid type)
{
	return is_integer_type(type) || type == NUMERICOID || type == FLOAT4OID || type == FLOAT8OID;
}

/*
 * is_plain_type
 *		Returns whether a type is of numbers, booleans, dates, timestamps without a zone, or
 *		UUIDs.
 */
bool
is_plain_type(Oid type)
{
	return is_number_type(type) || type == BOOLOID || type == DATEOID || type == TIMESTAMPOID || type == UUIDOID;
}

/*
 * is_castable_field
 *		Returns whether any session may cast texts to the type of a field, as the writers of
 *		its entries do.
 */
bool
is_castable_field(Field *field)
{
	return field->fact_attno == 0 && !field->is_hint && !field->is_jsonb && field->type < FirstNormalObjectId &&
		!field->cast.users;
}

/*
 * is_cast_alike
 *		Returns whether the cast of a text to the type of a field, as queries have it, is an error for every
 *		text that the writers of its entries cannot cast.  Dates and times are cast in ISO form only.
 */
bool
is_cast_alike(Field *field)
{
	return is_castable_field(field) && !field->spec->multi && !field->cast.datetime;
}

/*
 * take_scalar
 *		Sets *result to the value that the field of a document has, if it has an entry, where the
 *		scalar is at the field's path, or an equal one.
 *
 * Equal strings, and equal booleans, have the same text, which is cast as that of a row is.  A
 * text that cannot be cast has no entry.  Equal numbers may have several texts, 1 and 1.0, so
 * of them only a field of numbers tells: these are the same number, or the same after rounding.
 * An integer was made of a text without decimals, and so are only numbers without decimals equal
 * to it.  Nothing is told of JSON null, and an array or an object may have several texts.
 *
 * For a range, the scalar is a number.  Only numbers that are not rounded are in the same order.
 */
Taken
take_scalar(Field *field, StrategyNumber strategy, JsonbValue *scalar, Datum *result)
{
	RowMismatch mismatch = {0};

	switch (scalar->type)
	{
		case jbvNumeric:
			if (is_integer_type(field->type))
				return take_numeric(field, strategy, scalar->val.numeric, result);
			if (!is_number_type(field->type) ||
				(strategy != BTEqualStrategyNumber && (field->type != NUMERICOID || field->typmod >= 0)))
				return TAKEN_UNKNOWN;
			break;
		case jbvString:
		case jbvBool:
			break;
		default:
			return TAKEN_UNKNOWN;
	}
	switch (cast_json(field, scalar, true, result, &mismatch))
	{
		case VALUE_OK:
			break;
		case VALUE_MISMATCH:
			return TAKEN_NONE;
		default:
			return TAKEN_UNKNOWN;
	}
	if (field->type == INT2OID)
		*result = Int64GetDatum(DatumGetInt16(*result));
	else if (field->type == INT4OID)
		*result = Int64GetDatum(DatumGetInt32(*result));
	return TAKEN;
}

/*
 * take_float
 *		Sets *result to the integer that an integer is compared with when its double is compared
 *		with a value: the integer i is greater than 2.5 if it is greater than 2, and is at least
 *		2.5 if it is at least 3.
 *
 * A double has 53 bits, and a float 24, so that larger integers are rounded.  Below that limit
 * the value tells smaller integers from each other, and from all that are rounded.
 */
Taken
take_float(Field *field, int bits, StrategyNumber strategy, double value, Datum *result)
{
	double		integer;

	if (bits > 0 && fabs(value) >= ldexp(1, bits))
		return TAKEN_UNKNOWN;
	/* NaN is greater than all other values. */
	if (isnan(value))
		return beyond(field, strategy, true, result);
	integer = strategy == BTGreaterStrategyNumber || strategy == BTLessEqualStrategyNumber ? floor(value) :
		ceil(value);
	if (strategy == BTEqualStrategyNumber && integer != value)
		return TAKEN_NONE;
	if (integer >= ldexp(1, 63) || integer < -ldexp(1, 63))
		return beyond(field, strategy, value > 0, result);
	*result = Int64GetDatum((int64) integer);
	return TAKEN;
}

/*
 * take_bound
 *		Sets *result to a bound of numerics that are rounded to a double which is at least, or at
 *		most, value: the second neighbour of the value, written with all digits that a double has.
 */
Taken
take_bound(StrategyNumber strategy, double value, Datum *result)
{
	double		limit = strategy == BTGreaterEqualStrategyNumber ? -get_float8_infinity() : get_float8_infinity();
	double		bound = nextafter(nextafter(value, limit), limit);

	if (isnan(bound))
		return TAKEN_UNKNOWN;
	*result = DirectFunctionCall3(numeric_in, CStringGetDatum(psprintf("%.17g", bound)), ObjectIdGetDatum(InvalidOid),
								  Int32GetDatum(-1));
	return TAKEN;
}

/* take_numeric: does what take_float() does with a value of type numeric, which rounds nothing */
Taken
take_numeric(Field *field, StrategyNumber strategy, Numeric value, Datum *result)
{
	Datum		integer;

	if (numeric_is_nan(value))
		return beyond(field, strategy, true, result);
	if (numeric_is_inf(value))
		return beyond(field, strategy,
					  DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(value),
													   NumericGetDatum(int64_to_numeric(0)))),
					  result);
	integer = DirectFunctionCall1(strategy == BTGreaterStrategyNumber || strategy == BTLessEqualStrategyNumber ?
								  numeric_floor : numeric_ceil, NumericGetDatum(value));
	if (strategy == BTEqualStrategyNumber &&
		!DatumGetBool(DirectFunctionCall2(numeric_eq, integer, NumericGetDatum(value))))
		return TAKEN_NONE;
	if (DatumGetBool(DirectFunctionCall2(numeric_gt, integer, NumericGetDatum(int64_to_numeric(PG_INT64_MAX)))))
		return beyond(field, strategy, true, result);
	if (DatumGetBool(DirectFunctionCall2(numeric_lt, integer, NumericGetDatum(int64_to_numeric(PG_INT64_MIN)))))
		return beyond(field, strategy, false, result);
	*result = DirectFunctionCall1(numeric_int8, integer);
	return TAKEN;
}

/*
 * beyond
 *		Does it with a value above or below all of bigint: no integer, or every integer, satisfies
 *		the condition.  For fields of other types the ends of bigint have all integers between
 *		them.
 */
static Taken
beyond(Field *field, StrategyNumber strategy, bool above, Datum *result)
{
	bool		wants_less = strategy == BTLessStrategyNumber || strategy == BTLessEqualStrategyNumber;

	if (strategy == BTEqualStrategyNumber || wants_less != above)
		return TAKEN_NONE;
	if (field->type == INT8OID && (strategy == BTLessStrategyNumber || strategy == BTGreaterStrategyNumber))
		return TAKEN_UNKNOWN;
	*result = Int64GetDatum(above ? PG_INT64_MAX : PG_INT64_MIN);
	return TAKEN;
}

/*-------------------------------------------------------------------------
 * Tells whether an expression is the number that a field is, as another type.
 *
 * A row has an entry in a field of type int if the cast to int accepts its text.  Then
 * (doc ->> 'age')::float8, ::numeric and ::bigint are the same number, wherever they are not an
 * error: the texts that int accepts are decimal digits with a sign and spaces, which the other
 * types read alike, or, in newer servers, 0x1f, 0o17, 0b11 and 1_000.  numeric and bigint read
 * these in the same way.  float8 has an error for the last three, and takes 0x1f for the same
 * number.  The reverse does not hold: what float8 accepts may be an error for int.
 *
 * A numeric with a scale has the same value as one without, for an integer, unless the scale is
 * negative, or has an error.  float4 and float8 round integers of more than 24 or 53 bits: the
 * comparison then does not tell them from others.
 *
 * (doc -> 'age')::int of a number in JSON rounds it; but where there is an entry, its text has
 * no decimals.  Of a string in JSON it is an error, which only the check of the row raises.
 *-------------------------------------------------------------------------
 */

/*
 * number_of_field
 *		Returns whether an expression is the number that a field of integers is.  Sets *bits to how
 *		many bits of it are seen, if that are not all, else to 0; and *lossy if an error is to be
 *		raised where the value is no number.
 */
bool
number_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *bits, bool *lossy)
{
	Oid			type = exprType(expr);
	FuncExpr   *call = (FuncExpr *) expr;
	Oid			from;

	*bits = 0;
	*lossy = false;
	if (!is_integer_type(field->type) || !is_castable_field(field) || !is_number_type(type))
		return false;
	from = cast_from(expr);
	if (IsA(expr, CoerceViaIO))
	{
		if (!accepts(type, field->type) ||
			!is_text_of_field(def, field, bare_value((Node *) ((CoerceViaIO *) expr)->arg), varno))
			return false;
	}
	else if (IsA(expr, FuncExpr) && call->funcid == F_NUMERIC_NUMERIC_INT4)
	{
		Const	   *typmod = lsecond(call->args);

		/* The scale is below 0 if its 11 bits are above 1000. */
		return IsA(typmod, Const) && !typmod->constisnull &&
			(DatumGetInt32(typmod->constvalue) < (int32) VARHDRSZ ||
			 ((DatumGetInt32(typmod->constvalue) - VARHDRSZ) & 0x7ff) <= 1000) &&
			number_of_field(def, field, linitial(call->args), varno, bits, lossy);
	}
	else if (from == JSONBOID)
	{
		*lossy = true;
		if (!accepts(type, field->type) ||
			!is_value_after(def, field, field->spec->nsteps, linitial(call->args), varno))
			return false;
	}
	else if (!is_number_type(from) || !number_of_field(def, field, linitial(call->args), varno, bits, lossy) ||
			 (type != FLOAT4OID && type != FLOAT8OID && !(is_integer_type(from) && accepts(type, from))))
		return false;
	if (type == FLOAT4OID)
		*bits = field->type == INT2OID ? 0 : 24;
	else if (type == FLOAT8OID && *bits == 0)
		*bits = field->type == INT8OID ? 53 : 0;
	return true;
}

/*
 * double_of_field
 *		Returns whether an expression is the double that a field of type numeric is rounded to, if
 *		that is no error, in the same order, and sets *lossy as number_of_field() does.
 */
bool
double_of_field(IndexDef *def, Field *field, Node *expr, Index varno, bool *lossy)
{
	FuncExpr   *call = (FuncExpr *) expr;

	*lossy = IsA(expr, FuncExpr) && call->funcid == F_FLOAT8_JSONB;
	if (field->type != NUMERICOID || field->typmod >= 0 || !is_castable_field(field) ||
		exprType(expr) != FLOAT8OID)
		return false;
	if (IsA(expr, CoerceViaIO))
		return is_text_of_field(def, field, bare_value((Node *) ((CoerceViaIO *) expr)->arg), varno);
	return *lossy ? is_value_after(def, field, field->spec->nsteps, linitial(call->args), varno) :
		IsA(expr, FuncExpr) && call->funcid == F_FLOAT8_NUMERIC &&
		expression_is_field(def, field, linitial(call->args), varno);
}

/*
 * is_json_cast
 *		Returns whether an expression is what a scalar in JSON becomes in the type of a field,
 *		as its text does, if that is no error.
 */
bool
is_json_cast(IndexDef *def, Field *field, Node *expr, Index varno)
{
	return exprType(expr) == field->type && !is_integer_type(field->type) && field->typmod < 0 &&
		is_castable_field(field) && cast_from(expr) == JSONBOID &&
		is_value_after(def, field, field->spec->nsteps, linitial(((FuncExpr *) expr)->args), varno);
}

/*
 * is_number_cast
 *		Returns whether one of these is true; sets *rounded if several numbers may become one.
 */
bool
is_number_cast(IndexDef *def, Field *field, Node *expr, Index varno, bool *rounded, bool *lossy)
{
	int			bits;
	bool		result = number_of_field(def, field, expr, varno, &bits, lossy) ||
		double_of_field(def, field, expr, varno, lossy);

	*rounded = bits > 0 || (result && field->type == NUMERICOID);
	*lossy = *lossy || !result;
	return result || is_json_cast(def, field, expr, varno);
}

/*
 * cast_from
 *		Returns the type that an expression casts by the server's function for that, or
 *		InvalidOid.
 */
static Oid
cast_from(Node *expr)
{
	FuncExpr   *call = (FuncExpr *) expr;
	Oid			from = IsA(expr, FuncExpr) && call->args != NIL ? exprType(linitial(call->args)) : InvalidOid;
	Oid			function;

	return OidIsValid(from) && call->funcid < FirstNormalObjectId &&
		find_coercion_pathway(call->funcresulttype, from, COERCION_EXPLICIT, &function) == COERCION_PATH_FUNC &&
		function == call->funcid ? from : InvalidOid;
}

/* accepts: returns whether a type has all values of a type of integers, if perhaps rounded */
static bool
accepts(Oid type, Oid integer)
{
	return type == NUMERICOID || type == FLOAT4OID || type == FLOAT8OID || type == INT8OID || type == integer ||
		(type == INT4OID && integer == INT2OID);
}

/* number_strategy: returns which comparison of numbers an operator makes, or InvalidStrategy */
StrategyNumber
number_strategy(Oid operator)
{
	Oid			left;
	Oid			right;

	if (!OidIsValid(operator))
		return InvalidStrategy;
	op_input_types(operator, &left, &right);
	if (!is_number_type(left) || !is_number_type(right))
		return InvalidStrategy;
	return get_op_opfamily_strategy(operator, lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}
