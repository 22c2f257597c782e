/*-------------------------------------------------------------------------
 *
 * aggregate_path.c
 *	  Gives the planner paths that aggregate entries of index tables: sums, and what else has
 *	  fields as arguments of aggregates.
 *
 * The planner has a scan below an aggregate return the plain columns in the aggregates'
 * arguments, that is the documents.  So a scan that returns the arguments themselves is no path
 * for it, and is put below an aggregate here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "plan.h"
#include "scan.h"

static create_upper_paths_hook_type previous_hook = NULL;

static void add_aggregate_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								RelOptInfo *output_rel, void *extra);
static void add_paths_of_index_table(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Served *served,
									 IndexDef *def, GroupPathExtraData *extra);
static void add_aggregate(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Candidate *c, PathTarget *target,
						  GroupPathExtraData *extra);
static void add_partial_aggregate(PlannerInfo *root, Path *scan, RelOptInfo *grouped, GroupPathExtraData *extra,
								  List *keys, double groups);

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
	Served		served;

	if (previous_hook)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_DISTINCT)
		add_totals_paths(root, input_rel, output_rel, stage);
	if (stage == UPPERREL_DISTINCT && parse->distinctClause != NIL)
		add_distinct_paths(root, input_rel, output_rel);
	if (stage != UPPERREL_GROUP_AGG || input_rel->reloptkind != RELOPT_BASEREL || (!parse->hasAggs && parse->groupClause == NIL) ||
		parse->groupingSets != NIL || parse->hasTargetSRFs || parse->hasWindowFuncs ||
		(parse->groupClause != NIL && !grouping_is_sortable(parse->groupClause)))
		return;
	if (unfit_clauses(input_rel->baserestrictinfo) == NULL && find_served(root, input_rel->relid, false, &served))
	{
		foreach_ptr(IndexDef, def, served.defs)
			add_paths_of_index_table(root, input_rel, output_rel, &served, def, extra);
	}
}

static void
add_paths_of_index_table(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Served *served, IndexDef *def,
						 GroupPathExtraData *extra)
{
	PathTarget *target = create_empty_pathtarget();
	const char *why;
	Candidate  *c = consider_index_table(root, def, rel->baserestrictinfo, rel->relid, NIL, &why);
	Candidate  *loose;
	bool		tried;

	if (c == NULL || !is_complete_enough(c, &why))
		return;

	/*
	 * What the planner finds out itself is not tried again, unless it makes
	 * documents for that.
	 */
	tried = cover_scan(root, rel, c, rel->baserestrictinfo) && !c->partial_rows;
	c->partial_rows = false;
	if (!cover_aggregates(root, c, rel->baserestrictinfo, target))
		return;
	c->entries_only = true;
	give_reason(served->fact->relid, def->relid, REASON_COST);
	set_order(root, rel, c);
	estimate_entries(root, rel, c);
	set_pathtarget_cost_width(root, target);
	loose = memcpy(palloc(sizeof(Candidate)), c, sizeof(Candidate));
	if (!tried)
		add_aggregate(root, rel, grouped, c, target, extra);
	if (read_loosely(root, rel, loose, root->parse->groupClause))
		add_aggregate(root, rel, grouped, loose, target, NULL);
}

/* add_aggregate: adds paths that group the entries of a scan, or all of them; with extra, workers may do a part of it */
static void
add_aggregate(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Candidate *c, PathTarget *target, GroupPathExtraData *extra)
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
	finish_path(root, rel, c, rel->baserestrictinfo, 1, &scan->path);
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	if (keys != NIL)
		groups = estimate_num_groups(root, get_sortgrouplist_exprs(keys, root->processed_tlist), input->rows, NULL, NULL);
	if (!pathkeys_contained_in(root->group_pathkeys, input->pathkeys))
	{
		/* The planner may have chosen an order for their arguments, too. */
		if (root->numOrderedAggs > 0)
			return;
		if (grouping_is_hashable(parse->groupClause))
			add_path(grouped, (Path *) create_agg_path(root, grouped, input, grouped->reltarget, AGG_HASHED,
													   AGGSPLIT_SIMPLE, keys, (List *) parse->havingQual, &costs, groups));
		input = (Path *) create_sort_path(root, rel, input, root->group_pathkeys, -1.0);
	}
	add_path(grouped, (Path *) create_agg_path(root, grouped, input, grouped->reltarget,
											   parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN, AGGSPLIT_SIMPLE, keys,
											   (List *) parse->havingQual, &costs, groups));
	partial = extra == NULL ? NULL : partial_path(root, rel, c, rel->baserestrictinfo, &scan->path);
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
		partial_groups = estimate_num_groups(root, get_sortgrouplist_exprs(keys, root->processed_tlist), scan->rows, NULL, NULL);
	path = (Path *) create_agg_path(root, partial, scan, partial->reltarget, strategy, AGGSPLIT_INITIAL_SERIAL, keys, NIL,
									&extra->agg_partial_costs, partial_groups);
	rows = partial_groups * path->parallel_workers;
	/* Rows of one group, which conditions leave, are in any order. */
	if (strategy == AGG_SORTED && root->group_pathkeys != NIL)
		path = (Path *) create_gather_merge_path(root, partial, path, partial->reltarget, root->group_pathkeys, NULL, &rows);
	else
		path = (Path *) create_gather_path(root, partial, path, partial->reltarget, NULL, &rows);
	add_path(grouped, (Path *) create_agg_path(root, grouped, path, grouped->reltarget, strategy, AGGSPLIT_FINAL_DESERIAL, keys,
											   (List *) parse->havingQual, &extra->agg_final_costs, groups));
}
