/*-------------------------------------------------------------------------
 *
 * comparison.c
 *	  Makes comparisons of columns of index tables with values, which entries can be searched by.
 *
 * A comparison is made with the value of a condition as it is, or with what take_value() makes of it: at
 * once if it is a constant, else when the scan starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../util/relation.h"
#include "match.h"

static bool are_castable(Field *field, Condition *condition);
static bool is_castable_value(Field *field, Condition *condition, Datum value);
static bool is_castable_scalar(Field *field, Condition *condition, JsonbValue *scalar);
static bool convert_constant(Field *field, Condition *condition);
static bool mentions_relation(Node *node, void *varno);

/*
 * make_comparison
 *		Returns the comparison of a column with a value by an operator, if the btree knows the
 *		operator; otherwise NULL.  What is equal by one deterministic collation is equal by all
 *		of them.
 */
Condition *
make_comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value, bool array)
{
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.ident[position] - 1);
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Condition  *condition;
	int			strategy = OidIsValid(operator) ? get_op_opfamily_strategy(operator, family) : InvalidStrategy;
	Oid			left;
	Oid			right;

	if (strategy == InvalidStrategy)
		return NULL;
	op_input_types(operator, &left, &right);
	if (OidIsValid(att->attcollation) && collation != att->attcollation &&
		(strategy != BTEqualStrategyNumber || !OidIsValid(collation) ||
		 !get_collation_isdeterministic(collation) || !get_collation_isdeterministic(att->attcollation)))
		return NULL;
	condition = palloc0(sizeof(Condition));
	condition->position = position;
	condition->attno = def->layout.ident[position];
	condition->strategy = strategy;
	condition->operator = operator;
	condition->subtype = right;
	condition->value = (Expr *) value;
	condition->array = array;
	condition->from = right;
	condition->unless = values_read_otherwise(def, def->layout.ident[position]);
	return condition;
}

/*
 * make_conversion
 *		Returns the comparison of a column with what take_value() makes of a value, or of each of
 *		several, or with NULL, if the value is JSON null; NULL if there is none.
 */
Condition *
make_conversion(IndexDef *def, int position, StrategyNumber strategy, Taking taking, int detail, Node *value,
				bool array)
{
	Field	   *field = &def->spec.fields[position];
	TypeCacheEntry *cache = lookup_type_cache(field->type, TYPECACHE_BTREE_OPFAMILY);
	Condition  *condition = palloc0(sizeof(Condition));

	if (!array && strategy == BTEqualStrategyNumber && IsA(value, Const) &&
		is_json_null(field, taking, detail, (Const *) value))
		return null_comparison(def, position);
	condition->position = position;
	condition->attno = def->layout.ident[position];
	condition->strategy = strategy;
	condition->subtype = is_integer_type(field->type) ? INT8OID : cache->btree_opintype;
	condition->operator = get_opfamily_member(cache->btree_opf, cache->btree_opintype, condition->subtype,
											  strategy);
	condition->value = (Expr *) value;
	condition->array = array;
	condition->taking = taking;
	condition->detail = detail;
	condition->from = getBaseType(exprType(value));
	if (array)
		condition->from = get_base_element_type(condition->from);
	condition->implied = true;
	condition->lossy = taking == TAKE_NUMBER && field->type == NUMERICOID;
	condition->castable = def->spec.skip_mismatch && strategy == BTEqualStrategyNumber && !field->spec->multi &&
		are_castable(field, condition);
	return OidIsValid(condition->operator) && OidIsValid(condition->from) && convert_constant(field, condition) ?
		condition :
		NULL;
}

/*
 * null_comparison
 *		Returns the comparison of a key field with NULL, for rows that have to be checked; NULL if rows
 *		without the field have no entry.
 */
Condition *
null_comparison(IndexDef *def, int position)
{
	Field	   *field = &def->spec.fields[position];
	Condition  *condition;

	if (def->spec.sparse || is_element_position(def, position))
		return NULL;
	condition = make_comparison(def, position, get_equality_operator(field->type), field->collation,
								(Node *) makeNullConst(field->type, -1, field->collation), false);
	if (condition == NULL)
		return NULL;
	condition->taking = TAKE_NULL;
	condition->lossy = true;
	condition->unless = 0;
	return condition;
}

/*
 * json_comparison
 *		Returns the comparison of a key field with a scalar in JSON, as if by an operator of
 *		jsonb; NULL if there is none.
 */
Condition *
json_comparison(IndexDef *def, int position, StrategyNumber strategy, JsonbValue *scalar)
{
	Condition  *condition = make_conversion(def, position, strategy, TAKE_JSON, 0, (Node *) json_constant(scalar),
											false);

	/* To jsonpath nothing but a number is greater or less than one. */
	if (condition != NULL && strategy != BTEqualStrategyNumber)
	{
		Field	   *field = &def->spec.fields[position];

		condition->castable = def->spec.skip_mismatch && scalar->type == jbvNumeric && !field->spec->multi;
		condition->of_numbers = field->type != NUMERICOID || field->typmod >= 0;
	}
	return condition;
}

