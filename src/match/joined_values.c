/*-------------------------------------------------------------------------
 *
 * joined_values.c
 *	  Finds the values that an element is equal to because a subquery joins it with another table,
 *	  or compares it with a subquery.
 *
 * EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l JOIN product p ON p.sku = l ->> 'sku'
 * WHERE p.kind = 'x') is true only if for some element, l ->> 'sku' is equal to the sku of some
 * product of this kind: to one of ARRAY(SELECT sku FROM product WHERE kind = 'x'), which does not
 * depend on the row.  This array is a SubLink, and the plan of the scan has an InitPlan for it; see
 * scan_path.c.  It has all that the join may find, and perhaps more: the row is checked for the condition as
 * it is written.
 *
 * The array is evaluated when the scan starts, also where the server would not come to evaluate the
 * subquery.  So nothing in it may raise an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "../util/compat.h"
#include "match.h"

/* The number of values that are searched for at most, as the planner estimates it. */
#define MAX_JOINED_VALUES	1000

static Query *simple_query(PlannerInfo *subroot);
static SubLink *array_of_values(PlannerInfo *subroot, List *quals, Relids joined, Node *expr);
static bool may_raise_error(Node *node, void *context);
static bool is_safe_operator(Oid operator);
static bool is_safe_function(Oid function);

/*
 * quals_of_join
 *		Returns the conditions that are true of each row, or of some row of a semijoin, that the FROM
 *		clause of a query has, and adds the relations whose rows are never replaced by NULLs to *joined.
 */
List *
quals_of_join(Node *node, Relids *joined)
{
	List	   *result = NIL;

	if (IsA(node, RangeTblRef))
		*joined = bms_add_member(*joined, ((RangeTblRef *) node)->rtindex);
	else if (IsA(node, FromExpr))
	{
		foreach_ptr(Node, from, ((FromExpr *) node)->fromlist)
			result = list_concat(result, quals_of_join(from, joined));
		result = list_concat(result, (List *) ((FromExpr *) node)->quals);
	}
	else
	{
		JoinExpr   *join = (JoinExpr *) node;

		if (join->jointype == JOIN_INNER || join->jointype == JOIN_SEMI || join->jointype == JOIN_LEFT ||
			join->jointype == JOIN_ANTI)
			result = quals_of_join(join->larg, joined);
		if (join->jointype == JOIN_INNER || join->jointype == JOIN_SEMI)
			result = list_concat(list_concat(result, quals_of_join(join->rarg, joined)), (List *) join->quals);
	}
	return result;
}

/*
 * joined_values
 *		Returns an array, which can be evaluated before the query around it, that has all values of an
 *		expression over a relation that a subquery joins, or the only value of a subquery within it;
 *		NULL if there is none.  quals are the conditions of the subquery.
 */
SubLink *
joined_values(PlannerInfo *root, PlannerInfo *subroot, List *quals, Relids joined, Node *expr)
{
	Param	   *param = (Param *) bare_value(expr);

	if (!IsA(param, Param) || param->paramkind != PARAM_EXEC)
		return array_of_values(subroot, quals, joined, expr);
	foreach_node(SubPlan, subplan, subroot->init_plans)
	{
		PlannerInfo *inner = list_nth(root->glob->subroots, subplan->plan_id - 1);
		Query	   *query = simple_query(inner);
		Relids		from = NULL;

		if (subplan->subLinkType != EXPR_SUBLINK || linitial_int(subplan->setParam) != param->paramid ||
			query == NULL)
			continue;
		quals = quals_of_join((Node *) query->jointree, &from);
		return array_of_values(inner, quals, from, (Node *) linitial_node(TargetEntry, query->targetList)->expr);
	}
	return NULL;
}

/*
 * simple_query
 *		Returns the query that was planned with a PlannerInfo if all that it returns are
 *		values over rows of its FROM clause, or NULL.
 */
static Query *
simple_query(PlannerInfo *subroot)
{
	Query	   *query = subroot == NULL ? NULL : subroot->parse;

	if (query == NULL || query->commandType != CMD_SELECT || query->hasAggs || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL || query->setOperations != NULL || query->rowMarks != NIL ||
		query->targetList == NIL || subroot->append_rel_list != NIL)
		return NULL;
	return query;
}

