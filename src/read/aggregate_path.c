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

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "aggregate_path.h"
#include "coverage.h"
#include "path.h"
#include "path_cost.h"
#include "path_order.h"
#include "scan_plan.h"
#include "served.h"
#include "totals_path.h"

static create_upper_paths_hook_type previous_hook = NULL;

static void add_aggregate_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								RelOptInfo *output_rel, void *extra);
static void add_paths_of_index_table(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Served *served,
									 IndexDef *def);

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
	ListCell   *cell;

	if (previous_hook)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_DISTINCT)
		add_totals_paths(root, input_rel, output_rel, stage);
	if (stage != UPPERREL_GROUP_AGG || input_rel->reloptkind != RELOPT_BASEREL || !parse->hasAggs || root->numOrderedAggs > 0 ||
		parse->groupingSets != NIL || parse->hasTargetSRFs || parse->hasWindowFuncs ||
		(parse->groupClause != NIL && !grouping_is_sortable(parse->groupClause)))
		return;
	if (unfit_clauses(input_rel->baserestrictinfo) == NULL && open_served(root, input_rel->relid, &served))
	{
		foreach(cell, served.defs)
			add_paths_of_index_table(root, input_rel, output_rel, &served, lfirst(cell));
		close_served(&served);
	}
}

static void
add_paths_of_index_table(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Served *served, IndexDef *def)
{
	Query	   *parse = root->parse;
	PathTarget *target = create_empty_pathtarget();
	const char *why;
	Candidate  *c = consider_index_table(root, def, rel->baserestrictinfo, served->rel, rel->relid, &why);
	AggClauseCosts costs = {0};
	CustomPath *scan;
	Path	   *input;
	double		groups = 1;
	List	   *keys = grouping_keys(root);

	/* What the planner finds out itself is not tried again. */
	if (c == NULL || !is_complete_enough(c, &why) || cover_scan(root, rel, c, rel->baserestrictinfo) ||
		!cover_aggregates(root, rel, c, rel->baserestrictinfo, target))
		return;
	c->entries_only = true;
	give_reason(served->fact->relid, def->relid, REASON_COST);
	set_order(root, rel, c);
	estimate_entries(root, rel, c);
	scan = make_scan_path(root, rel, c);
	scan->path.pathtarget = set_pathtarget_cost_width(root, target);
	finish_path(root, rel, c, rel->baserestrictinfo, 1, &scan->path);
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	input = &scan->path;
	if (keys != NIL)
		groups = estimate_num_groups(root, get_sortgrouplist_exprs(keys, root->processed_tlist), input->rows, NULL, NULL);
	if (!pathkeys_contained_in(root->group_pathkeys, input->pathkeys))
	{
		if (grouping_is_hashable(parse->groupClause))
			add_path(grouped, (Path *) create_agg_path(root, grouped, input, grouped->reltarget, AGG_HASHED,
													   AGGSPLIT_SIMPLE, keys, (List *) parse->havingQual, &costs, groups));
		input = (Path *) create_sort_path(root, rel, input, root->group_pathkeys, -1.0);
	}
	add_path(grouped, (Path *) create_agg_path(root, grouped, input, grouped->reltarget,
											   parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN, AGGSPLIT_SIMPLE, keys,
											   (List *) parse->havingQual, &costs, groups));
}
