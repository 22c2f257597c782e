/*-------------------------------------------------------------------------
 *
 * search_condition.c
 *	  Turns the conditions of a query into comparisons that an index table can be searched by.
 *
 * A comparison is exact if it finds just the rows that satisfy the condition.  Otherwise it is
 * lossy: it finds more, and the condition has to be checked for each of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../util/relation.h"
#include "match.h"

static List *implied_by_operator(IndexDef *def, Oid operator, Oid collation, Node *expr, Node *value, bool array,
								 Index varno);
static List *implied_by_epoch(IndexDef *def, Oid operator, Node *number, Node *value, Index varno);
static Node *seconds_of_time(Node *value, double more);
static Condition *comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value, bool array);
static Condition *conversion(IndexDef *def, int position, StrategyNumber strategy, Taking taking, int detail,
							 Node *value, bool array);
static void mark_castable(IndexDef *def, Condition *condition);
static bool are_castable(Field *field, Condition *condition);
static bool is_castable_value(Field *field, Condition *condition, Datum value);
static bool is_castable_scalar(Field *field, Condition *condition, JsonbValue *scalar);
static bool convert_constant(Field *field, Condition *condition);
static Condition *contained_json(IndexDef *def, int position, int nsteps, Node *json);
static List *presence_conditions(IndexDef *def, Oid function, List *args, Index varno);
static bool is_through_member(IndexDef *def, Field *field, Node *document, List *names, Index varno);
static bool is_value(Node *expr, Index varno);
static Condition *row_comparison_start(IndexDef *def, RowCompareExpr *clause, Index varno);
static List *pattern_range(IndexDef *def, Node *clause, Oid function, List *args, Index varno);
static bool mentions_relation(Node *node, void *varno);
static List *exact_if_text(IndexDef *def, List *conditions, Node *value);
static List *contained_fields(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, bool elements,
							  bool others, Index varno, bool *unknown);
static List *contained_values(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, Index varno,
							  bool *unknown);
static List *element_exists(IndexDef *def, Oid function, List *args, Index varno);
static Node *element_of_field(IndexDef *def, Node *array, Index varno);
static List *array_members(IndexDef *def, Oid function, Oid collation, Node *array, Node *members, Index varno);

/*
 * compared_conditions
 *		Returns the comparisons (Condition *) of columns of the index that follow from a clause
 *		that compares something with a value.  Sets *unknown if others may follow when a parameter
 *		is known.
 */
List *
compared_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown)
{
	Condition  *condition = NULL;
	List	   *args;
	Oid			function = function_of(clause, &args);

	if (list_length(args) == 2)
	{
		Node	   *left = linitial(args);
		Node	   *right = lsecond(args);
		List	   *result = NIL;

		if (function == F_JSONB_CONTAINS)
			return exact_if_text(def, contained_values(root, def, left, right, false, varno, unknown), right);
		if (function == F_JSONB_CONTAINED)
			return exact_if_text(def, contained_values(root, def, right, left, false, varno, unknown), left);
		if (function == F_JSONB_EXISTS || function == F_JSONB_EXISTS_ALL || function == F_JSONB_EXISTS_ANY)
			return list_concat(exact_if_text(def, element_exists(def, function, args, varno), right),
							   presence_conditions(def, function, args, varno));
		if (IsA(clause, OpExpr))
		{
			OpExpr	   *op = (OpExpr *) clause;

			if (is_value(right, varno))
				result = implied_by_operator(def, op->opno, op->inputcollid, left, right, false, varno);
			else if (is_value(left, varno))
				result = implied_by_operator(def, get_commutator(op->opno), op->inputcollid, right, left, false,
											 varno);
			/* What is equal contains each other. */
			if (result == NIL && function == F_JSONB_EQ)
				result = is_value(right, varno) ? contained_values(root, def, left, right, false, varno, unknown) :
					contained_values(root, def, right, left, false, varno, unknown);
			if (result == NIL &&
				(function == F_ARRAYCONTAINS || function == F_ARRAYOVERLAP || function == F_ARRAY_EQ))
				result = array_members(def, function, op->inputcollid, left, right, varno);
			if (result == NIL &&
				(function == F_ARRAYCONTAINED || function == F_ARRAYOVERLAP || function == F_ARRAY_EQ))
				result = array_members(def, function, op->inputcollid, right, left, varno);
		}
		return result != NIL ? result : pattern_range(def, clause, function, args, varno);
	}
	if (IsA(clause, RowCompareExpr))
		condition = row_comparison_start(def, (RowCompareExpr *) clause, varno);
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
	{
		ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) clause;
		Node	   *element = element_of_field(def, lsecond(op->args), varno);

		if (element != NULL)
			return is_value(linitial(op->args), varno) ?
				implied_by_operator(def, get_commutator(op->opno), op->inputcollid, element, linitial(op->args),
									false, varno) :
				NIL;
		if (get_opcode(op->opno) == F_JSONB_CONTAINS)
			return contained_values(root, def, linitial(op->args), lsecond(op->args), true, varno, unknown);
		if (is_value(lsecond(op->args), varno))
			return implied_by_operator(def, op->opno, op->inputcollid, linitial(op->args), lsecond(op->args),
									   true, varno);
	}
	return condition != NULL ? list_make1(condition) : NIL;
}