/*
 * array_of_values
 *		Returns ARRAY(SELECT expr FROM relation WHERE …), with all conditions on the only
 *		relation in expr; or NULL.
 */
static SubLink *
array_of_values(PlannerInfo *subroot, List *quals, Relids joined, Node *expr)
{
	Relids		varnos = pull_varnos(subroot, expr);
	List	   *own = NIL;
	SubLink    *result;
	Query	   *query;
	RangeTblEntry *rte;
	RelOptInfo *rel;
	RangeTblRef *ref;
	int			relid;

	if (!bms_get_singleton_member(varnos, &relid) || !bms_is_member(relid, joined) ||
		may_raise_error(expr, NULL) || !OidIsValid(get_array_type(exprType(expr))))
		return NULL;
	rte = rt_fetch(relid, subroot->parse->rtable);
	rel = subroot->simple_rel_array[relid];
	if (rte->rtekind != RTE_RELATION || rte->relkind == RELKIND_FOREIGN_TABLE || rte->securityQuals != NIL ||
		rte->tablesample != NULL || rel == NULL || rel->rows > MAX_JOINED_VALUES)
		return NULL;
	foreach_ptr(Node, qual, quals)
	{
		if (!bms_equal(pull_varnos(subroot, qual), varnos))
			continue;
		if (may_raise_error(qual, NULL))
			return NULL;
		own = lappend(own, qual);
	}
	query = makeNode(Query);
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(copyObject(rte));
	query->targetList = list_make1(makeTargetEntry(copyObject((Expr *) expr), 1, "value", false));
	ref = makeNode(RangeTblRef);
	ref->rtindex = relid;
	query->jointree = makeFromExpr(list_make1(ref), (Node *) make_ands_explicit(copyObject(own)));
	query->stmt_location = -1;
	ChangeVarNodes((Node *) query, relid, 1, 0);
	forget_permissions(query, linitial(query->rtable), subroot->parse);
	result = makeNode(SubLink);
	result->subLinkType = ARRAY_SUBLINK;
	result->subLinkId = (int) clamp_row_est(rel->rows);
	result->subselect = (Node *) query;
	result->location = -1;
	return result;
}

/* is_joined_values: returns whether an expression is what joined_values() has returned */
bool
is_joined_values(Node *expr)
{
	return IsA(expr, SubLink) && ((SubLink *) expr)->subLinkId > 0;
}

/* number_of_values: returns how many members an array probably has */
double
number_of_values(PlannerInfo *root, Node *array)
{
	return is_joined_values(array) ? ((SubLink *) array)->subLinkId : estimate_array_length_compat(root, array);
}

/*
 * may_raise_error
 *		Returns whether an expression is not known to raise no error, whatever values its
 *		columns and parameters have.
 */
static bool
may_raise_error(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varlevelsup != 0;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_Const:
		case T_List:
		case T_RelabelType:
		case T_CollateExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
			break;
		case T_OpExpr:
			if (!is_safe_operator(((OpExpr *) node)->opno))
				return true;
			break;
		case T_ScalarArrayOpExpr:
			if (!is_safe_operator(((ScalarArrayOpExpr *) node)->opno))
				return true;
			break;
		case T_FuncExpr:
			if (!is_safe_function(((FuncExpr *) node)->funcid))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_raise_error, context);
}

/*
 * is_safe_operator
 *		Returns whether an operator of the server's own compares values of types that can all
 *		be compared, or looks into jsonb.
 */
static bool
is_safe_operator(Oid operator)
{
	Oid			family;
	Oid			left;
	Oid			right;

	if (operator >= FirstNormalObjectId)
		return false;
	if (is_safe_function(get_opcode(operator)))
		return true;
	op_input_types(operator, &left, &right);
	if (IsPolymorphicType(left) || IsPolymorphicType(right) || left == RECORDOID)
		return false;
	family = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	return OidIsValid(family) &&
		(op_in_opfamily(operator, family) || op_in_opfamily(get_negator(operator), family));
}

static bool
is_safe_function(Oid function)
{
	switch (function)
	{
		case F_JSONB_OBJECT_FIELD:
		case F_JSONB_OBJECT_FIELD_TEXT:
		case F_JSONB_EXTRACT_PATH:
		case F_JSONB_EXTRACT_PATH_TEXT:
		case F_JSONB_CONTAINS:
		case F_JSONB_EXISTS:
			return true;
		default:
			return false;
	}
}
