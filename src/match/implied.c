/*-------------------------------------------------------------------------
 *
 * implied.c
 *	  Finds the comparisons of an index table's columns that follow from a condition of a query.
 *
 * A condition C implies a comparison if each row that satisfies C has an entry that satisfies the
 * comparison.  So a search by the comparison finds all rows of C, and perhaps others: then it is
 * lossy, and C is checked for each row that is found.  A row that has no entry, because a key
 * field is NULL or its value cannot be cast, must not satisfy C.  If a row with some kind of value may,
 * the comparison says so, and serves only while no row is recorded to have one.
 *
 * What C may look like, and why the comparison follows from it, is told here for conditions
 * that are put together of others, and in search_condition.c for those that compare one value
 * with another.  Whatever is not known here implies nothing, and is a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "match.h"

/* The number of choices within each other, as CASE or coalesce(), that are looked into. */
#define MAX_CHOICES		8

/* The number of AND, OR, NOT and IS TRUE within each other that are looked into. */
#define MAX_NESTED		64

/* The number of documents of which one is contained that are searched for. */
#define MAX_CONTAINED	1000

static List *implied_by_or(PlannerInfo *root, IndexDef *def, List *arms, Index varno, bool *unknown);
static List *implied_by_numbered_element(PlannerInfo *root, IndexDef *def, Node *clause, Index varno,
										 bool *unknown);
static SubPlan *array_subplan(Node *clause);
static List *contains_one(ScalarArrayOpExpr *clause);
static List *implied_by_choice(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown);
static int	depth_of_choices(Node *expr);
static bool may_be_true(PlannerInfo *root, Node *clause, Node *part, Node *constant);
static Const *with_constant(PlannerInfo *root, Node *clause, Node *part, Node *constant);
static bool is_searched_for_null(List *defs, NullTest *test, Index varno);
static Node *json_of_text(Node *expr);
static Node *as_comparison(Node *distinct);
static List *one(Condition *condition);
static bool is_nested(Node *clause, int depth);
static List *implied_by_absence(IndexDef *def, Node *clause, Index varno);

/*
 * implied_conditions
 *		Returns the comparisons (Condition *) of columns of the index that a clause implies.  Sets
 *		*unknown if others may follow when a parameter is known.
 *
 * A boolean alone, NOT of it, and IS TRUE and IS FALSE, are comparisons with true and false, and IS
 * UNKNOWN with NULL.
 */
List *
implied_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown)
{
	List	   *result = NIL;
	Node	   *arg;
	BoolTestType type;

	CHECK_FOR_INTERRUPTS();
	clause = without_sql_json(clause);
	switch (nodeTag(clause))
	{
		case T_BoolExpr:
			switch (((BoolExpr *) clause)->boolop)
			{
				case OR_EXPR:
					return implied_by_or(root, def, ((BoolExpr *) clause)->args, varno, unknown);
				case AND_EXPR:
					foreach_ptr(Node, one, ((BoolExpr *) clause)->args)
						result = list_concat(result, implied_conditions(root, def, one, varno, unknown));
					foreach_ptr(Condition, condition, result)
						mark_lossy(condition);
					return result;
				case NOT_EXPR:
					arg = linitial(((BoolExpr *) clause)->args);
					if (IsA(arg, DistinctExpr))
					{
						arg = as_comparison(arg);
						return arg == NULL ? NIL : compared_conditions(root, def, arg, varno, unknown);
					}
					result = list_concat(one(boolean_condition(def, arg, false, varno)),
										 implied_by_absence(def, arg, varno));
					break;
			}
			break;
		case T_BooleanTest:
			arg = (Node *) ((BooleanTest *) clause)->arg;
			type = ((BooleanTest *) clause)->booltesttype;
			if (type == IS_TRUE)
				return implied_conditions(root, def, arg, varno, unknown);
			if (type == IS_UNKNOWN)
				return null_conditions(def, null_test(arg, IS_NULL), varno);
			if (type == IS_FALSE)
				result = one(boolean_condition(def, arg, false, varno));
			if (type == IS_FALSE || type == IS_NOT_TRUE)
				result = list_concat(result, implied_by_absence(def, arg, varno));
			break;
		case T_NullTest:
			return null_conditions(def, (NullTest *) clause, varno);
		case T_SubPlan:
			return implied_by_elements(root, def, tested_clauses(root, (SubPlan *) clause), varno, unknown);
		case T_AlternativeSubPlan:
			return implied_conditions(root, def, linitial(((AlternativeSubPlan *) clause)->subplans), varno,
									  unknown);
		case T_OpExpr:
		case T_FuncExpr:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_CoerceViaIO:
		case T_Var:
		case T_RelabelType:
		case T_ScalarArrayOpExpr:
		case T_RowCompareExpr:
			if (IsA(clause, ScalarArrayOpExpr) && (result = contains_one((ScalarArrayOpExpr *) clause)) != NIL)
				return implied_by_or(root, def, result, varno, unknown);
			if (array_subplan(clause) != NULL)
				return implied_by_elements(root, def, subplan_clauses(root, array_subplan(clause), clause), varno,
										   unknown);
			result = json_path_conditions(def, clause, false, varno);
			if (result == NIL)
				result = compared_conditions(root, def, clause, varno, unknown);
			if (result == NIL)
				result = implied_by_choice(root, def, clause, varno, unknown);
			if (result == NIL)
				result = one(boolean_condition(def, clause, true, varno));
			if (result == NIL)
				result = implied_by_numbered_element(root, def, clause, varno, unknown);
			break;
		default:
			break;
	}
	if (result != NIL && depends_on_json_path(clause, NULL))
	{
		foreach_ptr(Condition, condition, result)
		{
			mark_lossy(condition);
			mark_unwrapped(condition);
		}
	}
	return result;
}

