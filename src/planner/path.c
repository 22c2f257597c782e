/*-------------------------------------------------------------------------
 *
 * path.c
 *	  Gives the planner paths that read index tables in place of their fact table.
 *
 * For each index table there is a path by the conditions on the fact table, and one for each
 * set of other tables whose columns its key can be compared with, as the inner side of a nested
 * loop.  A path takes what the query wants from entries alone, or fetches the fact rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "../candidate/candidate.h"
#include "../definition/definition.h"
#include "../place/place.h"
#include "../reasons/reasons.h"
#include "../util/settings.h"
#include "planner.h"

/* The largest number of sets of other tables that are tried for a table in a join. */
#define MAX_OUTER_SETS	10

List	   *searched_by_entries = NIL;

static set_rel_pathlist_hook_type previous_hook = NULL;

static void add_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte);
static bool is_union_member(PlannerInfo *root, RelOptInfo *rel);
static bool add_paths_of_table(PlannerInfo *root, RelOptInfo *rel, Served *served, bool one_row);
static bool is_sorted_natively(PlannerInfo *root, RelOptInfo *rel);
static bool has_placeholder(Node *node, void *context);
static bool add_path_of(PlannerInfo *root, RelOptInfo *rel, Served *served, IndexDef *def, Relids outer,
						List **searches);
static bool has_lateral_condition(Candidate *c);
static List *outer_sets(PlannerInfo *root, RelOptInfo *rel, IndexDef *def);
static List *add_outer_set(List *sets, RelOptInfo *rel, RestrictInfo *rinfo);
static List *add_set(List *sets, Relids set);
static bool is_key_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
						  void *arg);
static bool uses_join_clause(Candidate *c, List *clauses);
static double outer_rows(PlannerInfo *root, Relids outer);

void
path_init(void)
{
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_paths;
}

static void
add_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	Served		served;
	bool		alone = is_unexpanded(rel);
	bool		found;
	bool		any;

	if (previous_hook && !planned_by_entries)
		previous_hook(root, rel, rti, rte);
	if ((rel->reloptkind != RELOPT_BASEREL && !is_union_member(root, rel)) || (!alone && IS_DUMMY_REL(rel)))
		return;
	if (alone)
		forget_dummy_path(root, rel, rte);
	found = !alone && has_known_row(root, rel); /* which nothing finds better */
	any = find_served(root, rel->relid, false, &served);
	if (any)
	{
		if (!alone)
			note_sequential_scan(rel, rte->relid);
		found |= add_paths_of_table(root, rel, &served, found);
	}
	if (!found && may_be_served(root, rel->relid))
	{
		count_missed_fields(root, rel, rte);
		if (any)
			count_missing_index(root, rel, &served);
	}
	if (alone)
		add_last_resort(root, rel);
}

/*
 * is_union_member
 *		Returns whether a table is what the planner has found below a UNION ALL; it is planned
 *		as any other.
 */
static bool
is_union_member(PlannerInfo *root, RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_OTHER_MEMBER_REL &&
		planner_rt_fetch(root->append_rel_array[rel->relid]->parent_relid, root)->rtekind == RTE_SUBQUERY;
}

/*
 * add_paths_of_table
 *		Adds the paths of all index tables, or, of a row that a unique index finds, of those whose
 *		entries begin with a column.  Returns whether an index table for the conditions is of no
 *		use, or found.
 */
