/*-------------------------------------------------------------------------
 *
 * condition_order.c
 *	  Puts the conditions of a scan into the order in which they are checked.
 *
 * An error is an answer, too: no condition is evaluated for a row for which a plan of the server
 * need not evaluate it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "candidate.h"

static Node *as_leaks(Node *node, void *secured);
static bool is_plain_pattern(OpExpr *match);

/*
 * clauses_of_arm
 *		Returns what the scan of an arm checks, in the order in which the planner has the
 *		conditions of the query.
 *
 * An arm is where the condition is that it is an arm of.  Before it come the tests that the arms
 * before it are not true: an OR evaluates its arms in their order, too.  One that no condition has
 * comes last: it is about what the query sorts by, which is evaluated after all conditions.
 */
List *
clauses_of_arm(Candidate *c, List *clauses)
{
	List	   *result = NIL;

	foreach_ptr(Node, clause, clauses)
	{
		if (clause == c->split)
			result = list_concat(result, list_difference_ptr(c->clauses, clauses));
		else
			result = lappend(result, clause);
	}
	return c->split == NULL ? list_concat(result, list_difference_ptr(c->clauses, clauses)) : result;
}

/*
 * in_safe_order
 *		Returns the conditions of a scan, which come in the planner's order, in that in which
 *		they are checked: so that none is evaluated for a row for which a native plan that reads
 *		the whole table need not evaluate it, because it may raise an error there.
 *
 * Conditions that cannot raise one come first.  By these a native plan chooses what it reads at
 * all: partitions, for example.  Conditions on other tables, too, come last, as a join checks
 * them for the rows that satisfy all others.  They are never policies, which are about one table
 * and come before its other conditions: those are in the order of their security levels.
 */
List *
in_safe_order(PlannerInfo *root, RelOptInfo *rel, List *clauses)
{
	List	   *result = NIL;
	List	   *join = NIL;
	Index		level;

	for (level = 0; level <= root->qual_security_level; level++)
	{
		List	   *safe = NIL;
		List	   *own = NIL;

		foreach_ptr(RestrictInfo, rinfo, clauses)
		{
			if (security_level(root, rinfo, NULL) != level)
				continue;
			if (!contain_leaked_vars((Node *) rinfo->clause))
				safe = lappend(safe, rinfo);
			else if (bms_is_subset(rinfo->clause_relids, rel->relids))
				own = lappend(own, rinfo);
			else
				join = lappend(join, rinfo);
		}
		result = list_concat(result, list_concat(safe, own));
	}
	return list_concat(result, join);
}

/*
 * in_server_order
 *		Returns the conditions of a scan in the order in which order_qual_clauses() of the server
 *		has them checked.
 */
List *
in_server_order(PlannerInfo *root, List *clauses)
{
	List	   *result = NIL;

	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		Cost		cost;
		Index		level = security_level(root, rinfo, &cost);
		int			i = list_length(result);

		while (i > 0)
		{
			Cost		cost_before;
			Index		level_before = security_level(root, list_nth(result, i - 1), &cost_before);

			if (level_before < level || (level_before == level && cost_before <= cost))
				break;
			i--;
		}
		result = list_insert_nth(result, i, rinfo);
	}
	return result;
}

/*
 * security_level
 *		Returns the level at which the server, in order_qual_clauses(), evaluates a clause: first of
 *		all if it is leakproof and cheap.  Sets *cost to what that costs for a row, unless it is NULL.
 */
Index
security_level(PlannerInfo *root, RestrictInfo *rinfo, Cost *cost)
{
	QualCost	eval;

	cost_qual_eval_node(&eval, (Node *) rinfo, root);
	if (cost != NULL)
		*cost = eval.per_tuple;
	return rinfo->leakproof && eval.per_tuple <= 10 * cpu_operator_cost ? 0 : rinfo->security_level;
}

/*
 * cannot_raise_error
 *		Returns whether a condition raises no error, whatever values its columns and parameters have.
 *		Where it is secured, a condition that is not leakproof may raise one.
 */
bool
cannot_raise_error(Node *clause, bool secured)
{
	return !contain_leaked_vars(as_leaks(clause, &secured));
}

/*
 * as_leaks
 *		Returns an expression that contain_leaked_vars() takes for one that leaks if the given
 *		one may raise an error.
 */
static Node *
as_leaks(Node *node, void *secured)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param))
		return (Node *) makeVar(INDEX_VAR, 1, exprType(node), exprTypmod(node), exprCollation(node), 0);
	if (IsA(node, OpExpr) && !*(bool *) secured && is_plain_pattern((OpExpr *) node))
		return as_leaks(linitial(((OpExpr *) node)->args), secured);
	return expression_tree_mutator(node, as_leaks, secured);
}

/*
 * is_plain_pattern
 *		Returns whether an expression is LIKE or ILIKE with a constant pattern, which is an
 *		error for no text.
 */
static bool
is_plain_pattern(OpExpr *match)
{
	Const	   *pattern;
	struct varlena *text;
	int			len;

	set_opfuncid(match);
	if (match->opfuncid != F_TEXTLIKE && match->opfuncid != F_TEXTNLIKE && match->opfuncid != F_TEXTICLIKE &&
		match->opfuncid != F_TEXTICNLIKE)
		return false;
	pattern = lsecond(match->args);
	if (!IsA(pattern, Const) || pattern->constisnull || !OidIsValid(match->inputcollid) ||
		!get_collation_isdeterministic(match->inputcollid))
		return false;
	text = PG_DETOAST_DATUM_PACKED(pattern->constvalue);

	len = VARSIZE_ANY_EXHDR(text);
	return len == 0 || VARDATA_ANY(text)[len - 1] != '\\';
}
