/*-------------------------------------------------------------------------
 *
 * path_order.c
 *	  Finds out which of the orders that a query is interested in entries come in.
 *
 * Entries come in the order of the columns of the index that follow those with one value, in
 * either direction.  None of these columns is ever NULL, so it does not matter whether NULLs
 * come first or last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/typcache.h"

#include "path_order.h"

/* set_order: sets how many of the query's path keys the order of the entries has */
void
set_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	int			position = c->order_from;
	ListCell   *cell;

	c->pathkeys = NIL;
	c->backward = false;
	/* A fallback would evaluate what it sorts by for hidden rows. */
	if (c->policy_in_scan)
		return;
	foreach(cell, root->query_pathkeys)
	{
		PathKey    *key = lfirst(cell);

		if (position >= c->def->nsearch || key->pk_eclass->ec_has_volatile ||
			(c->pathkeys != NIL && pathkey_descends(key) != c->backward) ||
			sort_expression(c, rel, key, position) == NULL)
			break;
		c->backward = pathkey_descends(key);
		c->pathkeys = lappend(c->pathkeys, key);
		position++;
	}
}

/* sort_expression: returns the expression that the query sorts by, if it has the value of a column of the index, or NULL */
Node *
sort_expression(Candidate *c, RelOptInfo *rel, PathKey *key, int position)
{
	Form_pg_attribute att = TupleDescAttr(c->def->desc, c->def->search[position] - 1);
	EquivalenceClass *ec = key->pk_eclass;
	ListCell   *cell;

	if (key->pk_opfamily != lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf ||
		(OidIsValid(att->attcollation) && ec->ec_collation != att->attcollation))
		return NULL;
	foreach(cell, ec->ec_members)
	{
		EquivalenceMember *em = lfirst(cell);
		Node	   *expr = (Node *) em->em_expr;

		if (em->em_is_const || !bms_equal(em->em_relids, rel->relids))
			continue;
		if (column_of_candidate(c, expr) == c->def->search[position] ||
			(IsA(expr, RelabelType) &&
			 column_of_candidate(c, (Node *) ((RelabelType *) expr)->arg) == c->def->search[position]))
			return expr;
	}
	return NULL;
}
