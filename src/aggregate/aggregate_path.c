/*-------------------------------------------------------------------------
 *
 * aggregate_path.c
 *	  Gives the planner paths that aggregate entries of index tables: sums, and what else has
 *	  fields as arguments of aggregates; and those that read one entry, or two, of each group of
 *	  entries: for DISTINCT, and for aggregates that are the same whatever else there is in a group.
 *
 * The planner has a scan below an aggregate return the plain columns in the aggregates'
 * arguments, that is the documents.  So a scan that returns the arguments themselves is no path
 * for it, and is put below an aggregate here.
 *
 * Ends of groups are enough for aggregates of different values, and for the least and the greatest
 * value of the column that follows the groups' columns in the index.  What is above the scan is what
 * the planner would put there: it has fewer rows to group, or to find the different ones of, and
 * where the entries cannot answer it has all of them.
 *
 * A condition that the search does not check is checked for the entries that are returned.  So of
 * ends of groups it must say the same of all entries of a group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../candidate/candidate.h"
#include "../definition/definition.h"
#include "../place/place.h"
#include "../planner/planner.h"
#include "../reasons/reasons.h"
#include "../util/compat.h"
#include "aggregate.h"

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

static create_upper_paths_hook_type previous_hook = NULL;

static void add_aggregate_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								RelOptInfo *output_rel, void *extra);
static void add_paths_of_index_table(PlannerInfo *root, RelOptInfo *rel, ElementRows * rows, RelOptInfo *grouped,
									 Served *served, IndexDef *def, GroupPathExtraData *extra);
static void add_aggregate(PlannerInfo *root, RelOptInfo *rel, List *clauses, RelOptInfo *grouped, Candidate *c,
						  PathTarget *target, GroupPathExtraData *extra);
static void add_partial_aggregate(PlannerInfo *root, Path *scan, RelOptInfo *grouped, GroupPathExtraData *extra,
								  List *keys, double groups);
static bool read_loosely(PlannerInfo *root, Candidate *c, List *clauses, List *groups);
static void add_distinct_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct);
static void add_distinct_elements(PlannerInfo *root, ElementRows * rows, RelOptInfo *distinct);
static bool may_be_loose(Candidate *c);
static int	position_of(Candidate *c, Node *expr, Oid operator, StrategyNumber strategy, Oid collation);
static bool add_groups(Loose *loose, List *clauses, List *tlist);
static bool unserved_aggregates(Node *node, void *context);
static bool serve_aggregate(Loose *loose, Aggref *aggref);
static bool depends_on_entry(Node *node, void *context);
static bool has_distinct_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
static void add_distinct_path(PlannerInfo *root, RelOptInfo *rel, List *clauses, RelOptInfo *distinct,
							  Candidate *c, double groups);

void
aggregate_path_init(void)
{
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_aggregate_paths;
}

static void
add_aggregate_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
					void *extra)
{
	Query	   *parse = root->parse;
	ElementRows *rows = NULL;
	Served		served;

	if (previous_hook)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (planned_by_entries)
		return;
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_DISTINCT)
		rows = parse->hasTargetSRFs ? elements_in_targets(root, input_rel) : element_rows_of(input_rel);
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_DISTINCT)
		add_totals_paths(root, input_rel, output_rel, stage);
	if (stage == UPPERREL_DISTINCT && parse->distinctClause != NIL && rows != NULL)
		add_distinct_elements(root, rows, output_rel);
	else if (stage == UPPERREL_DISTINCT && parse->distinctClause != NIL)
		add_distinct_paths(root, input_rel, output_rel);
	if (stage != UPPERREL_GROUP_AGG || (input_rel->reloptkind != RELOPT_BASEREL && rows == NULL) ||
		(!parse->hasAggs && parse->groupClause == NIL) || parse->groupingSets != NIL ||
		(parse->hasTargetSRFs && rows == NULL) || parse->hasWindowFuncs ||
		(parse->groupClause != NIL && !grouping_is_sortable(parse->groupClause)))
		return;
	if (rows != NULL ? unfit_clauses(rows->clauses) == NULL && find_served_elements(root, rows, &served) :
		unfit_clauses(input_rel->baserestrictinfo) == NULL && find_served(root, input_rel->relid, false, &served))
	{
		foreach_ptr(IndexDef, def, served.defs)
			add_paths_of_index_table(root, input_rel, rows, output_rel, &served, def, extra);
	}
}

/*
 * add_paths_of_index_table
 *		Adds paths that group entries of an index table: those of rows of the only table of a query, or, unless
 *		rows is NULL, of elements of such rows.
 */