static bool
add_paths_of_table(PlannerInfo *root, RelOptInfo *rel, Served *served, bool one_row)
{
	const char *reason = unfit_clauses(rel->baserestrictinfo);
	bool		found = false;
	List	   *searches = NIL;

	if (reason == NULL && !bms_is_empty(rel->lateral_relids))
		reason = "the table depends on other tables by LATERAL";
	if (reason != NULL)
	{
		give_reason(served->fact->relid, InvalidOid, reason);
		return true;
	}
	served->system_columns = scan_wants_system_columns(rel, rel->baserestrictinfo);
	served->sorted_natively = is_sorted_natively(root, rel);
	served->part_scheme = rel->part_scheme;
	one_row = one_row && setting_planner == PLANNER_ON && !is_explained();
	foreach_ptr(IndexDef, def, served->defs)
	{
		if (one_row && def->spec.fields[0].fact_attno == 0)
			continue;
		found |= add_path_of(root, rel, served, def, NULL, &searches);
		add_users_index_paths(root, rel, served, def);
		foreach_ptr(Bitmapset, outer, outer_sets(root, rel, def))
			found |= add_path_of(root, rel, served, def, outer, &searches);
	}
	if (one_row)
		return found;
	add_or_paths(root, rel, served);
	add_and_paths(root, rel, served, searches);
	return found;
}

/*
 * is_sorted_natively
 *		Returns whether a native path that needs no sort is the cheapest for a cursor with ORDER BY.
 *
 * WHERE CURRENT OF finds the row of the cursor below no sort, so it works with that path, and has to
 * work with ours.  What is chosen natively is not known for sure where it is sorted incrementally.
 */
static bool
is_sorted_natively(PlannerInfo *root, RelOptInfo *rel)
{
	double		fraction = root->tuple_fraction / (root->tuple_fraction >= 1 ? Max(rel->rows, 1) : 1);
	Path	   *sorted = NULL;
	Path	   *cheapest = NULL;

	if (root->sort_pathkeys == NIL || root->parse->rowMarks != NIL || !is_positionable(root, false))
		return false;
	for (PlannerInfo *outer = root->parent_root; outer != NULL; outer = outer->parent_root)
		if (bms_membership(outer->all_baserels) != BMS_SINGLETON)
			return false;
	foreach_ptr(Path, path, rel->pathlist)
	{
		if (path->param_info != NULL || IsA(path, CustomPath))
			continue;
		if (cheapest == NULL || compare_path_costs(path, cheapest, TOTAL_COST) < 0)
			cheapest = path;
		if (pathkeys_contained_in(root->sort_pathkeys, path->pathkeys) &&
			(sorted == NULL || compare_fractional_path_costs(path, sorted, fraction) < 0))
			sorted = path;
	}
	return sorted != NULL &&
		compare_fractional_path_costs(sorted,
									  (Path *) create_sort_path(root, rel, cheapest, root->sort_pathkeys,
																root->limit_tuples),
									  fraction) <= 0;
}

/* unfit_clauses: returns why no scan can evaluate the clauses, or NULL */
const char *
unfit_clauses(List *clauses)
{
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		Node	   *clause = (Node *) rinfo->clause;

		/* Since 18 the server's own scan for it is no cheaper than others. */
		if (IsA(clause, CurrentOfExpr))
			return "a cursor names the place of the row";
		if (has_placeholder(clause, NULL))
			return "a condition depends on an outer join";
	}
	return NULL;
}

static bool
has_placeholder(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, has_placeholder, context);
}

/*
 * add_path_of
 *		Adds the path that searches an index table by values of other tables, or, if outer is
 *		NULL, by the conditions on the fact table only, which is then added to searches.  Returns
 *		whether it can be searched by conditions, whether or not there is such a path.
 */