/*
 * is_deeply_nested
 *		Returns whether a condition is nested so deep that it is left to the filter.
 *
 * What is below each level is looked through for that level, by the server, too, when it makes a clause
 * of one.  That takes time in the square of the depth.
 */
bool
is_deeply_nested(Node *clause)
{
	return is_nested(clause, MAX_NESTED);
}

/* is_nested: returns whether there are more than some number of levels in a condition */
static bool
is_nested(Node *clause, int depth)
{
	if (IsA(clause, BooleanTest))
		return depth == 0 || is_nested((Node *) ((BooleanTest *) clause)->arg, depth - 1);
	if (!IsA(clause, BoolExpr))
		return false;
	foreach_ptr(Node, arg, ((BoolExpr *) clause)->args)
	{
		if (depth == 0 || is_nested(arg, depth - 1))
			return true;
	}
	return false;
}

static List *
one(Condition *condition)
{
	return condition != NULL ? list_make1(condition) : NIL;
}

/*
 * implied_by_absence
 *		Returns the comparisons with NULL that follow if a condition is not true: something is
 *		not there.
 */
static List *
implied_by_absence(IndexDef *def, Node *clause, Index varno)
{
	return list_concat(absence_conditions(def, clause, varno), json_path_conditions(def, clause, true, varno));
}

/*
 * implied_by_elements
 *		Returns the comparisons that follow if each of some clauses is true of some element.
 */
List *
implied_by_elements(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, bool *unknown)
{
	List	   *result = NIL;

	foreach_ptr(Node, clause, clauses)
	{
		List	   *conditions = implied_conditions(root, def, clause, varno, unknown);

		set_scope_of_clause(def, clause, conditions);
		result = list_concat(result, conditions);
	}
	foreach_ptr(Condition, condition, result)
	{
		mark_lossy(condition);
		condition->implied = true;
	}
	return result;
}

/*
 * implied_by_numbered_element
 *		Returns the comparisons that follow if a clause is true of the element of an array that has
 *		some number: it is true of some element.
 *
 * tags[1] of a column is an element, or NULL.  -> 0 finds an element, or a scalar in itself, which
 * has an entry, too.  #> '{0}' also finds the member "0" of an object.  If the field ends here, the
 * object has an entry as a whole, and it is recorded that there is one.
 */
