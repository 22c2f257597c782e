/*-------------------------------------------------------------------------
 *
 * or_path.c
 *	  Gives the planner paths for conditions that are joined by OR, on different fields.
 *
 * Each arm of the OR is searched in an index table of its own, and the scans are put under an
 * Append.  The scan of an arm leaves out the rows of the arms before it, by checking for each row
 * that they are not true.  So each row that satisfies one arm or several comes once, from the
 * first arm that it satisfies, and nothing has to be sorted or remembered.
 *
 * An OR whose arms are all about one field is a search for several values: see implied.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"

#include "../util/settings.h"
#include "or_path.h"
#include "path_cost.h"
#include "scan_plan.h"

static List *candidates_of_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses, Node *clause);
static Candidate *fewest_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);
static List *conjuncts(PlannerInfo *root, Node *like, Expr *expr);
static bool is_or_to_split(Node *clause);

/*
 * add_or_paths
 *		Adds a path for each condition of a table whose arms can all be searched.
 *
 * Where the executor may test a newer version of a row, it offers that version to one of the
 * scans only; and it knows no row of an Append by its place.  Such queries are left to others.
 */
void
add_or_paths(PlannerInfo *root, RelOptInfo *rel, Served *served)
{
	bool		stored_rows = scan_wants_system_columns(rel, rel->baserestrictinfo);
	ListCell   *cell;

	if (served->tested_again || served->fact->pk_deferrable || is_positionable(root) ||
		(stored_rows && served->fact->partitioned))
		return;
	foreach(cell, rel->baserestrictinfo)
	{
		List	   *paths = NIL;
		Cost		cost = 0;
		ListCell   *inner;
		Path	   *path;

		if (!is_or_to_split(lfirst(cell)))
			continue;
		foreach(inner, candidates_of_arms(root, rel, served, rel->baserestrictinfo, lfirst(cell)))
		{
			Candidate  *c = lfirst(inner);
			CustomPath *scan;

			c->stored_rows = stored_rows;
			scan = make_scan_path(root, rel, c);
			scan->path.rows = Min(rel->rows, c->entries);
			finish_path(root, rel, c, c->clauses, 1, &scan->path);
			cost += scan->path.total_cost;
			paths = lappend(paths, scan);
		}
		if (paths == NIL)
			continue;
		path = (Path *) create_append_path_compat(root, rel, paths, rel->rows);
		if (setting_planner != PLANNER_ON)
			path->total_cost = cost;
		add_scan_path(root, rel, path);
	}
}

/* estimate_or_entries: returns how many entries are read for the OR among some conditions that takes the fewest, or -1 */
double
estimate_or_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses)
{
	double		result = -1;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		double		entries = 0;
		List	   *arms;
		ListCell   *inner;

		if (!is_or_to_split(lfirst(cell)))
			continue;
		arms = candidates_of_arms(root, rel, served, clauses, lfirst(cell));
		foreach(inner, arms)
			entries += ((Candidate *) lfirst(inner))->entries;
		if (arms != NIL && (result < 0 || entries < result))
			result = entries;
	}
	return result;
}

/* is_or_to_split: returns whether a clause is an OR whose arms may be evaluated apart from each other */
static bool
is_or_to_split(Node *clause)
{
	if (IsA(clause, RestrictInfo))
	{
		if (((RestrictInfo *) clause)->pseudoconstant)
			return false;
		clause = (Node *) ((RestrictInfo *) clause)->clause;
	}
	return is_orclause(clause) && !is_left_to_scan(clause);
}

/*
 * candidates_of_arms
 *		Returns a Candidate for each arm of a clause, one of several that all rows have to satisfy,
 *		or NIL if one of the arms cannot be searched.
 */
static List *
candidates_of_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses, Node *clause)
{
	List	   *others = list_delete_ptr(list_copy(clauses), clause);
	Node	   *expr = IsA(clause, RestrictInfo) ? (Node *) ((RestrictInfo *) clause)->clause : clause;
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, ((BoolExpr *) expr)->args)
	{
		BooleanTest *test = makeNode(BooleanTest);
		Candidate  *c = fewest_entries(root, rel, served, list_concat(conjuncts(root, clause, lfirst(cell)), others));

		if (c == NULL)
			return NIL;
		result = lappend(result, c);
		test->arg = lfirst(cell);
		test->booltesttype = IS_NOT_TRUE;
		test->location = -1;
		others = list_concat(conjuncts(root, clause, (Expr *) test), others);
	}
	return result;
}

/* fewest_entries: returns the index table that finds the rows that satisfy some clauses by the fewest entries, or NULL */
static Candidate *
fewest_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses)
{
	Candidate  *best = NULL;
	ListCell   *cell;

	foreach(cell, served->defs)
	{
		const char *why;
		Candidate  *c = consider_index_table(root, lfirst(cell), clauses, served->rel, rel->relid, &why);

		if (c == NULL || c->nequal == 0 || !is_complete_enough(c, &why))
			continue;
		c->clauses = clauses;
		estimate_entries(root, rel, c);
		if (best == NULL || c->entries < best->entries)
			best = c;
	}
	return best;
}

/* conjuncts: returns what is joined by AND in an arm of a clause, as clauses like that one */
static List *
conjuncts(PlannerInfo *root, Node *like, Expr *expr)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, make_ands_implicit(expr))
	{
		Node	   *clause = lfirst(cell);

		if (IsA(like, RestrictInfo))
		{
			RestrictInfo *rinfo = make_simple_restrictinfo(root, (Expr *) clause);

			rinfo->security_level = ((RestrictInfo *) like)->security_level;
			rinfo->leakproof = ((RestrictInfo *) like)->leakproof;
			clause = (Node *) rinfo;
		}
		result = lappend(result, clause);
	}
	return result;
}