static bool
add_path_of(PlannerInfo *root, RelOptInfo *rel, Served *served, IndexDef *def, Relids outer, List **searches)
{
	ParamPathInfo *param = outer == NULL ? NULL : get_baserel_parampathinfo(root, rel, outer);
	List	   *clauses = rel->baserestrictinfo;
	const char *why = NULL;
	Candidate  *c;
	CustomPath *path;
	Path	   *partial;
	double		rows;

	if (param != NULL)
	{
		if (unfit_clauses(param->ppi_clauses) != NULL)
			return false;
		clauses = list_concat_copy(clauses, param->ppi_clauses);
	}
	c = consider_index_table(root, def, clauses, rel->relid, NIL, &why);
	if (c == NULL)
	{
		const char *missing = NULL;

		if (param == NULL && def->spec.nelements > 0)
			missing = missing_index_reason(root, rel, def);
		why = missing != NULL ? missing : why;
		goto unused;
	}
	if (param != NULL && !uses_join_clause(c, param->ppi_clauses))
		return false;
	set_order(root, rel, c);
	c->tested_again = served->tested_again;
	c->stored_rows = served->system_columns ||
		(param != NULL && scan_wants_system_columns(rel, param->ppi_clauses)) ||
		is_positionable(root, served->fact->layout.partitioned);
	c->entries_only = !c->stored_rows && cover_scan(root, rel, c, clauses);

	if (planned_by_entries && param == NULL && c->conditions != NIL && !served->system_columns)
		searched_by_entries = lappend(searched_by_entries, c);

	/*
	 * Rows may have changed since asynchronous entries were written that are
	 * in order.
	 */
	if (def->spec.async && !c->entries_only)
		c->pathkeys = NIL;
	if (c->stored_rows && served->fact->layout.partitioned)
		why = "the query asks for system columns of a partitioned table";
	else if (!c->entries_only && planned_by_entries && served->fact->place->in_parts)
		why = "entries lack something that is asked for, and do not tell which shards have the rows";
	else if (!c->entries_only && served->fact->layout.pk_deferrable)
		why = "entries lack something that is asked for, and rows are not fetched by a deferrable primary key";
	else if (!c->entries_only && c->conditions == NIL && c->pathkeys == NIL && setting_planner == PLANNER_ON)
		why = c->refuted != NULL ? c->refuted : c->unknown ? REASON_UNKNOWN :
			(why = missing_index_reason(root, rel, def)) != NULL ? why : nearest_condition(rel, def);
	if (why != NULL || !is_complete_enough(c, &why))
		goto unused;
	estimate_entries(root, rel, c);
	if (param == NULL)
		*searches = lappend(*searches, c);
	path = make_scan_path(rel, c);
	path->path.param_info = param;
	if (param != NULL)
		path->path.rows = param->ppi_rows;
	else if (has_lateral_condition(c))
		path->path.rows = Min(rel->rows, c->entries);
	else if ((rows = rows_of_search(root, rel, c, clauses)) > 0)
		path->path.rows = rows;
	if (c->entries_only)
		path->path.pathtarget = target_of_entries(root, rel, c);
	finish_path(root, rel, c, clauses, outer == NULL ? 1 : outer_rows(root, outer), &path->path);
	partial = param == NULL ? partial_path(root, rel, c, clauses, &path->path) : NULL;
	if (served->sorted_natively && !pathkeys_contained_in(root->sort_pathkeys, path->path.pathkeys))
	{
		why = "WHERE CURRENT OF would not find the row of the cursor below a sort";
		goto unused;
	}
	add_scan_path(root, rel, &path->path);
	if (partial != NULL)
		add_scan_path(root, rel, partial);
	give_reason(served->fact->relid, def->relid, REASON_COST);
	return c->conditions != NIL;
unused:
	if (param == NULL)
		give_reason(served->fact->relid, def->relid, why);
	return c != NULL && c->conditions != NIL;
}

/*
 * partial_path
 *		Returns a path by which parallel workers read each some of the entries that a path reads,
 *		or NULL: see scan_keys.c.
 *
 * Workers know where entries are, and nothing of fact rows.
 */
