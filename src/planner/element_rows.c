/*-------------------------------------------------------------------------
 *
 * element_rows.c
 *	  Gives the planner paths that read an index table of elements in place of the join of its fact table
 *	  with the elements of each row.
 *
 * FROM orders, jsonb_array_elements(doc -> 'lines') l has a row for each element, and an index table by lines[*]
 * has an entry for all elements of a row that agree in its fields, with their number.  So a scan that
 * returns each entry as often as that has the rows of the join, as far as they are made of these fields.  What
 * is above the join is what the planner would put there: it sorts, groups, and joins the rows with others.
 *
 * Natively it is an error if there is something else in place of an array.  Rows that have such are recorded,
 * and then the scan falls back to the join, as it does where rows may lack entries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "../candidate/candidate.h"
#include "../place/place.h"
#include "../reasons/reasons.h"
#include "planner.h"

static void add_paths_of_elements(PlannerInfo *root, ElementRows * rows);
static void add_path_of_elements(PlannerInfo *root, ElementRows * rows, Served *served, IndexDef *def);
static void add_users_index(PlannerInfo *root, ElementRows * rows, Served *served, IndexDef *def);
static Path *search_of_elements(PlannerInfo *root, ElementRows * rows, IndexDef *def, List *own, Relids required,
								double loops);
static bool collect_sets(Node *node, void *sets);

/* element_rows_of: returns which rows with elements a relation is a join of, or NULL */
ElementRows *
element_rows_of(RelOptInfo *rel)
{
	ElementRows *rows = rel->reloptkind == RELOPT_JOINREL && rel->fdwroutine == NULL ? rel->fdw_private : NULL;

	return rows != NULL && rows->joined == rel ? rows : NULL;
}

/*
 * note_element_rows
 *		Notes that a join is one of a fact table with elements of its rows, if it is: of the table with a
 *		function that unnests an array of it, or of such a join with a function that unnests what the last of
 *		its functions returns.  Conditions that compare the table with the function are not served.
 */
void
note_element_rows(PlannerInfo *root, RelOptInfo *joined, RelOptInfo *outer, RelOptInfo *function, List *clauses)
{
	ElementRows *before = element_rows_of(outer);
	ElementRows *rows;
	RangeTblEntry *rte;
	int			source;

	if (joined->fdw_private != NULL || clauses != NIL || function->reloptkind != RELOPT_BASEREL ||
		function->rtekind != RTE_FUNCTION)
		return;
	if (before == NULL && (outer->reloptkind != RELOPT_BASEREL || outer->rtekind != RTE_RELATION ||
						   !bms_is_empty(outer->lateral_relids)))
		return;
	source = before == NULL ? (int) outer->relid : llast_int(before->functions);
	rte = planner_rt_fetch(function->relid, root);
	if (!bms_equal(function->direct_lateral_relids, bms_make_singleton(source)) || rte->funcordinality ||
		column_of_function(rte, 1) == NULL)
		return;
	rows = palloc0(sizeof(ElementRows));
	rows->joined = joined;
	rows->fact = before == NULL ? outer : before->fact;
	rows->functions = lappend_int(before == NULL ? NIL : list_copy(before->functions), function->relid);
	rows->clauses = before == NULL ? in_server_order(root, outer->baserestrictinfo) : list_copy(before->clauses);
	rows->clauses = list_concat(rows->clauses, in_server_order(root, function->baserestrictinfo));
	foreach_ptr(RestrictInfo, rinfo, rows->clauses)
	{
		if (rinfo->pseudoconstant)
			return;
	}
	joined->fdw_private = rows;
	add_paths_of_elements(root, rows);
}

static void
add_paths_of_elements(PlannerInfo *root, ElementRows * rows)
{
	Served		served;

	if (unfit_clauses(rows->clauses) != NULL || !find_served_elements(root, rows, &served))
		return;
	foreach_ptr(IndexDef, def, served.defs)
	{
		add_path_of_elements(root, rows, &served, def);
		if (def->layout.has_users_indexes)
			add_users_index(root, rows, &served, def);
	}
}

/* find_served_elements: finds, as find_served(), index tables that may serve elements as rows */
bool
find_served_elements(PlannerInfo *root, ElementRows * rows, Served *served)
{
	return (root->parse->commandType == CMD_SELECT || root->parse->commandType == CMD_INSERT) &&
		root->parse->rowMarks == NIL &&
		find_served(root, rows->fact->relid, false, served) && !served->tested_again;
}

/*
 * consider_element_rows
 *		Returns what an index table can do for rows with elements; NULL, and a reason in *why, if it cannot be
 *		used.
 *
 * Asynchronous entries may be older than the rows, which could only be checked by reading these.
 */
Candidate *
consider_element_rows(PlannerInfo *root, ElementRows * rows, IndexDef *def, const char **why)
{
	Candidate  *c;

	*why = REASON_NO_ELEMENTS;
	if (def->spec.nelements == 0 || def->fact->place->entries->search != NULL ||
		(rows->functions == NIL ? number_of_arrays(&def->spec.fields[def->spec.deepest]) != 1 :
		 !unnest_elements(def, root->parse->rtable, rows->functions, rows->fact->relid)))
		return NULL;
	if (def->spec.async)
	{
		*why = "it is asynchronous, and its entries do not tell which elements a row has now";
		return NULL;
	}
	c = consider_elements(root, def, rows->clauses, rows->fact->relid, rows->functions, why);
	return c != NULL && is_complete_enough(c, why) ? c : NULL;
}