/*
 * implied_by_operator
 *		Returns the comparisons that follow from that of an expression with a value, or, with array,
 *		with one of several values for equality.
 *
 * 1.  The expression is the field.  The comparison is the condition itself.
 *
 * 2.  It is a number that the field is, too: see scalar_value.c.  A comparison with the number
 * is one with the field, by a value that take_value() makes.  If the cast is one of JSON, to the
 * type of the field or another, the row is checked for the error that this cast may raise.
 *
 * 3.  It is the text at the path of the field, and equal to a text.  The entry of the row was
 * made of this text, so it has the value that the text is cast to.  Other texts may be cast to
 * the same, so rows are checked.
 *
 * 4.  It is the value at the path of the field, jsonb, and equal to a scalar.  The entry was made
 * of an equal scalar, of which take_scalar() tells.  The string "7" may have the same entry as
 * the number 7, so rows are checked.
 *
 * 5.  The same, but greater than a number, or equal to it.  In the order of jsonb, null and
 * strings are less than numbers, which are less than booleans, arrays and objects.  The text of
 * none of the last three is cast to a number, so the row has no entry unless it is a greater
 * number.  (It may be less and have none because it is null, and a string is less than any
 * number.  So nothing follows from that.)
 *
 * 6.  It is the double that the field, a numeric, is rounded to: then the field is near the double
 * that it is compared with, or beyond.
 *
 * 7.  It is the time of a number: see implied_by_epoch().
 *
 * 8.  It is a date or a time that is made of the text of the field, which is one, too, by other
 * casts: see time_value.c.
 *
 * For 3 to 5, a value that is NULL is not at the path: the condition is not true of such a row.
 * Where JSON null is, the field is NULL, unless it is of type jsonb.
 */
static List *
implied_by_operator(IndexDef *def, Oid operator, Oid collation, Node *expr, Node *value, bool array, Index varno)
{
	int			position;
	StrategyNumber strategy = array ? BTEqualStrategyNumber : number_strategy(operator);
	StrategyNumber of_times;
	Oid			function;
	List	   *result = NIL;

	if (!OidIsValid(operator))
		return NIL;
	if (IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_TO_TIMESTAMP_FLOAT8 && !array)
		return implied_by_epoch(def, operator, linitial(((FuncExpr *) expr)->args), value, varno);
	position = operator == TextEqualOperator && OidIsValid(collation) && get_collation_isdeterministic(collation) ?
		position_of_text(def, &expr, value, varno) : index_position_of(def, expr, varno);
	if (position >= 0)
	{
		Condition  *condition = comparison(def, position, operator, collation, value, array);

		/* What is cast further may be compared, too. */
		if (condition != NULL && array && condition->strategy != BTEqualStrategyNumber)
			return NIL;
		if (condition != NULL)
		{
			mark_castable(def, condition);
			result = list_make1(condition);
		}
		/* Where a time may have no zone, its entry is near it. */
		if (condition != NULL &&
			(condition->unless != ZONELESS_BIT || index_table_has_none(def, ZONELESS_BIT, NULL)))
			return result;
	}
	function = get_opcode(operator);
	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Condition  *condition = NULL;
		bool		lossy = true;
		int			bits;

		if (function == F_JSONB_EQ || ((function == F_JSONB_GT || function == F_JSONB_GE) && !array &&
									   is_number_type(field->type)))
		{
			if (is_castable_field(field) && is_value_after(def, field, field->spec->nsteps, expr, varno))
				condition = conversion(def, i,
									   function == F_JSONB_EQ ? BTEqualStrategyNumber :
									   function == F_JSONB_GT ? BTGreaterStrategyNumber :
									   BTGreaterEqualStrategyNumber,
									   TAKE_JSON, 0, value, array);
		}
		else if (operator == TextEqualOperator)
		{
			if (is_castable_field(field) && OidIsValid(collation) && get_collation_isdeterministic(collation) &&
				is_text_of_field(def, field, bare_value(expr), varno))
				condition = conversion(def, i, BTEqualStrategyNumber, TAKE_TEXT, 0, value, array);
		}
		else if (strategy != InvalidStrategy && (!array || number_strategy(operator) == BTEqualStrategyNumber) &&
				 is_json_cast(def, field, expr, varno))
		{
			/*
			 * It is no error of numbers, and of booleans, in JSON, whose
			 * texts can be cast.
			 */
			condition = comparison(def, i, operator, collation, value, array);
			if (condition != NULL)
				mark_castable(def, condition);
		}
		else if (strategy != InvalidStrategy && number_of_field(def, field, expr, varno, &bits, &lossy) &&
				 (!array || number_strategy(operator) == BTEqualStrategyNumber))
			condition = conversion(def, i, strategy, TAKE_NUMBER, bits, value, array);
		else if (strategy != InvalidStrategy && !array && exprType(value) == FLOAT8OID &&
				 double_of_field(def, field, expr, varno, &lossy))
		{
			condition = conversion(def, i,
								   strategy < BTEqualStrategyNumber ? BTLessEqualStrategyNumber :
								   BTGreaterEqualStrategyNumber,
								   TAKE_NUMBER, 0, value, false);
			if (strategy == BTEqualStrategyNumber && condition != NULL)
				result = lappend(result,
								 conversion(def, i, BTLessEqualStrategyNumber, TAKE_NUMBER, 0, value, false));
		}
		else if (!array && is_time_type(exprType(value)) &&
				 (of_times = time_strategy(operator)) != InvalidStrategy &&
				 time_of_field(def, field, expr, varno, &bits))
		{
			if (of_times >= BTEqualStrategyNumber)
				condition = conversion(def, i, BTGreaterEqualStrategyNumber, TAKE_DAY, bits, value, false);
			if (of_times == BTEqualStrategyNumber && condition != NULL)
			{
				condition->lossy = true;
				result = lappend(result, condition);
			}
			if (of_times <= BTEqualStrategyNumber)
				condition = conversion(def, i, BTLessEqualStrategyNumber, TAKE_DAY, bits, value, false);
		}
		if (condition == NULL)
			continue;
		condition->lossy |= lossy;
		result = lappend(result, condition);
	}
	return result;
}