Path *
partial_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, Path *whole)
{
	Path	   *path;
	int			workers;
	bool		searches = false;	/* for several values, which comes in no
									 * order */

	if (!rel->consider_parallel || !c->entries_only || c->partial_rows || c->distinct || !is_one_table(c->def) ||
		!is_parallel_safe(root, (Node *) whole->pathtarget->exprs))
		return NULL;
	foreach_ptr(Condition, condition, c->conditions)
	{
		searches |= condition->array;
		if (!is_parallel_safe(root, (Node *) condition->value))
			return NULL;
	}
	workers = compute_parallel_worker(rel, -1, ceil(c->entries * c->pages / Max(c->tuples, 1)),
									  max_parallel_workers_per_gather);
	if (workers == 0)
		return NULL;
	path = &make_scan_path(rel, c)->path;
	path->pathtarget = whole->pathtarget;
	if (searches)
		path->pathkeys = NIL;
	path->parallel_aware = path->parallel_safe = true;
	path->parallel_workers = workers;
	path->rows = clamp_row_est(whole->rows / parallel_divisor(workers));
	finish_path(root, rel, c, clauses, 1, path);
	return path;
}

/*
 * has_lateral_condition
 *		Returns whether entries are searched by what follows from a join of rows with their own
 *		elements.  The planner's estimate for the table alone does not know that.
 */
static bool
has_lateral_condition(Candidate *c)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->rinfo == NULL)
			return true;
	}
	return false;
}

/*
 * outer_sets
 *		Returns sets of other tables (Relids) by whose columns an index table can be searched.
 */
static List *
outer_sets(PlannerInfo *root, RelOptInfo *rel, IndexDef *def)
{
	List	   *sets = NIL;
	Relids		all = NULL;

	if (bms_membership(root->all_baserels) == BMS_SINGLETON)
		return NIL;
	foreach_ptr(RestrictInfo, rinfo, rel->joininfo)
	{
		if (join_clause_is_movable_to(rinfo, rel))
			sets = add_outer_set(sets, rel, rinfo);
	}
	if (rel->has_eclass_joins)
	{
		foreach_ptr(RestrictInfo, rinfo,
					generate_implied_equalities_for_column(root, rel, is_key_member, def, NULL))
			sets = add_outer_set(sets, rel, rinfo);
	}
	if (list_length(sets) > 1)
	{
		foreach_ptr(Bitmapset, set, sets)
			all = bms_add_members(all, set);
		sets = add_set(sets, all);
	}
	return sets;
}

static List *
add_outer_set(List *sets, RelOptInfo *rel, RestrictInfo *rinfo)
{
	Relids		outer = bms_del_member(bms_copy(rinfo->clause_relids), rel->relid);

	return bms_is_empty(outer) || list_length(sets) >= MAX_OUTER_SETS ? sets : add_set(sets, outer);
}

static List *
add_set(List *sets, Relids set)
{
	foreach_ptr(Bitmapset, other, sets)
	{
		if (bms_equal(other, set))
			return sets;
	}
	return lappend(sets, set);
}

/*
 * is_key_member
 *		Returns whether an index table can be searched by what a member of an equivalence
 *		class is equal to.
 */
static bool
is_key_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	Oid			operator = get_opfamily_member(linitial_oid(ec->ec_opfamilies), em->em_datatype, em->em_datatype,
											   BTEqualStrategyNumber);

	return is_searchable(arg, operator, ec->ec_collation, (Node *) em->em_expr, rel->relid);
}

static bool
uses_join_clause(Candidate *c, List *clauses)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (list_member_ptr(clauses, condition->rinfo))
			return true;
	}
	return false;
}

/*
 * outer_rows
 *		Returns how often the inner side of a nested loop is likely to be searched at least.
 */
static double
outer_rows(PlannerInfo *root, Relids outer)
{
	double		result = 0;
	int			relid = -1;

	while ((relid = bms_next_member(outer, relid)) >= 0)
	{
		RelOptInfo *rel = relid < root->simple_rel_array_size ? root->simple_rel_array[relid] : NULL;

		if (rel != NULL && rel->rows > 0 && (result == 0 || rel->rows < result))
			result = rel->rows;
	}
	return Max(result, 1);
}
