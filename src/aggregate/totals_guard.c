/*-------------------------------------------------------------------------
 *
 * totals_guard.c
 *	  Tells which expressions of a query of totals may raise an error for a group that has no
 *	  rows any more, and keeps such groups from them.
 *
 * A table of totals has entries of these groups until they are folded.  The query of the fact
 * table never sees their values.  So an expression that may raise an error is left to a query
 * around one that leaves them out: see fold_groups().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "../util/compat.h"
#include "aggregate.h"

static bool may_raise(Node *node, void *context);
static bool is_leaky(Oid function, void *context);
static bool is_of_aggregates(Node *node);

/*
 * shows_groups
 *		Returns whether a query, of one table of totals, has an expression that may raise an error
 *		if it is shown a group without rows: a condition, something that it is grouped by, an
 *		argument or a filter of an aggregate, or a condition on the groups.
 */
bool
shows_groups(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		foreach_ptr(TargetEntry, tle, query->targetList)
			if (tle->ressortgroupref != 0 && may_raise((Node *) tle->expr, NULL))
			return true;
		return may_raise(query->jointree->quals, NULL) || may_raise(query->havingQual, NULL) ||
			shows_groups((Node *) query->targetList, NULL) || shows_groups(query->havingQual, NULL);
	}
	if (IsA(node, Aggref))
		return may_raise((Node *) ((Aggref *) node)->args, NULL) ||
			may_raise((Node *) ((Aggref *) node)->aggfilter, NULL);
	return expression_tree_walker(node, shows_groups, context);
}

/*
 * take_safe_conditions
 *		Takes from a query the conditions that raise no error, and returns them; joins the others to
 *		one that checks them in their order.
 */
List *
take_safe_conditions(Query *query)
{
	List	   *quals = (List *) query->jointree->quals;
	List	   *safe = NIL;
	Expr	   *others = NULL;

	for (int i = list_length(quals) - 1; i >= 0; i--)
	{
		Expr	   *qual = list_nth(quals, i);

		if (!may_raise((Node *) qual, NULL))
			safe = lcons(qual, safe);
		else if (others == NULL)
			others = qual;
		else
			others = then_check(qual, others);
	}
	query->jointree->quals = others == NULL ? NULL : (Node *) list_make1(others);
	return safe;
}

/*
 * may_raise
 *		Returns whether an expression over a table of totals may raise an error that depends on the
 *		group which it is shown.
 *
 * Comparisons by the server's own operators raise none.  Nor does what we have made of
 * aggregates: it adds up.  What depends on no group is no matter of groups.
 */
static bool
may_raise(Node *node, void *context)
{
	if (node == NULL || IsA(node, Aggref))
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_Param:
			return false;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
			{
				/* All four structs begin with the operator. */
				Oid			operator = ((OpExpr *) node)->opno;

				if (operator < FirstNormalObjectId && get_op_index_interpretation(operator) != NIL)
					break;
			}
			pg_fallthrough;
		case T_FuncExpr:
			if (check_functions_in_node(node, is_leaky, NULL) && !is_of_aggregates(node))
				return contain_var_clause(node);
			break;
		case T_List:
		case T_TargetEntry:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
			break;
		default:
			return contain_var_clause(node);
	}
	return expression_tree_walker(node, may_raise, context);
}

/* is_leaky: returns whether a function may tell of its arguments, by an error for example */
static bool
is_leaky(Oid function, void *context)
{
	return !get_func_leakproof(function);
}

/*
 * is_of_aggregates
 *		Returns whether an expression calls a function of aggregates alone, as only ours do.
 */
static bool
is_of_aggregates(Node *node)
{
	if (!IsA(node, FuncExpr))
		return false;
	foreach_ptr(Node, arg, ((FuncExpr *) node)->args)
		if (!IsA(arg, Aggref))
		return false;
	return ((FuncExpr *) node)->args != NIL;
}