static List *
implied_by_numbered_element(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown)
{
	bool		may_be_member = false;
	Node	   *of_some;
	List	   *result;

	if (def->spec.multi_field < 0 || def->spec.multi_field >= def->layout.nsearch)
		return NIL;
	of_some = with_any_element(clause, &def->spec.fields[def->spec.multi_field], varno, &may_be_member);
	for (int e = 0; e < def->spec.nelements && may_be_member; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];

		if (field->spec->nsteps > field->plain_steps + 1)
			return NIL;
	}
	if (of_some == NULL)
		return NIL;
	result = implied_by_elements(root, def, list_make1(of_some), varno, unknown);
	foreach_ptr(Condition, condition, result)
	{
		if (may_be_member)
			condition->unless |= CONTAINER_BIT;
	}
	return result;
}

/*
 * array_subplan
 *		Returns the subquery of a clause that is value = ANY (ARRAY(subquery)), ARRAY(subquery) && array,
 *		or ARRAY(subquery) @> array; or NULL.
 */
static SubPlan *
array_subplan(Node *clause)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	Node	   *array;

	if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
		array = lsecond(((ScalarArrayOpExpr *) clause)->args);
	else if (function == F_ARRAYCONTAINED || (function == F_ARRAYOVERLAP && !IsA(linitial(args), SubPlan)))
		array = lsecond(args);
	else if (function == F_ARRAYCONTAINS || function == F_ARRAYOVERLAP)
		array = linitial(args);
	else
		return NULL;
	return IsA(array, SubPlan) && ((SubPlan *) array)->subLinkType == ARRAY_SUBLINK ? (SubPlan *) array : NULL;
}

/*
 * contains_one
 *		Returns the conditions of which one holds if a clause is doc @> ANY (array), with an array
 *		whose elements are known one by one; NIL: it is not, or of no document.
 */
static List *
contains_one(ScalarArrayOpExpr *clause)
{
	ArrayExpr  *array = lsecond(clause->args);
	List	   *documents = constant_values((Node *) array, MAX_CONTAINED);
	List	   *result = NIL;

	if (!clause->useOr || get_opcode(clause->opno) != F_JSONB_CONTAINS)
		return NIL;
	if (IsA(array, ArrayExpr) && !array->multidims && list_length(array->elements) <= MAX_CONTAINED)
		documents = array->elements;
	foreach_ptr(Expr, document, documents)
		result = lappend(result,
						 make_opclause(clause->opno, BOOLOID, false, linitial(clause->args), document, InvalidOid,
									   InvalidOid));
	return result;
}

/*
 * implied_by_or
 *		Returns the comparisons of a column with any of several values that follow from conditions
 *		of which one holds: each of them implies that the column has some value, so it has one of
 *		these.  If that is all they say, so is it all that rows have to satisfy.
 */
static List *
implied_by_or(PlannerInfo *root, IndexDef *def, List *arms, Index varno, bool *unknown)
{
	List	   *implied = NIL;	/* a list for each arm */
	List	   *result = NIL;

	foreach_ptr(Node, arm, arms)
	{
		List	   *conditions = implied_conditions(root, def, arm, varno, unknown);

		if (conditions == NIL)
			return NIL;
		implied = lappend(implied, conditions);
	}
	for (int position = 0; position < def->layout.nsearch; position++)
	{
		Condition  *condition = any_of(implied, position);

		if (condition != NULL)
			result = lappend(result, condition);
	}
	return result;
}

/*
 * implied_by_choice
 *		Returns what a condition says of the only expression within coalesce(), NULLIF() or CASE,
 *		below casts, if it is not true of the constants, or the NULL, that may be there instead: so
 *		it is true of the expression.  With NULLIF() and CASE, more has to be true.
 *
 * To try the constants is dear, so it is left out where no field is searched by the expression.  As the
 * condition is copied for each level of what is nested, deep ones are left to the filter.
 */
static List *
implied_by_choice(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown)
{
	foreach_ptr(Node, operand, operands(clause) != NIL ? operands(clause) : list_make1(clause))
	{
		Node	   *choice = without_casts(operand);
		List	   *choices = depth_of_choices(choice) > MAX_CHOICES ? NIL : choices_of(choice);
		Node	   *only = NULL;
		List	   *result;
		bool		any_unknown = false;

		foreach_ptr(Node, one, choices)
		{
			if (!IsA(one, Const) && only != NULL && !equal(only, one))
				return NIL;
			if (!IsA(one, Const))
				only = one;
		}
		if (only == NULL)
			continue;
		result = implied_conditions(root, def, replace_node(clause, list_make2(choice, only)), varno,
									&any_unknown);
		if (result == NIL && !any_unknown)
			return NIL;
		foreach_ptr(Node, one, choices)
		{
			if (IsA(one, Const) && may_be_true(root, clause, choice, one))
				return NIL;
		}
		*unknown |= any_unknown;
		for (int i = 0; !IsA(choice, CoalesceExpr) && i < list_length(result); i++)
			mark_lossy(list_nth(result, i));
		return result;
	}
	return NIL;
}

