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

#include "access/stratnum.h"
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
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "contained.h"
#include "fact_checks.h"
#include "field_match.h"
#include "search_condition.h"

static Condition *comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value, bool array);
static bool is_value(Node *expr, Index varno);
static Condition *row_comparison_start(IndexDef *def, RowCompareExpr *clause, Index varno);
static List *pattern_range(IndexDef *def, Node *clause, Oid function, List *args, Index varno);
static bool mentions_relation(Node *node, void *varno);
static List *contained_values(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, Index varno, bool *unknown);
static List *element_exists(IndexDef *def, OpExpr *clause, Relation fact, Index varno);

/*
 * search_conditions
 *		Returns the comparisons (Condition *) of columns of the index that follow from a clause.
 *		Sets *unknown if others may follow when a parameter is known.
 */
List *
search_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Relation fact, Index varno, bool *unknown)
{
	Condition  *condition = NULL;

	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		OpExpr	   *op = (OpExpr *) clause;
		Node	   *left = linitial(op->args);
		Node	   *right = lsecond(op->args);
		int			position;

		if (op->opfuncid == F_JSONB_CONTAINS)
			return contained_values(root, def, left, right, varno, unknown);
		if (op->opfuncid == F_JSONB_CONTAINED)
			return contained_values(root, def, right, left, varno, unknown);
		if (op->opfuncid == F_JSONB_EXISTS)
			return element_exists(def, op, fact, varno);
		if ((position = index_position_of(def, left, varno)) >= 0 && is_value(right, varno))
			condition = comparison(def, position, op->opno, op->inputcollid, right, false);
		else if ((position = index_position_of(def, right, varno)) >= 0 && is_value(left, varno))
			condition = comparison(def, position, get_commutator(op->opno), op->inputcollid, left, false);
		if (condition == NULL)
			return pattern_range(def, clause, op->opfuncid, op->args, varno);
	}
	else if (IsA(clause, FuncExpr) && list_length(((FuncExpr *) clause)->args) == 2)
		return pattern_range(def, clause, ((FuncExpr *) clause)->funcid, ((FuncExpr *) clause)->args, varno);
	else if (IsA(clause, RowCompareExpr))
		condition = row_comparison_start(def, (RowCompareExpr *) clause, varno);
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
	{
		ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) clause;
		int			position = index_position_of(def, linitial(op->args), varno);

		if (position >= 0 && is_value(lsecond(op->args), varno))
			condition = comparison(def, position, op->opno, op->inputcollid, lsecond(op->args), true);
		if (condition != NULL && condition->strategy != BTEqualStrategyNumber)
			condition = NULL;
	}
	return condition != NULL ? list_make1(condition) : NIL;
}

/* index_position_of: returns the position in the index of the column that has the value of an operand, or -1 */
int
index_position_of(IndexDef *def, Node *operand, Index varno)
{
	AttrNumber	attno = column_of_expression(def, operand, varno);
	int			i;

	/* The same bytes, called another type: a varchar is compared as text. */
	if (attno == 0 && IsA(operand, RelabelType))
		attno = column_of_expression(def, (Node *) ((RelabelType *) operand)->arg, varno);
	if (attno == 0)
		return -1;
	for (i = 0; i < def->nsearch; i++)
	{
		if (def->search[i] == attno)
			return i;
	}
	return -1;
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
	Form_pg_attribute att = TupleDescAttr(def->desc, def->search[position] - 1);
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Condition  *condition;
	int			strategy;
	Oid			left;
	Oid			right;

	if (!OidIsValid(operator) || !OidIsValid(family) || !op_in_opfamily(operator, family))
		return NULL;
	get_op_opfamily_properties(operator, family, false, &strategy, &left, &right);
	if (OidIsValid(att->attcollation) && collation != att->attcollation &&
		(strategy != BTEqualStrategyNumber || !OidIsValid(collation) ||
		 !get_collation_isdeterministic(collation) || !get_collation_isdeterministic(att->attcollation)))
		return NULL;
	condition = palloc0(sizeof(Condition));
	condition->position = position;
	condition->strategy = strategy;
	condition->operator = operator;
	condition->subtype = right;
	condition->value = (Expr *) value;
	condition->array = array;
	condition->contained = -1;
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
	if (position < 0 || !OidIsValid(operator) || !op_in_opfamily(operator, family) || !is_value(value, varno))
		return NULL;
	get_op_opfamily_properties(operator, family, false, &strategy, &left, &right);
	if (strategy == BTEqualStrategyNumber)
		return NULL;
	operator = get_opfamily_member(family, left, right,
								   strategy < BTEqualStrategyNumber ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber);
	condition = comparison(def, position, operator, linitial_oid(clause->inputcollids), value, false);
	if (condition != NULL)
		condition->lossy = true;
	return condition;
}

