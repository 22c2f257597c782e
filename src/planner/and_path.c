/*-------------------------------------------------------------------------
 *
 * and_path.c
 *	  Gives the planner paths for conditions that are joined by AND, which search several index
 *	  tables, or one for several elements, and return only the rows that all of them find.
 *
 * Searches are merged, so they have to come in the same order: that of the primary key, where
 * all key fields are compared by =, or the one that the query asks for, where this is the order of
 * all other key fields of each; or that of one index table that is searched several times.  So a
 * LIMIT reads no more than it needs, and nothing is remembered or sorted.  If their entries have
 * all that the query needs, no row is fetched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "../candidate/candidate.h"
#include "planner.h"

/* No more searches than these are merged. */
#define MAX_SEARCHES	4

static void add_and_path(PlannerInfo *root, RelOptInfo *rel, Served *served, List *candidates, int first);
static CustomPath *merging_path(PlannerInfo *root, RelOptInfo *rel, List *searches, double rows);
static List *in_one_order(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches);
static PathKey *path_key_at(Candidate *c, int position);
static int	locate_in_primary_key(IndexDef *def, AttrNumber attno);
static int	compare_by_entries(const ListCell *a, const ListCell *b);

/* add_and_paths: adds paths that merge some of the searches (Candidate *) that were found */
void
add_and_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, List *found)
{
	List	   *candidates = in_one_order(root, rel, served, found);

	for (int i = 0; i < list_length(candidates) - 1 && i < MAX_SEARCHES; i++)
		add_and_path(root, rel, served, candidates, i);
}

/*
 * add_and_path
 *		Adds a path that merges a search with those after it that come in the same order, as long as
 *		each of them saves more than it costs.
 */
static void
add_and_path(PlannerInfo *root, RelOptInfo *rel, Served *served, List *candidates, int first)
{
	Candidate  *driving = list_nth(candidates, first);
	List	   *searches = list_make1(driving);
	List	   *used = list_copy(driving->conditions);
	double		entries = driving->entries;
	CustomPath *best = NULL;
	ListCell   *cell;

	for_each_from(cell, candidates, first + 1)
	{
		Candidate  *c = lfirst(cell);
		double		share = estimate_share(root, c, used);
		List	   *with;
		CustomPath *path;

		if (share >= 1 || !same_order(driving, c) || list_length(searches) == MAX_SEARCHES)
			continue;
		with = lappend(list_copy(searches), c);
		path = merging_path(root, rel, with, clamp_row_est(entries * share));
		if (best != NULL && path->path.total_cost >= best->path.total_cost)
			continue;
		searches = with;
		used = list_concat(used, c->conditions);
		entries *= share;
		best = path;
	}
	if (best != NULL &&
		(!served->sorted_natively || pathkeys_contained_in(root->sort_pathkeys, best->path.pathkeys)))
		add_scan_path(root, rel, &best->path);
}

/*
 * merging_path
 *		Returns the path that merges some searches; rows is the number of rows that they find
 *		together.
 */
static CustomPath *
merging_path(PlannerInfo *root, RelOptInfo *rel, List *searches, double rows)
{
	Candidate  *c = palloc(sizeof(Candidate));
	List	   *reading = list_make1(part_of(root, rel, linitial(searches)));
	CustomPath *result;
	ListCell   *cell;

	*c = *(Candidate *) linitial(searches);
	for_each_from(cell, searches, 1)
	{
		CustomPath *part = part_of(root, rel, lfirst(cell));

		reading = lappend(reading, part);
		c->parts = lappend(c->parts, linitial(part->custom_private));
	}
	c->entries_only = !c->stored_rows && cover_scan(root, rel, c, rel->baserestrictinfo);
	result = make_scan_path(rel, c);
	if (c->entries_only)
		result->path.pathtarget = target_of_entries(root, rel, c);
	result->custom_paths = list_copy_tail(reading, 1);
	estimate_and(root, rel, c, reading, rows, &result->path);
	return result;
}

/*
 * in_one_order
 *		Returns those of some searches that find entries in one order, and further ones by other
 *		elements of their multi-valued fields; the one with the fewest entries comes first.
 */