/*
 * depth_of_choices
 *		Returns the number of choices that are nested in an expression by their first operand,
 *		up to MAX_CHOICES + 1.
 */
static int
depth_of_choices(Node *expr)
{
	int			depth = 0;

	for (; depth <= MAX_CHOICES; depth++)
	{
		Node	   *below = NULL;

		foreach_ptr(Node, choice, choices_of(without_casts(expr)))
		{
			if (!IsA(choice, Const))
				below = choice;
		}
		if (below == NULL)
			break;
		expr = below;
	}
	return depth;
}

/*
 * may_be_true
 *		Returns whether a condition may be true with a constant in place of a part of it.  This may be
 *		an error, of a cast or a pattern, say, which a query raises only where it comes to that.
 */
static bool
may_be_true(PlannerInfo *root, Node *clause, Node *part, Node *constant)
{
	Const	   *value = with_constant(root, clause, part, constant);

	return value == NULL || (!value->constisnull && DatumGetBool(value->constvalue));
}

/*
 * with_constant
 *		Returns the constant that a condition becomes with a constant in place of a part of it; NULL if it
 *		becomes none, or an error.
 */
static Const *
with_constant(PlannerInfo *root, Node *clause, Node *part, Node *constant)
{
	MemoryContext cxt = CurrentMemoryContext;
	Node	   *replaced = replace_node(clause, list_make2(part, constant));
	Node	   *volatile value = NULL;
	ErrorData  *error = NULL;

	if (IsInParallelMode())
		return NULL;			/* it can have no subtransactions */
	CATCHING_FAILURES(error, MemoryContextSwitchTo(cxt), value = eval_const_expressions(root, replaced));
	return error == NULL && IsA(value, Const) ? (Const *) value : NULL;
}

/*
 * null_arms
 *		Returns conditions of which one is true where a clause is, and only there: the last one is that a
 *		field of some index table is NULL.  Returns NIL if the clause says no such thing.
 *
 * 1.  coalesce(f, 'x') = 'x', or another condition that is true with the constant: it is true of f, or
 * f is NULL.
 *
 * 2.  b IS NOT TRUE, and b IS NOT FALSE.
 *
 * 3.  doc ->> 'f' IS NULL, of a field of type jsonb: doc -> 'f' is JSON null, or NULL.
 *
 * 4.  f IS DISTINCT FROM 'x': f is less, or greater, or NULL.
 */
List *
null_arms(PlannerInfo *root, List *defs, Node *clause, Index varno)
{
	Node	   *tested = NULL;
	Node	   *choice = NULL;
	Expr	   *other = NULL;
	List	   *others = NIL;
	Const	   *of_constant;
	NullTest   *is_null;
	JsonbValue	null = {.type = jbvNull};

	if (IsA(clause, BooleanTest))
	{
		BoolTestType type = ((BooleanTest *) clause)->booltesttype;

		tested = type == IS_NOT_TRUE || type == IS_NOT_FALSE ? (Node *) ((BooleanTest *) clause)->arg : NULL;
		other = type == IS_NOT_TRUE ? make_notclause((Expr *) tested) : (Expr *) tested;
	}
	else if (IsA(clause, NullTest) && ((NullTest *) clause)->nulltesttype == IS_NULL)
	{
		tested = json_of_text((Node *) ((NullTest *) clause)->arg);
		if (tested != NULL)
			other = make_opclause(get_equality_operator(JSONBOID), BOOLOID, false, (Expr *) tested,
								  json_constant(&null), InvalidOid, InvalidOid);
	}
	else if (IsA(clause, DistinctExpr))
		others = other_values(((OpExpr *) clause)->opno, (OpExpr *) clause, &tested);
	foreach_ptr(Node, operand, operands(clause) != NIL ? operands(clause) : list_make1(clause))
	{
		Node	   *of_operand = without_casts(operand);
		List	   *args = IsA(of_operand, CoalesceExpr) ? ((CoalesceExpr *) of_operand)->args : NIL;

		if (tested != NULL || list_length(args) != 2 || !IsA(lsecond(args), Const) || IsA(linitial(args), Const))
			continue;
		choice = of_operand;
		tested = linitial(args);
	}
	if (tested == NULL || (IsA(clause, DistinctExpr) && others == NIL && choice == NULL))
		return NIL;
	is_null = null_test(tested, IS_NULL);
	if (!is_searched_for_null(defs, is_null, varno))
		return NIL;
	if (choice != NULL)
	{
		of_constant = with_constant(root, clause, choice, lsecond(choices_of(choice)));
		if (of_constant == NULL || of_constant->constisnull || !DatumGetBool(of_constant->constvalue))
			return NIL;
		other = (Expr *) replace_node(clause, list_make2(choice, tested));
	}
	return lappend(others != NIL ? others : list_make1(other), is_null);
}

