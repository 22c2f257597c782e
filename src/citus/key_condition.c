/*-------------------------------------------------------------------------
 *
 * key_condition.c
 *	  Adds to a query the condition by which Citus finds the shards of a table in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../util/compat.h"
#include "late.h"

/* What is looked for in a query. */
typedef struct Search
{
	double		number;			/* of the table */
	Query	   *query;			/* that names it, or NULL */
	int			varno;			/* the table in this query */
} Search;

static bool find_table(Node *node, void *search);
static Node *is_among(Var *column, Datum *values, int n);
static Expr *as_taken(Node *value, Oid type);

/*
 * restrict_table
 *		Adds to a query that the distribution column of a table in it, by its number, has one of n values.
 */
void
restrict_table(Query *query, int number, AttrNumber attno, Datum *keys, int n)
{
	Search		search = {.number = number};
	Oid			type;
	int32		typmod;
	Oid			collation;

	(void) find_table((Node *) query, &search);
	if (search.query == NULL)
		elog(ERROR, "table %d of the query was not found", number);
	get_atttypetypmodcoll(rt_fetch(search.varno, search.query->rtable)->relid, attno, &type, &typmod, &collation);
	search.query->jointree->quals =
		make_and_qual(is_among(makeVar(search.varno, attno, type, typmod, collation, 0), keys, n),
					  search.query->jointree->quals);
}

/* find_table: finds a table, by the number that look_at_table() has given it */
static bool
find_table(Node *node, void *context)
{
	Search	   *search = context;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, find_table, context);
	foreach_node(RangeTblEntry, rte, ((Query *) node)->rtable)
	{
		if (rte->rtekind != RTE_RELATION || rte->enrtuples != search->number)
			continue;
		search->query = (Query *) node;
		search->varno = foreach_current_index(rte) + 1;
		return true;
	}
	return query_tree_walker((Query *) node, find_table, context, 0);
}

/*
 * is_among
 *		Returns the condition that a column has one of n values, so that Citus finds shards by it: it knows
 *		constants only, and takes an array without values for any.
 */
static Node *
is_among(Var *column, Datum *values, int n)
{
	TypeCacheEntry *type = lookup_type_cache(column->vartype, TYPECACHE_EQ_OPR);
	Oid			taken;			/* by the operator */
	Oid			right;
	Oid			element;
	ScalarArrayOpExpr *among = makeNode(ScalarArrayOpExpr);

	if (n == 0)
		return makeBoolConst(false, false);
	op_input_types(type->eq_opr, &taken, &right);
	if (n == 1)
	{
		Const	   *value = makeConst(column->vartype, column->vartypmod, column->varcollid, type->typlen,
									  values[0], false, type->typbyval);
		Expr	   *equal = make_opclause(type->eq_opr, BOOLOID, false, as_taken((Node *) column, taken),
										  as_taken((Node *) value, taken), InvalidOid, column->varcollid);

		set_opfuncid((OpExpr *) equal);
		return (Node *) equal;
	}
	element = IsPolymorphicType(taken) ? column->vartype : taken;
	among->opno = type->eq_opr;
	among->useOr = true;
	among->inputcollid = column->varcollid;
	among->args = list_make2(as_taken((Node *) column, taken),
							 makeConst(get_array_type(element), -1, column->varcollid, -1,
									   PointerGetDatum(construct_array(values, n, element, type->typlen,
																	   type->typbyval, type->typalign)),
									   false, false));
	among->location = -1;
	set_sa_opfuncid(among);
	return (Node *) among;
}

/* as_taken: returns a value as an operator takes it: one of text takes varchar, too */
static Expr *
as_taken(Node *value, Oid type)
{
	return exprType(value) == type || IsPolymorphicType(type) ? (Expr *) value :
		(Expr *) makeRelabelType((Expr *) value, type, -1, exprCollation(value), COERCE_IMPLICIT_CAST);
}