/*
 * implied_by_epoch
 *		Returns the comparisons that follow from that of to_timestamp(number) with a time.
 *
 * The time of a number is rounded to microseconds, and seconds are rounded as double.  So the number is
 * compared with the seconds of the time, and one more or less, and rows are checked.
 */
static List *
implied_by_epoch(IndexDef *def, Oid operator, Node *number, Node *value, Index varno)
{
	Oid			times = lookup_type_cache(TIMESTAMPTZOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			numbers = lookup_type_cache(FLOAT8OID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	StrategyNumber strategy = get_op_opfamily_strategy(operator, times);
	List	   *result = NIL;

	if (strategy == InvalidStrategy || exprType(value) != TIMESTAMPTZOID)
		return NIL;
	if (strategy >= BTEqualStrategyNumber)
	{
		operator = get_opfamily_member(numbers, FLOAT8OID, FLOAT8OID, BTGreaterEqualStrategyNumber);
		result = implied_by_operator(def, operator, InvalidOid, number, seconds_of_time(value, -1), false, varno);
	}
	if (strategy <= BTEqualStrategyNumber)
	{
		operator = get_opfamily_member(numbers, FLOAT8OID, FLOAT8OID, BTLessEqualStrategyNumber);
		result = list_concat(result, implied_by_operator(def, operator, InvalidOid, number,
														 seconds_of_time(value, 1), false, varno));
	}
	foreach_ptr(Condition, condition, result)
	{
		mark_lossy(condition);
		condition->implied = true;
	}
	return result;
}

/* seconds_of_time: returns the seconds since 1970 of a timestamptz, a double, and some more */
static Node *
seconds_of_time(Node *value, double more)
{
	Datum		unit = CStringGetTextDatum("epoch");
	Const	   *constant = (Const *) value;
	Const	   *result = makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(more), false,
								   FLOAT8PASSBYVAL);
	Node	   *epoch;
	Expr	   *seconds;

	if (IsA(value, Const) && constant->constisnull)
		result->constisnull = true;
	else if (IsA(value, Const))
		result->constvalue = Float8GetDatum(more + DatumGetFloat8(DirectFunctionCall2(timestamptz_part, unit,
																					  constant->constvalue)));
	if (IsA(value, Const))
		return (Node *) result;
	epoch = (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, unit, false, false);
	seconds = (Expr *) makeFuncExpr(F_DATE_PART_TEXT_TIMESTAMPTZ, FLOAT8OID, list_make2(epoch, value), InvalidOid,
									DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
	return (Node *) makeFuncExpr(F_FLOAT8PL, FLOAT8OID, list_make2(seconds, result), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * null_conditions
 *		Returns the comparisons that follow from IS NULL or IS NOT NULL: those of the field itself, of
 *		the text that it was made of, and of that as another number, which are NULL where the field is.
 *
 * In entries of an index table that is not sparse, fields are NULL where they are in the rows.  Where
 * the value in JSON is NULL, so is its text; the reverse is not true, so rows are checked.  So where
 * there is a text there is a value, of which a field of type jsonb has JSON null, too.
 */
List *
null_conditions(IndexDef *def, NullTest *test, Index varno)
{
	bool		is_null = test->nulltesttype == IS_NULL;
	Node	   *expr = (Node *) test->arg;
	List	   *result = NIL;

	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch && !def->spec.sparse && !test->argisrow; i++)
	{
		Field	   *field = &def->spec.fields[i];
		bool text = field->fact_attno == 0 && !field->is_jsonb;
		bool		rounded;
		bool		lossy = false;
		bool		exact = expression_is_field(def, field, expr, varno) ||
			(text &&(is_text_of_field(def, field, bare_value(expr), varno) ||
					 is_number_cast(def, field, expr, varno, &rounded, &lossy)));
		bool		implied = is_null ? text &&is_value_after(def, field, field->spec->nsteps, expr, varno) :
			field->fact_attno == 0 && field->is_jsonb && is_text_of_field(def, field, bare_value(expr), varno);
		Condition  *condition = exact || implied ? null_comparison(def, i) : NULL;

		if (condition == NULL)
			continue;
		condition->taking = is_null ? TAKE_NULL : TAKE_NOT_NULL;
		condition->strategy = is_null ? BTEqualStrategyNumber : BTLessStrategyNumber;
		condition->lossy = !exact || lossy;
		if (depends_on_json_path(expr, NULL))
			mark_unwrapped(condition);
		result = lappend(result, condition);
	}
	return result;
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
	condition = comparison(def, position, get_equality_operator(field->type), field->collation,
						   (Node *) makeNullConst(field->type, -1, field->collation), false);
	if (condition == NULL)
		return NULL;
	condition->taking = TAKE_NULL;
	condition->lossy = true;
	condition->unless = 0;
	return condition;
}

/* The number of names of members of which a document has none that fields are looked for by. */
#define MAX_NAMES	32

/*
 * absence_conditions
 *		Returns the comparisons that follow if a condition is not true: of NOT (doc ? 'town') and the
 *		like, that key fields at a path through the member are NULL.
 *
 * A path leads nowhere where an object lacks the member, and where there is no object, unless the name
 * may be the number of an element.  JSON null is NULL, too, and an array may have the name for an
 * element, so rows are checked.
 */
List *
absence_conditions(IndexDef *def, Node *clause, Index varno)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	List	   *result = NIL;
	List	   *names = NIL;

	if (function == F_JSONB_EXISTS && IsA(lsecond(args), Const) && !lsecond_node(Const, args)->constisnull)
		names = list_make1(lsecond(args));
	else if (function == F_JSONB_EXISTS_ANY)
		names = constant_values(lsecond(args), MAX_NAMES);
	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch && names != NIL; i++)
	{
		Condition  *condition = null_comparison(def, i);

		if (condition != NULL && is_through_member(def, &def->spec.fields[i], linitial(args), names, varno))
			result = lappend(result, condition);
	}
	return result;
}

/*
 * presence_conditions
 *		Returns the comparisons that follow from doc ? 'town', and ?& with several names: a field of type
 *		jsonb is not NULL, as JSON null is no NULL there.
 *
 * An array may have the name for an element, and a string be the name.  So a constraint has to say that
 * the document is an object.
 */
static List *
presence_conditions(IndexDef *def, Oid function, List *args, Index varno)
{
	List	   *result = NIL;
	List	   *names = NIL;

	if (function == F_JSONB_EXISTS && IsA(lsecond(args), Const) && !lsecond_node(Const, args)->constisnull)
		names = list_make1(lsecond(args));
	else if (function == F_JSONB_EXISTS_ALL)
		names = constant_values(lsecond(args), MAX_NAMES);
	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch && names != NIL; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Condition  *condition;

		if (!field->is_jsonb || field->spec->multi || field->spec->nsteps == 0 ||
			!is_value_after(def, field, field->spec->nsteps - 1, linitial(args), varno) ||
			!is_through_member(def, field, linitial(args), names, varno) || !check_says_object(def, field))
			continue;
		condition = null_comparison(def, i);
		if (condition == NULL)
			continue;
		condition->taking = TAKE_NOT_NULL;
		condition->strategy = BTLessStrategyNumber;
		result = lappend(result, condition);
	}
	return result;
}

