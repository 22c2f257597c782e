/*-------------------------------------------------------------------------
 *
 * number_match.c
 *	  Tells whether an expression is the number that a field is, as another type.
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
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "field_match.h"
#include "number_match.h"
#include "scalar_value.h"

static bool accepts(Oid type, Oid integer);

/*
 * number_of_field
 *		Returns whether an expression is the number that a field of integers is.  Sets *bits to how
 *		many bits of it are seen, if that are not all, else to 0; and *lossy if an error is to be
 *		raised where the value is no number.
 */
bool
number_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *bits, bool *lossy)
{
	FactDef    *fact = def->fact;
	AttrNumber	doc = fact->doc_attno[def->docno];
	Oid			type = exprType(expr);
	FuncExpr   *call = (FuncExpr *) expr;

	*bits = 0;
	*lossy = false;
	if (!is_integer_type(field->type) || !is_castable_field(field) || !is_number_type(type))
		return false;
	if (IsA(expr, CoerceViaIO))
	{
		if (!accepts(type, field->type) ||
			!expression_is_path_text(fact, doc, field->spec->steps, field->spec->nsteps,
									 bare_value((Node *) ((CoerceViaIO *) expr)->arg), varno))
			return false;
	}
	else if (IsA(expr, FuncExpr))
	{
		Const	   *typmod;

		switch (call->funcid)
		{
			case F_INT2_JSONB:
			case F_INT4_JSONB:
			case F_INT8_JSONB:
			case F_NUMERIC_JSONB:
			case F_FLOAT4_JSONB:
			case F_FLOAT8_JSONB:
				*lossy = true;
				if (!accepts(type, field->type) ||
					!expression_is_path(fact, doc, field->spec->steps, field->spec->nsteps, linitial(call->args), varno))
					return false;
				break;
			case F_NUMERIC_NUMERIC_INT4:
				typmod = lsecond(call->args);
				/* The scale is below 0 if its 11 bits are above 1000. */
				if (!IsA(typmod, Const) || typmod->constisnull ||
					(DatumGetInt32(typmod->constvalue) >= (int32) VARHDRSZ &&
					 ((DatumGetInt32(typmod->constvalue) - VARHDRSZ) & 0x7ff) > 1000))
					return false;
				return number_of_field(def, field, linitial(call->args), varno, bits, lossy);
			case F_INT4_INT2:
			case F_INT8_INT2:
			case F_INT8_INT4:
			case F_NUMERIC_INT2:
			case F_NUMERIC_INT4:
			case F_NUMERIC_INT8:
			case F_FLOAT4_INT2:
			case F_FLOAT4_INT4:
			case F_FLOAT4_INT8:
			case F_FLOAT8_INT2:
			case F_FLOAT8_INT4:
			case F_FLOAT8_INT8:
			case F_FLOAT8_FLOAT4:
			case F_FLOAT4_NUMERIC:
			case F_FLOAT8_NUMERIC:
				if (!number_of_field(def, field, linitial(call->args), varno, bits, lossy))
					return false;
				break;
			default:
				return false;
		}
	}
	else
		return false;
	if (type == FLOAT4OID)
		*bits = field->type == INT2OID ? 0 : 24;
	else if (type == FLOAT8OID && *bits == 0)
		*bits = field->type == INT8OID ? 53 : 0;
	return true;
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
	Oid			family;
	int			strategy;

	if (!OidIsValid(operator))
		return InvalidStrategy;
	op_input_types(operator, &left, &right);
	if (!is_number_type(left) || !is_number_type(right))
		return InvalidStrategy;
	family = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (!op_in_opfamily(operator, family))
		return InvalidStrategy;
	get_op_opfamily_properties(operator, family, false, &strategy, &left, &right);
	return strategy;
}
