/*-------------------------------------------------------------------------
 *
 * loose_path.c
 *	  Gives the planner paths that read one entry, or two, of each group of entries: for DISTINCT,
 *	  and for aggregates that are the same whatever else there is in a group.
 *
 * These are aggregates of different values, and the least and the greatest value of the column
 * that follows the groups' columns in the index.  What is above the scan is what the planner would
 * put there: it has fewer rows to group, or to find the different ones of, and where the entries
 * cannot answer it has all of them.
 *
 * A condition that the search does not check is checked for the entries that are returned.  So it
 * must say the same of all entries of a group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../place/place.h"
#include "../util/compat.h"
#include "plan.h"
#include "scan.h"

/* What is asked of the entries of a group. */
typedef struct Loose
{
	Candidate  *c;
	Bitmapset  *columns;		/* of the index, from 0: tell groups */
	List	   *exprs;			/* these */
	List	   *ends;			/* other columns, of which ends are asked for */
	bool		least;			/* the least value of them, ... */
	bool		greatest;		/* ... and the greatest */
} Loose;

static bool may_be_loose(Candidate *c);
static int	position_of(Candidate *c, Node *expr, Oid operator, StrategyNumber strategy, Oid collation);
static bool add_groups(Loose *loose, List *clauses, List *tlist);
static bool unserved_aggregates(Node *node, void *context);
static bool serve_aggregate(Loose *loose, Aggref *aggref);
static bool depends_on_entry(Node *node, void *context);
static bool is_same_in_group(Candidate *c, int position);
static bool has_distinct_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
static void add_distinct_path(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct, Candidate *c);

/*
 * read_loosely
 *		Has a scan read the ends of groups only: those of some SortGroupClauses of the query, and
 *		those of which aggregates want different values.  Returns false if other entries count.
 */
bool
read_loosely(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *groups)
{
	Loose		loose = {.c = c};
	double		n;
	int			end;

	if (!may_be_loose(c) || !add_groups(&loose, groups, root->processed_tlist) ||
		unserved_aggregates((Node *) root->processed_tlist, &loose) || unserved_aggregates(root->parse->havingQual, &loose))
		return false;
	end = c->nequal + bms_num_members(loose.columns);
	if (end == c->nequal || bms_prev_member(loose.columns, -1) != end - 1)
		return false;
	foreach_int(position, loose.ends)
	{
		if (position != end && position >= c->nequal && !bms_is_member(position, loose.columns))
			return false;
	}
	c->groups = NIL;
	for (int i = c->nequal; i < end; i++)
		c->groups = lappend_int(c->groups, c->def->ident[i]);
	foreach_ptr(RestrictInfo, rinfo, rel->baserestrictinfo)
	{
		if (!rinfo->pseudoconstant && !is_checked_by_search(c, rinfo) &&
			(contain_volatile_functions((Node *) rinfo->clause) || depends_on_entry((Node *) rinfo->clause, c)))
			return false;
	}

	/*
	 * Where groups may come in any order, one search finds the end that is
	 * asked for.
	 */
	if (loose.least != loose.greatest && loose.greatest != c->backward)
	{
		c->backward = loose.greatest;
		c->pathkeys = NIL;
	}
	c->first = true;
	c->last = loose.least && loose.greatest;
	n = estimate_num_groups(root, loose.exprs, c->entries, NULL, NULL);
	c->entries = Min(c->last ? 2 * n : n, c->entries);
	return true;
}

/* may_be_loose: returns whether the entries of a scan come from one index, one for each row */
static bool
may_be_loose(Candidate *c)
{
	return are_of_query(c->conditions) && c->def->parts == NULL && c->def->fact->place->entries->search == NULL && !c->distinct && !c->partial_rows &&
		!c->secured && !c->tested_again;
}

/*
 * position_of
 *		Returns which column of the index, from 0, has the value of an expression, and is ordered as
 *		an operator compares it, which is the one of a strategy; -1 if none is.
 */