static void
add_paths_of_index_table(PlannerInfo *root, RelOptInfo *rel, ElementRows * rows, RelOptInfo *grouped,
						 Served *served, IndexDef *def, GroupPathExtraData *extra)
{
	PathTarget *target = create_empty_pathtarget();
	List	   *clauses = rows != NULL ? rows->clauses : rel->baserestrictinfo;
	const char *why;
	Candidate  *c = rows != NULL ? consider_element_rows(root, rows, def, &why) :
		consider_index_table(root, def, clauses, rel->relid, NIL, &why);
	Candidate  *loose;
	bool		tried;

	if (c == NULL || !is_complete_enough(c, &why))
		return;

	/*
	 * What the planner finds out itself is not tried again, unless it makes
	 * documents for that.
	 */
	tried = !root->parse->hasTargetSRFs && cover_scan(root, rel, c, clauses) && !c->partial_rows;
	c->partial_rows = false;
	if (!cover_aggregates(root, c, clauses, target))
		return;
	c->entries_only = true;
	give_reason(served->fact->relid, def->relid, REASON_COST);
	set_order(root, rel, c);
	estimate_entries(root, rows != NULL ? rows->fact : rel, c);
	set_pathtarget_cost_width(root, target);
	loose = memcpy(palloc(sizeof(Candidate)), c, sizeof(Candidate));
	if (!tried)
		add_aggregate(root, rel, clauses, grouped, c, target, extra);
	if (read_loosely(root, loose, clauses, root->parse->groupClause))
		add_aggregate(root, rel, clauses, grouped, loose, target, NULL);
}

/*
 * add_aggregate
 *		Adds paths that group the entries of a scan, or all of them; with extra, workers may
 *		do a part of it.
 */
static void
add_aggregate(PlannerInfo *root, RelOptInfo *rel, List *clauses, RelOptInfo *grouped, Candidate *c,
			  PathTarget *target, GroupPathExtraData *extra)
{
	Query	   *parse = root->parse;
	AggClauseCosts costs = {0};
	CustomPath *scan = make_scan_path(rel, c);
	Path	   *input = &scan->path;
	Path	   *partial;
	double		groups = 1;
	List	   *keys = grouping_keys(root);

	scan->path.pathtarget = target;
	if (c->groups != NIL)
		scan->path.rows = c->entries;
	else if (c->by_element)
		scan->path.rows = rows_of_elements(root, c);
	finish_path(root, rel, c, clauses, 1, &scan->path);
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	if (keys != NIL)
		groups = estimate_num_groups(root, get_sortgrouplist_exprs(keys, root->processed_tlist), input->rows,
									 NULL, NULL);
	if (!pathkeys_contained_in(root->group_pathkeys, input->pathkeys))
	{
		/* The planner may have chosen an order for their arguments, too. */
		if (root->numOrderedAggs > 0)
			return;
		if (grouping_is_hashable(parse->groupClause))
			add_path(grouped,
					 (Path *) create_agg_path(root, grouped, input, grouped->reltarget, AGG_HASHED,
											  AGGSPLIT_SIMPLE, keys, (List *) parse->havingQual, &costs, groups));
		input = (Path *) create_sort_path(root, rel, input, root->group_pathkeys, -1.0);
	}
	add_path(grouped,
			 (Path *) create_agg_path(root, grouped, input, grouped->reltarget,
									  parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN, AGGSPLIT_SIMPLE, keys,
									  (List *) parse->havingQual, &costs, groups));
	partial = extra == NULL ? NULL : partial_path(root, rel, c, clauses, &scan->path);
	if (partial != NULL && grouped->consider_parallel && extra->partial_costs_set)
		add_partial_aggregate(root, partial, grouped, extra, keys, groups);
}

/*
 * add_partial_aggregate
 *		Adds a path by which parallel workers aggregate what they read each, and the leader their
 *		results, as the planner would if the scan were one of its own.
 */
