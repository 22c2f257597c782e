/*-------------------------------------------------------------------------
 *
 * element_join.c
 *	  Gives the planner joins that search an index table of elements by columns of other tables.
 *
 * In FROM orders o, jsonb_array_elements(o.doc -> 'lines') l JOIN product p ON p.sku = l ->>
 * 'sku', the condition joins products with elements, and elements come only with their order.  So
 * the planner joins all orders with their elements first: it has no condition between orders and
 * products.  But an order that has an element of this sku has an entry of it.  So for each
 * product the orders can be searched for, joined with all of their elements, and these be
 * compared with the product, as the query says:
 *
 *		Nested Loop
 *			product
 *			Nested Loop, whose join filter is the condition
 *				orders, by entries that have the sku
 *				jsonb_array_elements()
 *
 * The planner considers no such inner join by itself, as it leaves no table that needs another
 * one for later without a condition that says so.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "../candidate/candidate.h"
#include "../place/place.h"
#include "../reasons/reasons.h"
#include "../util/compat.h"
#include "planner.h"

static set_join_pathlist_hook_type previous_hook = NULL;

static void add_element_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
							  JoinType jointype, JoinPathExtraData *extra);
static void add_nested_loop(PlannerInfo *root, RelOptInfo *joinrel, JoinType jointype, Path *outer, Path *inner,
							JoinPathExtraData *extra);
static NestPath *join_with_elements(RelOptInfo *joined);
static List *clauses_of_elements(PlannerInfo *root, List *clauses, Index elements, Relids outer, Relids *used);
static CustomPath *search_path(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *of_elements,
							   Relids required, double loops);
static NestPath *elements_of_search(PlannerInfo *root, RelOptInfo *joined, NestPath *all, CustomPath *search,
									Relids required, JoinPathExtraData extra);

void
element_join_init(void)
{
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_element_joins;
}

/*
 * add_element_joins
 *		Adds paths of a join whose inner side is that of a fact table with elements of its
 *		own.
 */
static void
add_element_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
				  JoinType jointype, JoinPathExtraData *extra)
{
	Path	   *outer = outerrel->cheapest_total_path;
	NestPath   *all;
	RelOptInfo *rel;
	List	   *of_elements;
	Relids		required = NULL;
	Served		served;

	if (planned_by_entries)
		return;
	if (previous_hook)
		previous_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (jointype == JOIN_INNER)
		note_element_rows(root, joinrel, outerrel, innerrel, extra->restrictlist);
	if ((jointype != JOIN_INNER && jointype != JOIN_SEMI) || bms_num_members(innerrel->relids) != 2 ||
		outer == NULL || outer->param_info != NULL || !bms_is_empty(joinrel->lateral_relids))
		return;
	foreach_ptr(Path, elements, searches_of_elements(root, innerrel, outer, extra->restrictlist))
	{
		add_nested_loop(root, joinrel, jointype, outer, elements, extra);
	}
	if ((all = join_with_elements(innerrel)) == NULL)
		return;
	rel = all->jpath.outerjoinpath->parent;
	of_elements = clauses_of_elements(root, extra->restrictlist, all->jpath.innerjoinpath->parent->relid,
									  outerrel->relids, &required);
	if (of_elements == NIL || unfit_clauses(rel->baserestrictinfo) != NULL ||
		!find_served(root, rel->relid, false, &served) || served.tested_again ||
		served.fact->layout.pk_deferrable || scan_wants_system_columns(rel, rel->baserestrictinfo))
		return;
	foreach_ptr(IndexDef, def, served.defs)
	{
		CustomPath *search = search_path(root, rel, def, of_elements, required, outer->rows);
		NestPath   *inner;

		if (search == NULL)
			continue;
		inner = elements_of_search(root, innerrel, all, search, required, *extra);
		add_nested_loop(root, joinrel, jointype, outer, &inner->jpath.path, extra);
		give_reason(served.fact->relid, def->relid, REASON_COST);
	}
}

/* add_nested_loop: adds the path of a join that searches its inner side for each outer row */
static void
add_nested_loop(PlannerInfo *root, RelOptInfo *joinrel, JoinType jointype, Path *outer, Path *inner,
				JoinPathExtraData *extra)
{
	JoinCostWorkspace workspace;

	initial_cost_nestloop_compat(root, &workspace, jointype, outer, inner, extra);
	add_path(joinrel,
			 (Path *) create_nestloop_path(root, joinrel, jointype, &workspace, extra, outer, inner,
										   extra->restrictlist,
										   build_join_pathkeys(root, joinrel, jointype, outer->pathkeys), NULL));
}