static List *
in_one_order(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches)
{
	List	   *result = NIL;

	if (served->fact->layout.pk_deferrable)
		return NIL;
	foreach_ptr(Candidate, first, searches)
	{
		Candidate  *c = first;
		List	   *used = NIL;
		const char *why;

		while (c != NULL && is_in_one_order(c))
		{
			Candidate  *fetching = palloc(sizeof(Candidate));

			*fetching = *c;
			fetching->entries_only = fetching->partial_rows = false;
			fetching->exprs = fetching->attnos = NIL;
			result = lappend(result, fetching);
			if (c->def->spec.nelements != 1 || list_length(used) == MAX_SEARCHES)
				break;
			used = lappend(used, list_nth(c->conditions, c->def->spec.multi_field));
			c = consider_index_table(root, c->def, rel->baserestrictinfo, rel->relid, used, &why);
			if (c == NULL || !is_complete_enough(c, &why))
				break;
			set_order(root, rel, c);
			c->tested_again = first->tested_again;
			c->stored_rows = first->stored_rows;
			estimate_entries(root, rel, c);
		}
	}
	list_sort(result, compare_by_entries);
	return result;
}

/*
 * is_in_one_order
 *		Returns whether entries of one value each are searched for, of an index table that is
 *		in step with what is read.
 */
bool
is_in_one_order(Candidate *c)
{
	return are_of_query(c->conditions) && c->nequal > 0 && c->nequal <= c->def->spec.nkeys && !c->distinct &&
		!c->def->spec.async && !c->def->spec.is_unique;
}

/*
 * same_order
 *		Returns whether the entries of two searches come in the order of the same columns: of the
 *		fields that the query sorts by, and of all columns of the primary key, which may be key
 *		fields, too.
 */
bool
same_order(Candidate *a, Candidate *b)
{
	int			ncolumns = a->def->layout.nident - a->nequal;

	if (a->backward != b->backward || ncolumns != b->def->layout.nident - b->nequal)
		return false;
	if (a->def == b->def)
		return true;
	for (int i = 0; i < ncolumns; i++)
	{
		AttrNumber	x = a->def->layout.ident[a->nequal + i];
		AttrNumber	y = b->def->layout.ident[b->nequal + i];
		int			key = locate_in_primary_key(a->def, x);

		if (key != locate_in_primary_key(b->def, y) ||
			(key < 0 &&
			 (path_key_at(a, a->nequal + i) == NULL ||
			  path_key_at(a, a->nequal + i) != path_key_at(b, b->nequal + i) ||
			  TupleDescAttr(a->def->layout.desc, x - 1)->atttypid !=
			  TupleDescAttr(b->def->layout.desc, y - 1)->atttypid)))
			return false;
	}
	return true;
}

/* path_key_at: returns the path key that is of a column of the index, from 0, or NULL */
static PathKey *
path_key_at(Candidate *c, int position)
{
	int			n = position - c->order_from;

	return n >= 0 && n < list_length(c->pathkeys) ? list_nth(c->pathkeys, n) : NULL;
}

/*
 * locate_in_primary_key
 *		Returns which column of the primary key a column of an index table is, from 0, or -1.
 */
static int
locate_in_primary_key(IndexDef *def, AttrNumber attno)
{
	int			i;

	for (i = def->fact->layout.npk - 1; i >= 0 && def->layout.pk_attno[i] != attno; i--)
		;
	return i;
}

static int
compare_by_entries(const ListCell *a, const ListCell *b)
{
	double		x = ((Candidate *) lfirst(a))->entries;
	double		y = ((Candidate *) lfirst(b))->entries;

	return (x > y) - (x < y);
}

/* part_of: returns the path that reads the entries of a search, and nothing of them */
CustomPath *
part_of(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	Candidate  *part = palloc(sizeof(Candidate));
	CustomPath *result;

	*part = *c;
	part->is_part = part->entries_only = true;
	part->stored_rows = false;
	result = make_scan_path(rel, part);
	result->path.pathtarget = create_empty_pathtarget();
	result->path.rows = part->entries;
	estimate_cost(root, rel, part, NIL, NIL, 1, &result->path);
	prefer_if_forced(&result->path);
	return result;
}