static void
add_partial_aggregate(PlannerInfo *root, Path *scan, RelOptInfo *grouped, GroupPathExtraData *extra, List *keys,
					  double groups)
{
	Query	   *parse = root->parse;
	RelOptInfo *partial = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, grouped->relids);
	bool		sorted = pathkeys_contained_in(root->group_pathkeys, scan->pathkeys);
	AggStrategy strategy = parse->groupClause == NIL ? AGG_PLAIN : sorted ? AGG_SORTED : AGG_HASHED;
	double		partial_groups = 1;
	double		rows;
	Path	   *path;

	if (partial->reltarget->exprs == NIL || (strategy == AGG_HASHED && !grouping_is_hashable(parse->groupClause)))
		return;

	/*
	 * From PostgreSQL 16 on, a key that a condition makes constant is
	 * computed by the leader, of columns that entries lack.
	 */
	foreach_ptr(Node, expr, partial->reltarget->exprs)
	{
		if (!IsA(expr, Aggref) && !list_member(scan->pathtarget->exprs, expr))
			return;
	}
	if (keys != NIL)
		partial_groups = estimate_num_groups(root, get_sortgrouplist_exprs(keys, root->processed_tlist),
											 scan->rows, NULL, NULL);
	path = (Path *) create_agg_path(root, partial, scan, partial->reltarget, strategy, AGGSPLIT_INITIAL_SERIAL,
									keys, NIL, &extra->agg_partial_costs, partial_groups);
	rows = partial_groups * path->parallel_workers;
	/* Rows of one group, which conditions leave, are in any order. */
	if (strategy == AGG_SORTED && root->group_pathkeys != NIL)
		path = (Path *) create_gather_merge_path(root, partial, path, partial->reltarget, root->group_pathkeys,
												 NULL, &rows);
	else
		path = (Path *) create_gather_path(root, partial, path, partial->reltarget, NULL, &rows);
	add_path(grouped,
			 (Path *) create_agg_path(root, grouped, path, grouped->reltarget, strategy, AGGSPLIT_FINAL_DESERIAL,
									  keys, (List *) parse->havingQual, &extra->agg_final_costs, groups));
}

/*
 * read_loosely
 *		Has a scan read the ends of groups only: those of some SortGroupClauses of the query, and
 *		those of which aggregates want different values.  Returns false if other entries count.
 */
static bool
read_loosely(PlannerInfo *root, Candidate *c, List *clauses, List *groups)
{
	Loose		loose = {.c = c};
	bool		null_ends = false;
	double		n;
	int			end;

	if (!may_be_loose(c) || !add_groups(&loose, groups, root->processed_tlist) ||
		unserved_aggregates((Node *) root->processed_tlist, &loose) ||
		unserved_aggregates(root->parse->havingQual, &loose))
		return false;
	end = c->nequal + bms_num_members(loose.columns);
	if (end == c->nequal || bms_prev_member(loose.columns, -1) != end - 1)
		return false;
	foreach_int(position, loose.ends)
	{
		if (position != end && position >= c->nequal && !bms_is_member(position, loose.columns))
			return false;
		null_ends |= position == end && loose.greatest && may_find_null(c, position);
	}
	c->groups = NIL;
	c->null_groups = false;
	c->null_ends = null_ends;
	for (int i = c->nequal; i < end; i++)
	{
		c->groups = lappend_int(c->groups, c->def->layout.ident[i]);
		c->null_groups |= may_find_null(c, i);
	}
	foreach_ptr(RestrictInfo, rinfo, clauses)
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
	return are_of_query(c->conditions) && is_one_table(c->def) && !c->distinct && !c->partial_rows &&
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
	for (int i = 0; i < c->def->layout.nsearch; i++)
	{
		Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, c->def->layout.ident[i] - 1);

		if (has_column_value(c, expr, att->attnum))
		{
			Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

			return get_op_opfamily_strategy(operator, family) == strategy &&
				(!OidIsValid(att->attcollation) || att->attcollation == collation) ? i : -1;
		}
	}
	return -1;
}

/*
 * add_groups
 *		Adds what some SortGroupClauses make groups by, which are about a target list; returns
 *		false if entries lack it.
 */
static bool
add_groups(Loose *loose, List *clauses, List *tlist)
{
	foreach_ptr(SortGroupClause, clause, clauses)
	{
		Node	   *expr = get_sortgroupclause_expr(clause, tlist);
		int			position = 0;

		if (!IsA(expr, Const))
			position = position_of(loose->c, expr, clause->eqop, BTEqualStrategyNumber, exprCollation(expr));
		if (position < 0)
			return false;
		if (position < loose->c->nequal || IsA(expr, Const))
			continue;
		loose->columns = bms_add_member(loose->columns, position);
		loose->exprs = lappend(loose->exprs, expr);
	}
	return true;
}

/*
 * unserved_aggregates
 *		Returns whether aggregates in an expression depend on more than the ends of groups.
 */
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
		Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, c->def->layout.ident[i] - 1);

		/* Values that are equal are the same in all of the group. */
		if (att->attnum == attno && is_image_equal(att->atttypid, att->atttypmod, att->attcollation))
			return false;
	}
	if (IsA(node, Var))
		return true;
	return expression_tree_walker(node, depends_on_entry, context);
}