/*
 * join_with_elements
 *		Returns the path by which a table is joined with a function of its own columns, or
 *		NULL.
 */
static NestPath *
join_with_elements(RelOptInfo *joined)
{
	foreach_ptr(NestPath, path, joined->pathlist)
	{
		RelOptInfo *outer;
		RelOptInfo *inner;

		if (!IsA(path, NestPath) || path->jpath.jointype != JOIN_INNER || path->jpath.path.param_info != NULL)
			continue;
		outer = path->jpath.outerjoinpath->parent;
		inner = path->jpath.innerjoinpath->parent;
		if (outer->reloptkind == RELOPT_BASEREL && outer->rtekind == RTE_RELATION &&
			bms_is_empty(outer->lateral_relids) && inner->reloptkind == RELOPT_BASEREL &&
			inner->rtekind == RTE_FUNCTION && bms_equal(inner->lateral_relids, outer->relids))
			return path;
	}
	return NULL;
}

/*
 * clauses_of_elements
 *		Returns what is true of some element of each row that is joined with rows of other
 *		relations, outer, as conditions on the document, and adds those of these relations that
 *		have values to search by to *used.
 */
static List *
clauses_of_elements(PlannerInfo *root, List *clauses, Index elements, Relids outer, Relids *used)
{
	List	   *result = NIL;

	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		bool		failed = false;
		Node	   *clause;

		if (!bms_is_member(elements, rinfo->clause_relids) || !bms_overlap(outer, rinfo->clause_relids))
			continue;
		clause = with_elements((Node *) rinfo->clause, root->parse->rtable, elements, &failed);
		if (failed)
			continue;
		result = lappend(result, clause);
		*used = bms_add_members(*used, bms_intersect(outer, rinfo->clause_relids));
	}
	return result;
}

/*
 * search_path
 *		Returns the path that searches an index table of elements for the values of some row of
 *		other relations, or NULL if it cannot be searched by them.
 */
static CustomPath *
search_path(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *of_elements, Relids required, double loops)
{
	ParamPathInfo *param = get_baserel_parampathinfo(root, rel, required);
	List	   *clauses = list_concat_copy(rel->baserestrictinfo, param->ppi_clauses);
	bool		searched = false;
	const char *why;
	Candidate  *c;
	CustomPath *path;

	if (def->spec.multi_field < 0 || unfit_clauses(param->ppi_clauses) != NULL ||
		scan_wants_system_columns(rel, param->ppi_clauses))
		return NULL;
	c = consider_index_table(root, def, list_concat_copy(clauses, of_elements), rel->relid, NIL, &why);
	foreach_ptr(Condition, condition, c == NULL ? NIL : c->conditions)
		searched |= is_element_position(def, condition->position) &&
		bms_overlap(pull_varnos(root, (Node *) condition->value), required);
	if (!searched || !is_complete_enough(c, &why))
		return NULL;
	estimate_entries(root, rel, c);
	path = make_scan_path(rel, c);
	path->path.param_info = param;
	path->path.rows = Min(param->ppi_rows, c->entries);
	finish_path(root, rel, c, clauses, loops, &path->path);
	return path;
}

/*
 * elements_of_search
 *		Returns the join of the rows that a path finds with their elements, as that of all
 *		rows is.
 */
static NestPath *
elements_of_search(PlannerInfo *root, RelOptInfo *joined, NestPath *all, CustomPath *search, Relids required,
				   JoinPathExtraData extra)
{
	Path	   *elements = all->jpath.innerjoinpath;
	SpecialJoinInfo *sjinfo = makeNode(SpecialJoinInfo);
	JoinCostWorkspace workspace;

	sjinfo->jointype = JOIN_INNER;
	sjinfo->min_lefthand = sjinfo->syn_lefthand = search->path.parent->relids;
	sjinfo->min_righthand = sjinfo->syn_righthand = elements->parent->relids;
	extra.restrictlist = all->jpath.joinrestrictinfo;
	extra.sjinfo = sjinfo;
	extra.inner_unique = false;
	initial_cost_nestloop_compat(root, &workspace, JOIN_INNER, &search->path, elements, &extra);
	return create_nestloop_path(root, joined, JOIN_INNER, &workspace, &extra, &search->path, elements,
								list_copy(all->jpath.joinrestrictinfo), NIL, required);
}