/*
 * is_through_member
 *		Returns whether the path of a field leads through a member of a document with one of
 *		some names.
 */
static bool
is_through_member(IndexDef *def, Field *field, Node *document, List *names, Index varno)
{
	for (int i = 0; field->fact_attno == 0 && i < field->spec->nsteps; i++)
	{
		PathStep   *step = &field->spec->steps[i];

		if (step->wildcard)
			break;
		if (step->is_index || !is_value_after(def, field, i, document, varno))
			continue;
		foreach_ptr(Const, name, names)
		{
			text	   *value = DatumGetTextPP(name->constvalue);

			if (step->len == (int) VARSIZE_ANY_EXHDR(value) &&
				memcmp(step->name, VARDATA_ANY(value), step->len) == 0)
				return true;
		}
	}
	return false;
}

/*
 * is_searchable
 *		Returns whether an index table can be searched by whatever an expression is equal to, by an
 *		operator.  NULLIF() is equal to something only where what it is made of is: see
 *		implied_by_choice().
 */
bool
is_searchable(IndexDef *def, Oid operator, Oid collation, Node *expr, Index varno)
{
	Node	   *value = (Node *) makeNullConst(exprType(expr), -1, collation);
	Node	   *choice = without_casts(expr);

	if (IsA(choice, NullIfExpr))
		expr = replace_node(expr, list_make2(choice, linitial(((NullIfExpr *) choice)->args)));
	return implied_by_operator(def, operator, collation, expr, value, false, varno) != NIL;
}