/*
 * add_distinct_paths
 *		Adds paths for SELECT DISTINCT, or DISTINCT ON, from the only table of a query.
 */
static void
add_distinct_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct)
{
	Query	   *parse = root->parse;
	Served		served;

	if (rel->reloptkind != RELOPT_BASEREL || parse->hasAggs || parse->groupClause != NIL ||
		parse->havingQual != NULL || parse->hasWindowFuncs || parse->hasTargetSRFs ||
		unfit_clauses(rel->baserestrictinfo) != NULL || !find_served(root, rel->relid, false, &served))
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
			if (!parse->hasDistinctOn || def->spec.async || def->fact->layout.pk_deferrable ||
				scan_wants_system_columns(rel, rel->baserestrictinfo))
				continue;
		}
		estimate_entries(root, rel, c);
		if (!read_loosely(root, c, rel->baserestrictinfo, parse->distinctClause))
			continue;
		give_reason(served.fact->relid, def->relid, REASON_COST);
		add_distinct_path(root, rel, rel->baserestrictinfo, distinct, c, c->entries);
	}
}

/*
 * add_distinct_elements
 *		Adds paths for SELECT DISTINCT from elements of rows.  A scan of all entries is left to the planner,
 *		unless the target list unnests them.
 */
static void
add_distinct_elements(PlannerInfo *root, ElementRows * rows, RelOptInfo *distinct)
{
	Query	   *parse = root->parse;
	Served		served;

	if (parse->hasAggs || parse->groupClause != NIL || parse->havingQual != NULL || parse->hasWindowFuncs ||
		parse->hasDistinctOn || unfit_clauses(rows->clauses) != NULL ||
		!find_served_elements(root, rows, &served))
		return;
	foreach_ptr(IndexDef, def, served.defs)
	{
		const char *why;
		Candidate  *c = consider_element_rows(root, rows, def, &why);
		Candidate	whole;

		if (c == NULL)
			continue;
		set_order(root, rows->joined, c);
		c->entries_only = cover_scan(root, rows->joined, c, rows->clauses) && !c->partial_rows;
		if (!c->entries_only)
			continue;
		estimate_entries(root, rows->fact, c);
		give_reason(served.fact->relid, def->relid, REASON_COST);
		whole = *c;
		if (read_loosely(root, c, rows->clauses, parse->distinctClause))
			add_distinct_path(root, rows->joined, rows->clauses, distinct, c, c->entries);
		else if (rows->functions == NIL)
			add_distinct_path(root, rows->joined, rows->clauses, distinct,
							  memcpy(c, &whole, sizeof(Candidate)),
							  estimate_num_groups(root, c->exprs, c->entries, NULL, NULL));
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

		if (last || position >= c->def->layout.nsearch || pathkey_descends(key) == c->backward ||
			key->pk_eclass->ec_has_volatile || sort_expression(c, rel, key, position, &last) == NULL ||
			(key->pk_nulls_first != pathkey_descends(key) && may_be_null(c, position)))
			return false;
		pathkeys = lappend(pathkeys, key);
	}
	c->pathkeys = pathkeys;
	c->first = false;
	c->last = true;
	c->entries *= 2;
	return true;
}

/* add_distinct_path: adds a path that finds what is different of what a scan returns */
static void
add_distinct_path(PlannerInfo *root, RelOptInfo *rel, List *clauses, RelOptInfo *distinct, Candidate *c,
				  double groups)
{
	bool		on = root->parse->hasDistinctOn;
	CustomPath *scan;
	Path	   *path;

	if (on && !has_distinct_order(root, rel, c))
		return;
	scan = make_scan_path(rel, c);
	scan->path.rows = c->entries;
	if (c->entries_only)
		scan->path.pathtarget = target_of_entries(root, rel, c);
	finish_path(root, rel, c, clauses, 1, &scan->path);
	path = apply_projection_to_path(root, rel, &scan->path, root->upper_targets[UPPERREL_DISTINCT]);
	if (on || pathkeys_contained_in(root->distinct_pathkeys, c->pathkeys))
		path = (Path *) create_upper_unique_path(root, distinct, path, list_length(root->distinct_pathkeys),
												 groups);
	else if (grouping_is_hashable(root->parse->distinctClause))
		path = (Path *) create_agg_path(root, distinct, path, path->pathtarget, AGG_HASHED, AGGSPLIT_SIMPLE,
										distinct_keys_of(root), NIL, NULL, groups);
	else
		return;
	add_path(distinct, path);
}
