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
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../entry/json_cast.h"
#include "scalar_value.h"

static Taken beyond(Field *field, StrategyNumber strategy, bool above, Datum *result);

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

/* is_castable_field: returns whether any session may cast texts to the type of a field, as the writers of its entries do */
bool
is_castable_field(Field *field)
{
	return field->fact_attno == 0 && !field->is_hint && !field->is_jsonb && field->type < FirstNormalObjectId &&
		!field->cast.users;
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
 * to it.  JSON null has no entry, and an array or an object may have several texts.
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
	integer = strategy == BTGreaterStrategyNumber || strategy == BTLessEqualStrategyNumber ? floor(value) : ceil(value);
	if (strategy == BTEqualStrategyNumber && integer != value)
		return TAKEN_NONE;
	if (integer >= ldexp(1, 63) || integer < -ldexp(1, 63))
		return beyond(field, strategy, value > 0, result);
	*result = Int64GetDatum((int64) integer);
	return TAKEN;
}

/* take_numeric: does the same with a value of type numeric, which rounds nothing */
Taken
take_numeric(Field *field, StrategyNumber strategy, Numeric value, Datum *result)
{
	Datum		integer;

	if (numeric_is_nan(value))
		return beyond(field, strategy, true, result);
	if (numeric_is_inf(value))
		return beyond(field, strategy, DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(value),
																		NumericGetDatum(int64_to_numeric(0)))), result);
	integer = DirectFunctionCall1(strategy == BTGreaterStrategyNumber || strategy == BTLessEqualStrategyNumber ?
								  numeric_floor : numeric_ceil, NumericGetDatum(value));
	if (strategy == BTEqualStrategyNumber && !DatumGetBool(DirectFunctionCall2(numeric_eq, integer, NumericGetDatum(value))))
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