/*
 * pattern_range
 *		Returns the range that follows from doc ->> 'name' LIKE 'Ann%' and the like, as the
 *		support functions of the server tell it for an index.  They look at nothing of the index
 *		but its operator family and its collation.
 */
static List *
pattern_range(IndexDef *def, Node *clause, Oid function, List *args, Index varno)
{
	SupportRequestIndexCondition request = {.type = T_SupportRequestIndexCondition,.funcid = function,.node = clause};
	int			position = index_position_of(def, linitial(args), varno);
	Oid			support;
	List	   *result = NIL;
	ListCell   *cell;

	if (position < 0 || function >= FirstNormalObjectId || !IsA(lsecond(args), Const))
		return NIL;
	support = get_func_support(function);
	if (support != F_TEXTLIKE_SUPPORT && support != F_TEXTREGEXEQ_SUPPORT && support != F_TEXTICREGEXEQ_SUPPORT &&
		support != F_TEXT_STARTS_WITH_SUPPORT)
		return NIL;
	request.opfamily = lookup_type_cache(TEXTOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	request.indexcollation = TupleDescAttr(def->desc, def->search[position] - 1)->attcollation;
	request.lossy = true;
	foreach(cell, (List *) DatumGetPointer(OidFunctionCall1(support, PointerGetDatum(&request))))
	{
		OpExpr	   *op = lfirst_node(OpExpr, cell);
		Condition  *condition = comparison(def, position, op->opno, op->inputcollid, lsecond(op->args), false);

		if (condition != NULL)
		{
			condition->lossy = true;
			result = lappend(result, condition);
		}
	}
	return result;
}

/* is_value: returns whether an expression can be evaluated before the fact table is read */
static bool
is_value(Node *expr, Index varno)
{
	return !mentions_relation(expr, &varno) && !contain_volatile_functions(expr) && !contain_subplans(expr);
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

/*
 * contained_values
 *		Returns equalities of key fields that follow from doc -> 'tags' @> '["x"]' and the like:
 *		a document that contains the constant has the strings in it at the same paths.  They are
 *		lossy, because the field's text is the same for the string "5" and the number 5.
 *
 * What is not constant is searched for string by string when the scan starts.  If it then has
 * none in one of the fields, nothing can be searched for, so only those fields count in which it
 * will have one, as far as can be told.
 */
static List *
contained_values(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, Index varno, bool *unknown)
{
	List	   *result = NIL;
	int			i;

	if (!is_value(json, varno) || (IsA(json, Const) && ((Const *) json)->constisnull))
		return NIL;
	for (i = 0; i < def->nkeys && i < def->nsearch; i++)
	{
		Field	   *field = &def->fields[i];
		int			nsteps;

		if (field->fact_attno != 0 || field->type != TEXTOID)
			continue;
		for (nsteps = 0; nsteps <= field->plain_steps; nsteps++)
		{
			Condition  *condition;

			if (!expression_is_path(def->fact, def->fact->doc_attno[def->docno], field->spec->steps, nsteps, whole, varno))
				continue;
			condition = comparison(def, i, TextEqualOperator, DEFAULT_COLLATION_OID, json, false);
			if (condition == NULL)
				break;
			condition->lossy = true;
			if (IsA(json, Const))
				condition->value = (Expr *) contained_string(field, nsteps, json);
			else
				condition->contained = nsteps;
			if (IsA(json, Const) ? condition->value == NULL : !contains_string(root, field, nsteps, json))
			{
				*unknown = *unknown || IsA(json, Param);
				break;
			}
			result = lappend(result, condition);
			break;
		}
	}
	return result;
}

/*
 * element_exists
 *		Returns the equality that follows from doc -> 'tags' ? 'x', if a constraint says that
 *		it is an array.  Of an object the operator looks at the names of the members.
 */
static List *
element_exists(IndexDef *def, OpExpr *clause, Relation fact, Index varno)
{
	Field	   *field;
	AttrNumber	doc = def->fact->doc_attno[def->docno];
	Condition  *condition;

	if (def->multi_field < 0 || def->multi_field >= def->nsearch || !is_value(lsecond(clause->args), varno))
		return NIL;
	field = &def->fields[def->multi_field];
	if (field->type != TEXTOID || field->spec->nsteps != field->plain_steps + 1 ||
		!expression_is_path(def->fact, doc, field->spec->steps, field->plain_steps, linitial(clause->args), varno) ||
		!check_says_array(def->fact, fact, doc, field->spec->steps, field->plain_steps))
		return NIL;
	condition = comparison(def, def->multi_field, TextEqualOperator, DEFAULT_COLLATION_OID, lsecond(clause->args), false);
	if (condition == NULL)
		return NIL;
	condition->lossy = true;
	return list_make1(condition);
}