/*
 * json_value_comparison
 *		Returns the comparison of a key field with jsonb, an expression that is evaluated before the fact
 *		table is read, as json_comparison() does with a scalar; NULL if there is none.
 */
Condition *
json_value_comparison(IndexDef *def, int position, StrategyNumber strategy, Node *json, Index varno)
{
	return is_value(json, varno) ? make_conversion(def, position, strategy, TAKE_JSON, 0, json, false) : NULL;
}

/* json_constant: returns a scalar in JSON as a constant, jsonb */
Expr *
json_constant(JsonbValue *scalar)
{
	return (Expr *) makeConst(JSONBOID, -1, InvalidOid, -1, JsonbPGetDatum(JsonbValueToJsonb(scalar)), false,
							  false);
}

/*
 * mark_castable
 *		Says of a comparison with a key field that it follows from a condition that casts the field as
 *		entries do: where that is an error for the writers, it is one for the query, too.
 */
void
mark_castable(IndexDef *def, Condition *condition)
{
	condition->castable = condition->position < def->spec.nkeys &&
		is_cast_alike(&def->spec.fields[condition->position]);
}

/*
 * are_castable
 *		Returns whether each of the values that a condition compares with, all constants, can be cast to
 *		the type of a field, and so can every value that is equal to it.
 */
static bool
are_castable(Field *field, Condition *condition)
{
	Const	   *constant = (Const *) condition->value;

	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	if (!condition->array)
		return is_castable_value(field, condition, constant->constvalue);
	foreach_node(Const, element, array_constants(constant))
	{
		if (!element->constisnull && !is_castable_value(field, condition, element->constvalue))
			return false;
	}
	return true;
}

/*
 * is_castable_value
 *		Returns whether one value of those of are_castable() can be cast, and what is equal to it, as
 *		take_scalar() tells.
 */
static bool
is_castable_value(Field *field, Condition *condition, Datum value)
{
	JsonbValue	scalar;
	Datum		taken;

	switch (condition->taking)
	{
		case TAKE_TEXT:
			break;
		case TAKE_JSON:
			if (!JB_ROOT_IS_SCALAR(DatumGetJsonbP(value)) ||
				!JsonbExtractScalar(&DatumGetJsonbP(value)->root, &scalar) ||
				!is_castable_scalar(field, condition, &scalar))
				return false;
			break;
		case TAKE_CONTAINED:
			if (!contained_scalar(field, condition->detail, DatumGetJsonbP(value), &scalar) ||
				!is_castable_scalar(field, condition, &scalar))
				return false;
			break;
		default:
			return false;
	}
	return take_value(field, condition, value, &taken) == TAKEN;
}

/*
 * is_castable_scalar
 *		Returns whether a scalar in JSON can be cast to the type of a field, and what is equal to it.  That 1.0
 *		is equal to an integer is noted in the condition: nothing but numbers is.
 */
static bool
is_castable_scalar(Field *field, Condition *condition, JsonbValue *scalar)
{
	if (!is_integer_type(field->type) || scalar->type == jbvString)
		return true;
	condition->of_numbers = true;
	return scalar->type == jbvNumeric;
}

/*
 * convert_constant
 *		Puts the value that entries are searched by in place of a constant.  Returns false if
 *		there is none.
 */
static bool
convert_constant(Field *field, Condition *condition)
{
	Const	   *constant = (Const *) condition->value;
	int16		len;
	bool		byval;
	char		align;
	Datum		value = (Datum) 0;
	bool		isnull;
	Datum	   *elements;
	int			n;

	/* What a zone makes of a day is told when the scan starts. */
	if (!IsA(constant, Const) || condition->taking == TAKE_DAY)
		return true;
	isnull = constant->constisnull;
	get_typlenbyvalalign(condition->subtype, &len, &byval, &align);
	if (condition->array && !isnull)
	{
		if (take_values(field, condition, constant->constvalue, &elements, &n) == TAKEN_UNKNOWN)
			return false;
		value = PointerGetDatum(construct_array(elements, n, condition->subtype, len, byval, align));
	}
	else if (!isnull)
	{
		Taken		taken = take_value(field, condition, constant->constvalue, &value);

		if (taken == TAKEN_UNKNOWN)
			return false;
		isnull = taken == TAKEN_NONE;
	}
	condition->value = (Expr *)
		makeConst(condition->array ? get_array_type(condition->subtype) : condition->subtype, -1,
				  get_typcollation(condition->subtype), condition->array ? -1 : len, value, isnull,
				  condition->array ? false : byval);
	condition->taking = TAKE_AS_IS;
	condition->from = condition->subtype;
	return true;
}

/* is_value: returns whether an expression can be evaluated before the fact table is read */
bool
is_value(Node *expr, Index varno)
{
	return is_joined_values(expr) ||
		(!mentions_relation(expr, &varno) && !contain_volatile_functions(expr) && !contain_subplans(expr));
}

static bool
mentions_relation(Node *node, void *varno)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == (int) *(Index *) varno && ((Var *) node)->varlevelsup == 0;
	/* What is evaluated elsewhere may be NULL above an outer join. */
	if (IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, mentions_relation, varno);
}