static void
add_path_of_elements(PlannerInfo *root, ElementRows * rows, Served *served, IndexDef *def)
{
	RelOptInfo *joined = rows->joined;
	const char *why;
	Candidate  *c = consider_element_rows(root, rows, def, &why);
	CustomPath *path;
	Path	   *partial;

	if (c == NULL)
		return;
	set_order(root, joined, c);
	c->entries_only = cover_scan(root, joined, c, rows->clauses);
	if (!c->entries_only)
		return;
	estimate_entries(root, rows->fact, c);
	path = make_scan_path(joined, c);
	path->path.pathtarget = target_of_entries(root, joined, c);
	path->path.rows = rows_of_elements(root, c);
	finish_path(root, joined, c, rows->clauses, 1, &path->path);
	partial = partial_path(root, joined, c, rows->clauses, &path->path);
	add_path(joined, &path->path);
	if (partial != NULL)
		add_partial_path(joined, partial);
	give_reason(served->fact->relid, def->relid, REASON_COST);
}

static void
add_users_index(PlannerInfo *root, ElementRows * rows, Served *served, IndexDef *def)
{
	const char *why;
	Candidate  *c = consider_element_rows(root, rows, def, &why);

	if (c != NULL)
		add_users_index_of_elements(root, rows->joined, rows->fact, served, c, rows->clauses);
}

/*
 * searches_of_elements
 *		Returns paths that search index tables, in place of the join of a fact table with elements of its rows,
 *		for those that a row of other relations is joined with by some clauses.
 *
 * Such a path has to check the clauses that depend on nothing else.
 */
List *
searches_of_elements(PlannerInfo *root, RelOptInfo *joined, Path *outer, List *clauses)
{
	ElementRows *rows = element_rows_of(joined);
	ElementRows searched;
	List	   *result = NIL;
	List	   *own = NIL;
	Relids		required = NULL;
	Served		served;

	if (rows == NULL || list_length(rows->functions) > 1 || unfit_clauses(rows->clauses) != NULL ||
		unfit_clauses(clauses) != NULL || !find_served_elements(root, rows, &served))
		return NIL;
	foreach_ptr(RestrictInfo, rinfo, clauses)
		required = bms_add_members(required, bms_intersect(rinfo->clause_relids, outer->parent->relids));
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (join_clause_is_movable_into(rinfo, joined->relids, bms_union(joined->relids, required)))
			own = lappend(own, rinfo);
	}
	if (own == NIL)
		return NIL;
	searched = *rows;
	searched.clauses = list_concat_copy(rows->clauses, own);
	foreach_ptr(IndexDef, def, served.defs)
	{
		Path	   *path = search_of_elements(root, &searched, def, own, required, outer->rows);

		if (path == NULL)
			continue;
		result = lappend(result, path);
		give_reason(served.fact->relid, def->relid, REASON_COST);
	}
	return result;
}

/* search_of_elements: returns such a path of one index table, or NULL */
static Path *
search_of_elements(PlannerInfo *root, ElementRows * rows, IndexDef *def, List *own, Relids required, double loops)
{
	const char *why;
	Candidate  *c = consider_element_rows(root, rows, def, &why);
	SpecialJoinInfo *sjinfo = makeNode(SpecialJoinInfo);
	RelOptInfo *function = root->simple_rel_array[linitial_int(rows->functions)];
	List	   *clauses = list_copy(own);
	bool		searched = false;
	CustomPath *path;

	foreach_ptr(Condition, condition, c == NULL ? NIL : c->conditions)
		searched |= list_member_ptr(own, condition->rinfo);
	if (!searched || !cover_scan(root, rows->joined, c, rows->clauses))
		return NULL;
	c->entries_only = true;
	estimate_entries(root, rows->fact, c);
	sjinfo->jointype = JOIN_INNER;
	sjinfo->min_lefthand = sjinfo->syn_lefthand = rows->fact->relids;
	sjinfo->min_righthand = sjinfo->syn_righthand = function->relids;
	path = make_scan_path(rows->joined, c);
	path->path.pathtarget = target_of_entries(root, rows->joined, c);
	path->path.param_info = get_joinrel_parampathinfo(root, rows->joined, rows->fact->cheapest_total_path,
													  function->cheapest_total_path, sjinfo, required, &clauses);
	path->path.rows = Min(path->path.param_info->ppi_rows, rows_of_elements(root, c));
	finish_path(root, rows->joined, c, rows->clauses, loops, &path->path);
	return &path->path;
}

/*
 * elements_in_targets
 *		Returns the rows with elements that a query has of its only table because it unnests an array in its
 *		target list, or NULL.
 *
 * Several calls there go through their arrays together.  So all of them have to unnest the same array.
 */
ElementRows *
elements_in_targets(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *sets = NIL;
	ElementRows *rows;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION || !root->parse->hasTargetSRFs)
		return NULL;
	(void) collect_sets((Node *) root->processed_tlist, &sets);
	foreach_ptr(FuncExpr, call, sets)
	{
		if (list_length(call->args) != 1 || expression_returns_set((Node *) call->args) ||
			!equal(call->args, linitial_node(FuncExpr, sets)->args))
			return NULL;
	}
	if (sets == NIL)
		return NULL;
	rows = palloc0(sizeof(ElementRows));
	rows->joined = rows->fact = rel;
	rows->clauses = in_server_order(root, rel->baserestrictinfo);
	return rows;
}

/* collect_sets: collects the calls of functions that return sets in an expression */
static bool
collect_sets(Node *node, void *sets)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcretset)
		*(List **) sets = lappend(*(List **) sets, node);
	return expression_tree_walker(node, collect_sets, sets);
}
