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

#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "match.h"

static List *implied_by_operator(IndexDef *def, Oid operator, Oid collation, Node *expr, Node *value, bool array,
								 Index varno);
static List *implied_by_epoch(IndexDef *def, Oid operator, Node *number, Node *value, Index varno);
static Node *seconds_of_time(Node *value, double more);
static Condition *row_comparison_start(IndexDef *def, RowCompareExpr *clause, Index varno);
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
		Condition  *condition = make_comparison(def, position, operator, collation, value, array);

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
				condition = make_conversion(def, i,
											function == F_JSONB_EQ ? BTEqualStrategyNumber :
											function == F_JSONB_GT ? BTGreaterStrategyNumber :
											BTGreaterEqualStrategyNumber,
											TAKE_JSON, 0, value, array);
		}
		else if (operator == TextEqualOperator)
		{
			if (is_castable_field(field) && OidIsValid(collation) && get_collation_isdeterministic(collation) &&
				is_text_of_field(def, field, bare_value(expr), varno))
				condition = make_conversion(def, i, BTEqualStrategyNumber, TAKE_TEXT, 0, value, array);
		}
		else if (strategy != InvalidStrategy && (!array || number_strategy(operator) == BTEqualStrategyNumber) &&
				 is_json_cast(def, field, expr, varno))
		{
			/*
			 * It is no error of numbers, and of booleans, in JSON, whose
			 * texts can be cast.
			 */
			condition = make_comparison(def, i, operator, collation, value, array);
			if (condition != NULL)
				mark_castable(def, condition);
		}
		else if (strategy != InvalidStrategy && number_of_field(def, field, expr, varno, &bits, &lossy) &&
				 (!array || number_strategy(operator) == BTEqualStrategyNumber))
			condition = make_conversion(def, i, strategy, TAKE_NUMBER, bits, value, array);
		else if (strategy != InvalidStrategy && !array && exprType(value) == FLOAT8OID &&
				 double_of_field(def, field, expr, varno, &lossy))
		{
			condition = make_conversion(def, i,
										strategy < BTEqualStrategyNumber ? BTLessEqualStrategyNumber :
										BTGreaterEqualStrategyNumber,
										TAKE_NUMBER, 0, value, false);
			if (strategy == BTEqualStrategyNumber && condition != NULL)
				result = lappend(result,
								 make_conversion(def, i, BTLessEqualStrategyNumber, TAKE_NUMBER, 0, value, false));
		}
		else if (!array && is_time_type(exprType(value)) &&
				 (of_times = time_strategy(operator)) != InvalidStrategy &&
				 time_of_field(def, field, expr, varno, &bits))
		{
			if (of_times >= BTEqualStrategyNumber)
				condition = make_conversion(def, i, BTGreaterEqualStrategyNumber, TAKE_DAY, bits, value, false);
			if (of_times == BTEqualStrategyNumber && condition != NULL)
			{
				condition->lossy = true;
				result = lappend(result, condition);
			}
			if (of_times <= BTEqualStrategyNumber)
				condition = make_conversion(def, i, BTLessEqualStrategyNumber, TAKE_DAY, bits, value, false);
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
	condition = make_comparison(def, position, BooleanEqualOperator, InvalidOid, makeBoolConst(value, false),
								false);
	if (condition != NULL)
	{
		condition->lossy = cast;
		mark_castable(def, condition);
	}
	return condition;
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
	condition = make_comparison(def, position, operator, linitial_oid(clause->inputcollids), value, false);
	if (condition != NULL)
	{
		condition->lossy = true;
		mark_castable(def, condition);
	}
	return condition;
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
		Condition  *condition = make_comparison(def, def->spec.multi_field, equal, collation,
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

		if (foreach_current_index(member) == MAX_SEARCHED)
			break;
		if (!contained && listed && (!IsA(member, Const) || ((Const *) member)->constisnull))
			continue;
		found = implied_by_operator(def, equal, collation, element, member, false, varno);
		exact = exact && list_length(found) == 1 && nknown <= MAX_SEARCHED;
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
