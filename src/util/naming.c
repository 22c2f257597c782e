/*-------------------------------------------------------------------------
 *
 * naming.c
 *	  Sees to it that a query of ours reads the tables that are meant.
 *
 * The server knows tables, types and operators in the text of a query by their names.  The owner of a
 * schema may rename it at any moment, and give its name to another one, in which a view has the name of
 * the table, or a function of his is behind an operator.  Their code would run as the role that has asked
 * us, a superuser perhaps.  To hold names takes a lock that a standby cannot give.  So each time that the
 * text has been analyzed, which calls no code of users, and before it is planned, it is looked at: what
 * the names stand for has been replaced by OIDs then.  The text is analyzed again when a plan
 * that was kept has become invalid.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_namespace.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "naming.h"
#include "sql.h"

const Naming *current_naming = NULL;

static post_parse_analyze_hook_type previous_hook = NULL;

static void check_query(ParseState *pstate, Query *query, JumbleState_compat *jstate);
static bool reads_another(Query *query, const Naming *naming);
static bool is_about_others(Node *node, void *context);
static bool is_type_of_column(Oid type, const Naming *naming);
static bool is_users_function(Oid function, void *unused);
static bool is_users_operator(Oid operator);

void
naming_init(void)
{
	previous_hook = post_parse_analyze_hook;
	post_parse_analyze_hook = check_query;
}

/*
 * check_query
 *		Raises an error if a query that was analyzed is one of those that are run, and is not about the
 *		table that is meant, or calls what we do not call.  Functions of users run other queries meanwhile.
 */
static void
check_query(ParseState *pstate, Query *query, JumbleState_compat *jstate)
{
	if (previous_hook)
		previous_hook(pstate, query, jstate);
	for (const Naming *naming = current_naming; naming != NULL; naming = naming->outer)
	{
		if (naming->n > 0 && pstate->p_sourcetext != NULL && strcmp(pstate->p_sourcetext, naming->sql) == 0 &&
			is_about_others((Node *) query, unconstify(Naming *, naming)))
			report_renamed(get_rel_name(naming->relids[0]));
	}
}

/* reads_another: returns whether a query is about any table but those that are meant */
static bool
reads_another(Query *query, const Naming *naming)
{
	foreach_node(RangeTblEntry, rte, query->rtable)
	{
		int			i = 0;

		while (i < naming->n && rte->relid != naming->relids[i])
			i++;
		if (rte->rtekind == RTE_RELATION && i == naming->n)
			return true;
	}
	return false;
}

/*
 * is_about_others
 *		Returns whether a node of a query, or one below it, reads another table than those that are meant, or
 *		calls code that a user could have put in the place of what is meant.
 *
 * Of what is not the server's own, our queries call nothing but the operators by which keys are found, and
 * cast to no domain but those of the tables' columns.
 */
static bool
is_about_others(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return reads_another((Query *) node, context) ||
			query_tree_walker((Query *) node, is_about_others, context, 0);
	if (IsA(node, CoerceToDomain) && !is_type_of_column(((CoerceToDomain *) node)->resulttype, context))
		return true;
	if (IsA(node, OpExpr) ? is_users_operator(((OpExpr *) node)->opno) :
		IsA(node, ScalarArrayOpExpr) ? is_users_operator(((ScalarArrayOpExpr *) node)->opno) :
		check_functions_in_node(node, is_users_function, NULL))
		return true;
	return expression_tree_walker(node, is_about_others, context);
}

/* is_type_of_column: returns whether one of the tables that are meant has a column of a type */
static bool
is_type_of_column(Oid type, const Naming *naming)
{
	for (int i = 0; i < naming->n; i++)
	{
		Oid			relid = naming->relids[i];

		for (AttrNumber attno = 1; get_attname(relid, attno, true) != NULL; attno++)
			if (get_atttype(relid, attno) == type)
				return true;
	}
	return false;
}

/*
 * is_users_function
 *		Returns whether a function may be a user's; for check_functions_in_node().  Only a superuser puts
 *		functions into pg_catalog, as Citus does.
 */
static bool
is_users_function(Oid function, void *unused)
{
	return function >= FirstNormalObjectId && get_func_namespace(function) != PG_CATALOG_NAMESPACE;
}

/*
 * is_users_operator
 *		Returns whether an operator may be a user's: those of operator classes are a
 *		superuser's.
 */
static bool
is_users_operator(Oid operator)
{
	return operator >= FirstNormalObjectId && get_mergejoin_opfamilies(operator) == NIL;
}