/*
 * json_comparison
 *		Returns the comparison of a key field with a scalar in JSON, as if by an operator of
 *		jsonb; NULL if there is none.
 */
Condition *
json_comparison(IndexDef *def, int position, StrategyNumber strategy, JsonbValue *scalar)
{
	Condition  *condition = conversion(def, position, strategy, TAKE_JSON, 0, (Node *) json_constant(scalar),
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

/* json_constant: returns a scalar in JSON as a constant, jsonb */
Expr *
json_constant(JsonbValue *scalar)
{
	return (Expr *) makeConst(JSONBOID, -1, InvalidOid, -1, JsonbPGetDatum(JsonbValueToJsonb(scalar)), false,
							  false);
}

/*
 * json_value_comparison
 *		Returns the same with jsonb that is evaluated before the fact table is read.
 */
Condition *
json_value_comparison(IndexDef *def, int position, StrategyNumber strategy, Node *json, Index varno)
{
	return is_value(json, varno) ? conversion(def, position, strategy, TAKE_JSON, 0, json, false) : NULL;
}

/*
 * prefix_comparison
 *		Returns one of the two comparisons, >= and <, of a text that starts with a string in JSON, which is
 *		evaluated before the fact table is read; NULL if there is none.  Texts are in the order of their bytes.
 */
Condition *
prefix_comparison(IndexDef *def, int position, StrategyNumber strategy, Node *json, Index varno)
{
	Field	   *field = &def->spec.fields[position];

	if (!is_castable_field(field) || field->type != TEXTOID || field->convert != NULL ||
		field->collation != C_COLLATION_OID || !is_value(json, varno))
		return NULL;
	return conversion(def, position, strategy, TAKE_PREFIX, 0, json, false);
}

/*
 * boolean_condition
 *		Returns the comparison that follows from an expression if it is true, or false: it is a
 *		boolean field, or the boolean in JSON that the field was made of, which has the same value.
 *		A cast of JSON to boolean may raise an error, which rows are checked for.
 */
Condition *
boolean_condition(IndexDef *def, Node *expr, bool value, Index varno)
{
	int			position = index_position_of(def, expr, varno);
	bool		cast = position < 0;
	Condition  *condition;

	for (int i = 0; position < 0 && i < def->spec.nkeys && i < def->layout.nsearch; i++)
	{
		if (is_json_cast(def, &def->spec.fields[i], expr, varno))
			position = i;
	}
	if (exprType(expr) != BOOLOID || position < 0)
		return NULL;
	condition = comparison(def, position, BooleanEqualOperator, InvalidOid, makeBoolConst(value, false), false);
	if (condition != NULL)
	{
		condition->lossy = cast;
		mark_castable(def, condition);
	}
	return condition;
}

/*
 * comparison
 *		Returns the comparison of a column with a value by an operator, if the btree knows the
 *		operator; otherwise NULL.  What is equal by one deterministic collation is equal by all
 *		of them.
 */
static Condition *
comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value, bool array)
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
 * conversion
 *		Returns the comparison of a column with what take_value() makes of a value, or of each of
 *		several, or with NULL, if the value is JSON null; NULL if there is none.
 */
static Condition *
conversion(IndexDef *def, int position, StrategyNumber strategy, Taking taking, int detail, Node *value,
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
 * mark_castable
 *		Says of a comparison with a key field that it follows from a condition that casts the field as
 *		entries do: where that is an error for the writers, it is one for the query, too.
 */
static void
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
 *		Returns the same of one of them, as take_scalar() tells.
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
 *		Returns the same of a scalar in JSON.  That 1.0 is equal to an integer is noted in the condition: nothing
 *		but numbers is.
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

/*
 * row_comparison_start
 *		Returns the range of the first column that follows from (a, b) > (x, y): a >= x.
 *
 * That says nothing of b: where a is greater, b may be NULL.
 */
static Condition *
row_comparison_start(IndexDef *def, RowCompareExpr *clause, Index varno)
{
	Node	   *value = linitial(clause->rargs);
	Oid			operator = linitial_oid(clause->opnos);
	Oid			family = linitial_oid(clause->opfamilies);
	int			position = index_position_of(def, linitial(clause->largs), varno);
	Condition  *condition;
	int			strategy;
	Oid			left;
	Oid			right;

	if (position < 0)
	{
		position = index_position_of(def, linitial(clause->rargs), varno);
		value = linitial(clause->largs);
		operator = get_commutator(operator);
	}
	strategy = OidIsValid(operator) ? get_op_opfamily_strategy(operator, family) : InvalidStrategy;
	if (position < 0 || strategy == InvalidStrategy || strategy == BTEqualStrategyNumber ||
		!is_value(value, varno))
		return NULL;
	op_input_types(operator, &left, &right);
	operator = get_opfamily_member(family, left, right,
								   strategy < BTEqualStrategyNumber ? BTLessEqualStrategyNumber :
								   BTGreaterEqualStrategyNumber);
	condition = comparison(def, position, operator, linitial_oid(clause->inputcollids), value, false);
	if (condition != NULL)
	{
		condition->lossy = true;
		mark_castable(def, condition);
	}
	return condition;
}

/*
 * pattern_range
 *		Returns the range that follows from doc ->> 'name' LIKE 'Ann%' and the like; a pattern
 *		may be shorter than what it finds: a{10}.
 */
static List *
pattern_range(IndexDef *def, Node *clause, Oid function, List *args, Index varno)
{
	Node	   *expr = linitial(args);
	int			position = position_of_text(def, &expr, lsecond(args), varno);
	List	   *result = NIL;
	Form_pg_attribute att;

	if (position < 0 || function >= FirstNormalObjectId || !IsA(lsecond(args), Const))
		return NIL;
	att = TupleDescAttr(def->layout.desc, def->layout.ident[position] - 1);
	foreach_node(OpExpr, op, bounds_of_pattern(clause, function, att->attcollation))
	{
		Condition  *condition = comparison(def, position, op->opno, op->inputcollid, lsecond(op->args), false);

		if (condition != NULL &&
			(expr == linitial(args) || expr == without_length(linitial(args), lsecond(op->args))))
		{
			condition->lossy = true;
			result = lappend(result, condition);
		}
	}
	return result;
}

/*
 * bounds_of_pattern
 *		Returns comparisons (OpExpr *) of texts that follow from a call of a function, LIKE for
 *		example, with a constant pattern, as the support functions of the server tell them for an
 *		index with a collation.  They look at nothing else of the index but its operator family.
 */
List *
bounds_of_pattern(Node *clause, Oid function, Oid collation)
{
	SupportRequestIndexCondition request = {.type = T_SupportRequestIndexCondition,
		.funcid = function,
	.node = clause};
	Oid			support = get_func_support(function);

	if (support != F_TEXTLIKE_SUPPORT && support != F_TEXTREGEXEQ_SUPPORT && support != F_TEXTICREGEXEQ_SUPPORT &&
		support != F_TEXT_STARTS_WITH_SUPPORT)
		return NIL;
	request.opfamily = lookup_type_cache(TEXTOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	request.indexcollation = collation;
	request.lossy = true;
	return (List *) DatumGetPointer(OidFunctionCall1(support, PointerGetDatum(&request)));
}

/* is_value: returns whether an expression can be evaluated before the fact table is read */
static bool
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

/* The largest number of elements of an array that are each searched for. */
#define MAX_ELEMENTS	4

/*
 * contained_values
 *		Returns equalities of key fields that follow from doc -> 'tags' @> '["x"]' and the like:
 *		a document that contains the value has the scalars in it at the same paths.  They are mostly
 *		lossy, because the string "5" and the number 5 may have the same entry.
 *
 * What is not constant is searched for scalar by scalar when the scan starts.  If it then has
 * none in one of the fields, nothing can be searched for, and the plan costs more than it promised.
 * So only those fields count in which it will have one, as far as can be told.
 *
 * With array, json is an array of values, of which one is contained.  All have to tell what to search
 * for.
 */
static List *
contained_values(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, Index varno, bool *unknown)
{
	List	   *result;
	Field	   *deepest;

	if (!is_value(json, varno) || (IsA(json, Const) && ((Const *) json)->constisnull))
		return NIL;
	if (def->spec.nelements < 2 || !IsA(json, Const) || array)
		return contained_fields(root, def, whole, json, array, true, true, varno, unknown);

	/* Each element of an array in the constant is contained by itself. */
	result = contained_fields(root, def, whole, json, array, false, true, varno, unknown);
	deepest = &def->spec.fields[def->spec.deepest];
	for (int nsteps = 0; nsteps <= deepest->element_steps; nsteps++)
	{
		if (!is_value_after(def, deepest, nsteps, whole, varno))
			continue;
		foreach_ptr(Node, single, with_single_elements(deepest->spec->steps + nsteps,
													   deepest->element_steps - nsteps, (Const *) json))
		{
			List	   *conditions = contained_fields(root, def, whole, single, array, true, false, varno,
													  unknown);
			int			number = new_scope();

			foreach_ptr(Condition, condition, conditions)
				condition->scope = nsteps < deepest->element_steps ? within_scope(NIL, number) : NIL;
			result = list_concat(result, conditions);
		}
		return result;
	}
	return list_concat(result, contained_fields(root, def, whole, json, array, true, false, varno, unknown));
}

/* contained_fields: returns the same for fields of elements, or others, or both */
static List *
contained_fields(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, bool elements, bool others,
				 Index varno, bool *unknown)
{
	List	   *result = NIL;

	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch; i++)
	{
		Field	   *field = &def->spec.fields[i];
		bool		is_json = field->fact_attno == 0 && field->is_jsonb && !array;

		if ((!is_castable_field(field) && !is_json) || !(field->spec->multi ? elements : others))
			continue;
		for (int nsteps = 0; nsteps <= field->spec->nsteps; nsteps++)
		{
			Condition  *condition;

			if (!is_value_after(def, field, nsteps, whole, varno))
				continue;
			if (is_json)
				condition = contained_json(def, i, nsteps, json);
			else if (IsA(json, Const) || contains_value(root, field, nsteps, json))
				condition = conversion(def, i, BTEqualStrategyNumber, TAKE_CONTAINED, nsteps, json, array);
			else
				condition = NULL;
			if (condition == NULL)
				*unknown = *unknown || IsA(json, Param);
			/* All elements of an array are contained: see and_path.c. */
			for (int nth = 1; condition != NULL; nth++)
			{
				condition->lossy = true;
				condition->nth = nth - 1;
				result = lappend(result, condition);
				condition = nth < MAX_ELEMENTS && i == def->spec.multi_field && def->spec.nelements == 1 &&
					IsA(json, Const) && !array ?
					conversion(def, i, BTEqualStrategyNumber, TAKE_CONTAINED, nsteps | nth << 16, json, false) :
					NULL;
			}
			break;
		}
	}
	return result;
}

/*
 * contained_json
 *		Returns the equality of a field of type jsonb with a scalar that a document contains,
 *		or NULL.
 */
static Condition *
contained_json(IndexDef *def, int position, int nsteps, Node *json)
{
	JsonbValue	scalar;

	if (!IsA(json, Const) ||
		!contained_scalar(&def->spec.fields[position], nsteps, DatumGetJsonbP(((Const *) json)->constvalue),
						  &scalar))
		return NULL;
	return comparison(def, position, get_equality_operator(JSONBOID), InvalidOid, (Node *) json_constant(&scalar),
					  false);
}

/*
 * element_exists
 *		Returns the equalities that follow from doc -> 'tags' ? 'x', and from ?| and ?& with an array
 *		of texts, of which one, or each, is an element.
 *
 * Of an object they look at the names of the members.  So a constraint has to say that it is an
 * array, or the record that no key is an object.
 */
static List *
element_exists(IndexDef *def, Oid function, List *args, Index varno)
{
	Field	   *field;
	Node	   *value = lsecond(args);
	List	   *result = NIL;

	if (def->spec.multi_field < 0 || def->spec.multi_field >= def->layout.nsearch || !is_value(value, varno))
		return NIL;
	field = &def->spec.fields[def->spec.multi_field];
	if (!is_castable_field(field) || field->spec->nsteps != field->plain_steps + 1 ||
		!is_value_after(def, field, field->plain_steps, linitial(args), varno))
		return NIL;
	foreach_ptr(Node, one,
				function == F_JSONB_EXISTS_ALL ? list_truncate(constant_values(value, INT_MAX), MAX_ELEMENTS) :
				list_make1(value))
	{
		Condition  *condition = conversion(def, def->spec.multi_field, BTEqualStrategyNumber, TAKE_TEXT, 0, one,
										   function == F_JSONB_EXISTS_ANY);

		if (condition == NULL)
			return NIL;
		condition->lossy = true;
		condition->nth = foreach_current_index(one);
		condition->unless = check_says_array(def, field) ? 0 : CONTAINER_BIT;
		result = lappend(result, condition);
	}
	return result;
}

/*
 * element_of_field
 *		Returns what stands for each element of an array if it is the column that a field has
 *		the elements of, or NULL.
 */
static Node *
element_of_field(IndexDef *def, Node *array, Index varno)
{
	return def->spec.multi_field >= 0 && def->spec.multi_field < def->layout.nsearch &&
		is_array_of_field(&def->spec.fields[def->spec.multi_field], array, varno) ? element_of(array) : NULL;
}

/*
 * array_members
 *		Returns the comparisons of the elements of an array column that follow if it overlaps with another
 *		array, contains its members, or is equal to it.
 *
 * It overlaps with it if and only if one of its elements is equal to one of the members.  It contains it if
 * and only if it has each member, and none of these is NULL.  It may be equal to one with NULL, which
 * tells nothing.  Where the members are not known one by one, entries are searched by the first of them.
 */
static List *
array_members(IndexDef *def, Oid function, Oid collation, Node *array, Node *members, Index varno)
{
	Node	   *element = element_of_field(def, array, varno);
	bool		listed = IsA(members, ArrayExpr) && !((ArrayExpr *) members)->multidims;
	Oid			equal;
	List	   *known;
	List	   *result = NIL;
	int			nknown;
	bool		contained = function != F_ARRAY_EQ; /* and none is NULL */
	bool		exact = contained;

	if (element == NULL || !is_value(members, varno) || (IsA(members, Const) && ((Const *) members)->constisnull))
		return NIL;
	equal = lookup_type_cache(exprType(element), TYPECACHE_EQ_OPR)->eq_opr;
	if (!OidIsValid(equal))
		return NIL;
	if (function == F_ARRAYOVERLAP)
		return implied_by_operator(def, equal, collation, element, members, true, varno);
	if (!listed && !IsA(members, Const))
	{
		Condition  *condition = comparison(def, def->spec.multi_field, equal, collation,
										   (Node *) makeNullConst(exprType(element), -1, collation), false);

		if (condition == NULL)
			return NIL;
		condition->value = (Expr *) members;
		condition->taking = TAKE_MEMBER;
		condition->detail = contained;
		condition->from = exprType(members);
		condition->lossy = condition->implied = true;
		return list_make1(condition);
	}
	/* A NULL among constants is left out, and is not contained. */
	known = listed ? ((ArrayExpr *) members)->elements : constant_values(members, INT_MAX);
	exact = exact && (listed || list_length(known) == list_length(array_constants((Const *) members)));
	known = list_concat_unique(NIL, known);
	nknown = list_length(known);
	foreach_ptr(Node, member, known)
	{
		List	   *found;

		if (foreach_current_index(member) == MAX_ELEMENTS)
			break;
		if (!contained && listed && (!IsA(member, Const) || ((Const *) member)->constisnull))
			continue;
		found = implied_by_operator(def, equal, collation, element, member, false, varno);
		exact = exact && list_length(found) == 1 && nknown <= MAX_ELEMENTS;
		foreach_ptr(Condition, condition, found)
		{
			condition->nth = foreach_current_index(member);
			condition->implied = true;
			exact = exact && !condition->lossy;
		}
		result = list_concat(result, found);
	}
	foreach_ptr(Condition, condition, result)
	{
		condition->lossy = !exact || nknown > 1;
		condition->together = exact && nknown > 1 ? nknown : 0;
	}
	return result;
}

/*
 * exact_if_text
 *		Has rows not be checked that comparisons find, if the value tells no more than that, or than
 *		all of the comparisons do together; returns the comparisons.
 */
static List *
exact_if_text(IndexDef *def, List *conditions, Node *value)
{
	foreach_ptr(Condition, condition, conditions)
	{
		int			ntexts = count_only_texts(def, &def->spec.fields[condition->position], value,
											  &condition->unless);

		if (ntexts == 0 || (ntexts > MAX_ELEMENTS && !condition->array) || condition->scope != NIL)
			continue;
		condition->lossy = ntexts > 1 && !condition->array;
		condition->together = condition->lossy ? ntexts : 0;
		condition->implied = true;
	}
	return conditions;
}

/* operands: returns the list of what a comparison compares, or of what NOT negates */
List *
operands(Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return ((OpExpr *) clause)->args;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) clause)->args;
		case T_BoolExpr:
			return ((BoolExpr *) clause)->boolop == NOT_EXPR ? ((BoolExpr *) clause)->args : NIL;
		default:
			return NIL;
	}
}