/*
 * other_values
 *		Returns two comparisons of which one is true where something is not equal to a constant, other than
 *		NULL, and sets *tested to it, which is an operand of a clause; NIL if it is in no such order.
 */
List *
other_values(Oid equal, OpExpr *clause, Node **tested)
{
	Node	   *value = lsecond(clause->args);
	Oid			family;
	Oid			left;
	Oid			right;
	List	   *result = NIL;

	*tested = linitial(clause->args);
	if (IsA(*tested, Const))
	{
		*tested = value;
		value = linitial(clause->args);
		equal = get_commutator(equal);
	}
	if (!OidIsValid(equal) || !IsA(value, Const) || ((Const *) value)->constisnull)
		return NIL;
	family = lookup_type_cache(exprType(*tested), TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (!OidIsValid(family) || get_op_opfamily_strategy(equal, family) != BTEqualStrategyNumber)
		return NIL;
	op_input_types(equal, &left, &right);
	for (int strategy = BTLessStrategyNumber; strategy <= BTGreaterStrategyNumber;
		 strategy += BTGreaterStrategyNumber - BTLessStrategyNumber)
	{
		Oid			operator = get_opfamily_member(family, left, right, strategy);

		if (!OidIsValid(operator))
			return NIL;
		result = lappend(result, make_opclause(operator, BOOLOID, false, (Expr *) *tested, (Expr *) value,
											   InvalidOid, clause->inputcollid));
	}
	return result;
}

/*
 * is_searched_for_null
 *		Returns whether some index table can be searched by a test for NULL, without others'
 *		rows.
 */
static bool
is_searched_for_null(List *defs, NullTest *test, Index varno)
{
	foreach_ptr(IndexDef, def, defs)
	{
		foreach_ptr(Condition, condition, null_conditions(def, test, varno))
		{
			if (!condition->lossy)
				return true;
		}
	}
	return false;
}

/*
 * json_of_text
 *		Returns the value, jsonb, that an expression is the text of; NULL if it is no text in
 *		a document.
 */
static Node *
json_of_text(Node *expr)
{
	List	   *args;
	Oid			function = function_of(bare_value(expr), &args);

	if (function != F_JSONB_OBJECT_FIELD_TEXT && function != F_JSONB_EXTRACT_PATH_TEXT)
		return NULL;
	function = function == F_JSONB_OBJECT_FIELD_TEXT ? F_JSONB_OBJECT_FIELD : F_JSONB_EXTRACT_PATH;
	return (Node *) makeFuncExpr(function, JSONBOID, args, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* null_test: returns the condition that an expression is NULL, or is not */
NullTest *
null_test(Node *expr, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) expr;
	test->nulltesttype = type;
	test->location = -1;
	return test;
}

/*
 * as_comparison
 *		Returns the comparison by = that is true where an expression is not distinct from a constant
 *		other than NULL; NULL if the constant may be NULL.
 */
static Node *
as_comparison(Node *distinct)
{
	OpExpr	   *op = copyObject((OpExpr *) distinct);

	foreach_ptr(Const, arg, op->args)
	{
		if (IsA(arg, Const) && !arg->constisnull)
		{
			op->xpr.type = T_OpExpr;
			return (Node *) op;
		}
	}
	return NULL;
}