static int
position_of(Candidate *c, Node *expr, Oid operator, StrategyNumber strategy, Oid collation)
{
	for (int i = 0; i < c->def->nsearch; i++)
	{
		Form_pg_attribute att = TupleDescAttr(c->def->desc, c->def->ident[i] - 1);

		if (column_of_candidate(c, expr) == att->attnum || (IsA(expr, RelabelType) &&
															column_of_candidate(c, (Node *) ((RelabelType *) expr)->arg) == att->attnum))
			return get_op_opfamily_strategy(operator, lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf) == strategy &&
				(!OidIsValid(att->attcollation) || att->attcollation == collation) ? i : -1;
	}
	return -1;
}

/* add_groups: adds what some SortGroupClauses make groups by, which are about a target list; returns false if entries lack it */
static bool
add_groups(Loose *loose, List *clauses, List *tlist)
{
	foreach_ptr(SortGroupClause, clause, clauses)
	{
		Node	   *expr = get_sortgroupclause_expr(clause, tlist);
		int			position = IsA(expr, Const) ? 0 : position_of(loose->c, expr, clause->eqop, BTEqualStrategyNumber, exprCollation(expr));

		if (position < 0)
			return false;
		if (position < loose->c->nequal || IsA(expr, Const))
			continue;
		loose->columns = bms_add_member(loose->columns, position);
		loose->exprs = lappend(loose->exprs, expr);
	}
	return true;
}

/* unserved_aggregates: returns whether aggregates in an expression depend on more than the ends of groups */
static bool
unserved_aggregates(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return !serve_aggregate(context, (Aggref *) node);
	return expression_tree_walker(node, unserved_aggregates, context);
}

/* serve_aggregate: adds what an aggregate asks for; returns false if it depends on more */
static bool
serve_aggregate(Loose *loose, Aggref *aggref)
{
	HeapTuple	tuple;
	Oid			operator;
	Node	   *arg;
	int			position;
	bool		least;

	if (aggref->aggfilter != NULL || aggref->aggdirectargs != NIL || aggref->aggkind != AGGKIND_NORMAL)
		return false;
	if (aggref->aggdistinct != NIL)
		return add_groups(loose, aggref->aggdistinct, aggref->args);
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	operator = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	if (!OidIsValid(operator) || list_length(aggref->args) != 1)
		return false;
	arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	position = position_of(loose->c, arg, operator, BTLessStrategyNumber, aggref->inputcollid);
	least = position >= 0;
	if (!least)
		position = position_of(loose->c, arg, operator, BTGreaterStrategyNumber, aggref->inputcollid);
	if (position < 0)
		return false;
	loose->ends = lappend_int(loose->ends, position);
	loose->least |= least;
	loose->greatest |= !least;
	return true;
}

/* depends_on_entry: returns whether an expression may differ between the entries of a group */
static bool
depends_on_entry(Node *node, void *context)
{
	Candidate  *c = context;
	AttrNumber	attno;

	if (node == NULL)
		return false;
	attno = column_of_candidate(c, node);
	for (int i = 0; attno != 0 && i < c->nequal + list_length(c->groups); i++)
	{
		if (c->def->ident[i] == attno && is_same_in_group(c, i))
			return false;
	}
	if (IsA(node, Var))
		return true;
	return expression_tree_walker(node, depends_on_entry, context);
}

/* is_same_in_group: returns whether values of a column that are equal are the same */
static bool
is_same_in_group(Candidate *c, int position)
{
	Form_pg_attribute att = TupleDescAttr(c->def->desc, c->def->ident[position] - 1);
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY);
	Oid			function = get_opfamily_proc(type->btree_opf, type->btree_opintype, type->btree_opintype, BTEQUALIMAGE_PROC);

	return OidIsValid(function) &&
		DatumGetBool(OidFunctionCall1Coll(function, att->attcollation, ObjectIdGetDatum(type->btree_opintype)));
}

