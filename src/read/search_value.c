/*-------------------------------------------------------------------------
 *
 * search_value.c
 *	  Makes the value that entries are searched by of what a condition compares with: of a
 *	  constant when the query is planned, and of a parameter when the scan starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "contained.h"
#include "search_value.h"

/*
 * take_value
 *		Sets *result to what entries are searched by if a condition compares a field with a
 *		value, of the type from.  detail is the number of steps of the path after which a
 *		document contains the value, with the number of its element (contained_value()) 16 bits
 *		higher; or how many bits of an integer the comparison sees (0: all).
 */
Taken
take_value(Field *field, Taking taking, int detail, Oid from, StrategyNumber strategy, Datum value, Datum *result)
{
	JsonbValue	scalar;
	Jsonb	   *json;

	switch (taking)
	{
		case TAKE_AS_IS:
			*result = value;
			return TAKEN;
		case TAKE_NUMBER:
			switch (from)
			{
				case INT2OID:
					*result = Int64GetDatum(DatumGetInt16(value));
					break;
				case INT4OID:
					*result = Int64GetDatum(DatumGetInt32(value));
					break;
				case INT8OID:
					*result = Int64GetDatum(DatumGetInt64(value));
					break;
				case FLOAT4OID:
					return take_float(field, detail, strategy, DatumGetFloat4(value), result);
				case FLOAT8OID:
					return take_float(field, detail, strategy, DatumGetFloat8(value), result);
				case NUMERICOID:
					return take_numeric(field, strategy, DatumGetNumeric(value), result);
				default:
					return TAKEN_UNKNOWN;
			}
			return TAKEN;
		case TAKE_TEXT:
			scalar.type = jbvString;
			scalar.val.string.val = VARDATA_ANY(DatumGetTextPP(value));
			scalar.val.string.len = VARSIZE_ANY_EXHDR(DatumGetTextPP(value));
			return take_scalar(field, strategy, &scalar, result);
		case TAKE_JSON:
			json = DatumGetJsonbP(value);
			if (!JB_ROOT_IS_SCALAR(json) || !JsonbExtractScalar(&json->root, &scalar) ||
				(strategy != BTEqualStrategyNumber && scalar.type != jbvNumeric))
				return TAKEN_UNKNOWN;
			return take_scalar(field, strategy, &scalar, result);
		case TAKE_CONTAINED:
			return contained_value(field, detail & 0xffff, detail >> 16, DatumGetJsonbP(value), result) ? TAKEN : TAKEN_UNKNOWN;
	}
	return TAKEN_UNKNOWN;
}

/* array_elements: gets the elements of an array, and returns how many there are */
int
array_elements(ArrayType *array, Datum **elements, bool **nulls)
{
	int16		len;
	bool		byval;
	char		align;
	int			n;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, elements, nulls, &n);
	return n;
}

/* array_constants: returns the elements of a constant array that is not NULL, as constants (Const *) */
List *
array_constants(Const *constant)
{
	ArrayType  *array = DatumGetArrayTypeP(constant->constvalue);
	Oid			type = ARR_ELEMTYPE(array);
	List	   *result = NIL;
	int16		len;
	bool		byval;
	Datum	   *elements;
	bool	   *nulls;
	int			n = array_elements(array, &elements, &nulls);
	int			i;

	get_typlenbyval(type, &len, &byval);
	for (i = 0; i < n; i++)
		result = lappend(result, makeConst(type, -1, get_typcollation(type), len, elements[i], nulls[i], byval));
	return result;
}