/* add_distinct_paths: adds paths for SELECT DISTINCT, or DISTINCT ON, from the only table of a query */
void
add_distinct_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct)
{
	Query	   *parse = root->parse;
	Served		served;

	if (rel->reloptkind != RELOPT_BASEREL || parse->hasAggs || parse->groupClause != NIL || parse->havingQual != NULL ||
		parse->hasWindowFuncs || parse->hasTargetSRFs || unfit_clauses(rel->baserestrictinfo) != NULL ||
		!find_served(root, rel->relid, false, &served))
		return;
	foreach_ptr(IndexDef, def, served.defs)
	{
		const char *why;
		Candidate  *c = consider_index_table(root, def, rel->baserestrictinfo, rel->relid, NIL, &why);

		if (c == NULL || !is_complete_enough(c, &why))
			continue;
		c->tested_again = served.tested_again;
		set_order(root, rel, c);
		c->entries_only = cover_scan(root, rel, c, rel->baserestrictinfo) && !c->partial_rows;
		if (!c->entries_only)
		{
			/* Of a group, one row is fetched. */
			c->partial_rows = false;
			c->exprs = c->attnos = NIL;
			if (!parse->hasDistinctOn || def->async || def->fact->pk_deferrable || scan_wants_system_columns(rel, rel->baserestrictinfo))
				continue;
		}
		estimate_entries(root, rel, c);
		if (!read_loosely(root, rel, c, parse->distinctClause))
			continue;
		give_reason(served.fact->relid, def->relid, REASON_COST);
		add_distinct_path(root, rel, distinct, c);
	}
}

/*
 * has_distinct_order
 *		Returns whether the row that DISTINCT ON takes of a group is one at an end of it: the first
 *		in the order of the scan, or, where the order within groups is the opposite one, the last.
 */
static bool
has_distinct_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	List	   *pathkeys = list_copy(c->pathkeys);
	int			position = c->nequal + list_length(c->groups);
	bool		last = false;

	if (list_length(c->pathkeys) == list_length(root->query_pathkeys))
		return true;
	if (list_length(c->pathkeys) != list_length(c->groups))
		return false;
	for (int i = list_length(c->pathkeys); i < list_length(root->query_pathkeys); i++, position++)
	{
		PathKey    *key = list_nth(root->query_pathkeys, i);

		if (last || position >= c->def->nsearch || pathkey_descends(key) == c->backward || key->pk_eclass->ec_has_volatile ||
			sort_expression(c, rel, key, position, &last) == NULL)
			return false;
		pathkeys = lappend(pathkeys, key);
	}
	c->pathkeys = pathkeys;
	c->first = false;
	c->last = true;
	c->entries *= 2;
	return true;
}

static void
add_distinct_path(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct, Candidate *c)
{
	bool		on = root->parse->hasDistinctOn;
	double		groups = c->entries;
	CustomPath *scan;
	Path	   *path;

	if (on && !has_distinct_order(root, rel, c))
		return;
	scan = make_scan_path(rel, c);
	scan->path.rows = groups;
	if (c->entries_only)
		scan->path.pathtarget = target_of_entries(root, rel, c);
	finish_path(root, rel, c, rel->baserestrictinfo, 1, &scan->path);
	path = apply_projection_to_path(root, rel, &scan->path, root->upper_targets[UPPERREL_DISTINCT]);
	if (on || pathkeys_contained_in(root->distinct_pathkeys, c->pathkeys))
		path = (Path *) create_upper_unique_path(root, distinct, path, list_length(root->distinct_pathkeys), groups);
	else if (grouping_is_hashable(root->parse->distinctClause))
		path = (Path *) create_agg_path(root, distinct, path, path->pathtarget, AGG_HASHED, AGGSPLIT_SIMPLE,
										distinct_keys_of(root), NIL, NULL, groups);
	else
		return;
	add_path(distinct, path);
}
