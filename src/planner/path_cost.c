/*-------------------------------------------------------------------------
 *
 * path_cost.c
 *	  Estimates how many entries a scan of an index table reads, and what it costs.
 *
 * Costs are in the planner's units, and made up as those of btrees are: a descent, the leaf
 * pages that are read in their order, and work for each entry.  What a fetched row costs on
 * top is a descent of the fact table's primary key, and its page, which may be in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../candidate/candidate.h"
#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../util/settings.h"
#include "planner.h"

/* What a descent of a btree costs for each of its levels; as in the server's btcostestimate(). */
#define LEVEL_COST	(50.0 * cpu_operator_cost)
/* Entries on a page of the index if nothing is known of it. */
#define ENTRIES_PER_PAGE	100
/* What fetching a row takes beside the descent and the page: opening the scan, and copying. */
#define FETCH_COST	(40.0 * cpu_operator_cost)

/* What it takes to make a field of an entry a part of a document, or to read one. */
#define PART_COST	(10.0 * cpu_operator_cost)

/* What the costs of paths are divided by if index tables are to be used in any case. */
#define FORCED			1e6

/*
 * What note_sequential_scan() notes of a table, in fdw_private, which only foreign tables use
 * otherwise.
 */
typedef struct SequentialScan
{
	Cost		total_cost;		/* as the server sees it */
	Cost		reading;		/* of a document, which it does not */
} SequentialScan;

/* What has_document() looks for: columns with documents of a table. */
typedef struct Documents
{
	Index		varno;
	FactDef    *fact;
} Documents;

static double index_pages(Oid index);
static double height(double pages);
static double fetched_rows(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *checks, List *clauses,
						   Path *path);
static Cost fetched_page_cost(RelOptInfo *rel, double loops);
static Cost pages_cost(PlannerInfo *root, Candidate *c, double rows, double searches, double loops,
					   double fact_pages, Cost page_cost);
static double distinct_keys(Candidate *c);
static Cost document_cost(RelOptInfo *rel, Candidate *c, List *clauses, double *seen);
static bool uses_document(RelOptInfo *rel, FactDef *fact, List *clauses, bool asked_for);
static bool has_document(Node *node, void *context);
static double stored_order(Oid relid, AttrNumber attno, bool partitioned);

/* index_pages: returns how many pages an index had when that was counted last, or 0 */
static double
index_pages(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	double		result = HeapTupleIsValid(tuple) ? Max(((Form_pg_class) GETSTRUCT(tuple))->relpages, 0) : 0;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* estimate_index_size: sets how many entries an index table has, and pages its index */
void
estimate_index_size(Candidate *c)
{
	SupposedTable *supposed = supposed_table(c->def->relid);

	c->tuples = table_rows(c->def->relid);
	if (c->tuples < 1)
		c->tuples = Max(table_rows(c->def->fact->relid), 1000);
	if (supposed != NULL)
		c->pages = supposed->index_pages;
	else if (c->def->layout.parts == NULL)
		c->pages = index_pages(c->def->layout.primary_index);
	if (c->pages < 1)
		c->pages = ceil(c->tuples / ENTRIES_PER_PAGE);
}

/*
 * estimate_share
 *		Returns the share of the entries that have the values of the leading columns, but for
 *		comparisons that are used.
 */
double
estimate_share(PlannerInfo *root, Candidate *c, List *used)
{
	double		result = 1;

	for (int i = 0; i < c->nequal; i++)
	{
		if (!is_used(list_nth(c->conditions, i), used))
			result *= column_share(root, c, list_nth(c->conditions, i));
	}
	return result;
}

/*
 * estimate_entries
 *		Sets how many entries are read by one scan.  Where all conditions are conditions of the
 *		query, the planner's own estimate counts, so that all paths are compared by the same.
 *
 * Of a partitioned table, rel->tuples is the number of rows that satisfy all conditions, or, in
 * newer servers, that are in partitions which are not left out.  But a scan reads all entries
 * within its own conditions, so these are a share of all rows.
 */
void
estimate_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	List	   *exact = NIL;
	bool		lossy = false;
	double		share = 1;
	double		above = 1;
	double		below = 1;
	double		rows = rel->tuples;

	if (c->by_element)
		lossy = true;			/* entries are no share of the rows */
	estimate_index_size(c);
	if (rel->nparts > 0)
		rows = Max(Max(rows, c->tuples), table_rows(c->def->fact->relid));
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->lossy || condition->rinfo == NULL ||
			(condition->implied && condition->strategy == BTEqualStrategyNumber))
		{
			lossy = true;
			if (condition->strategy == BTEqualStrategyNumber)
				share *= column_share(root, c, condition);
			else if (condition->strategy > BTEqualStrategyNumber)
				above = Min(above, range_share(root, c, condition));
			else
				below = Min(below, range_share(root, c, condition));
		}
		else
			exact = lappend(exact, condition->rinfo);
	}
	/* Only one column is searched by a range. */
	share *= above + below > 1 ? above + below - 1 : DEFAULT_RANGE_INEQ_SEL;
	if (exact != NIL)
		share *= clauselist_selectivity(root, exact, rel->relid, JOIN_INNER, NULL);
	c->entries = lossy || rows < 1 ? share * c->tuples : Min(share * rows, c->tuples);
	c->entries = clamp_row_est(c->entries);
}

/*
 * rows_of_search
 *		Returns how many rows with these clauses a search finds; 0, if that is no better known than the server has
 *		estimated.  The server knows nothing of the elements of an array, and takes any condition on them to be
 *		true of a hundredth of the rows: what a LIMIT leaves to be read, and to be fetched, would be as wrong.
 *		Entries tell, if nothing but their conditions is to be checked.  EXPLAIN must not tell how many of the
 *		hidden rows there are.
 */
double
rows_of_search(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses)
{
	List	   *others = NIL;
	bool		implied = false;

	foreach_ptr(Condition, condition, c->conditions)
		implied |= condition->implied && condition->strategy == BTEqualStrategyNumber;
	if (!implied || c->by_element || c->secured)
		return 0;
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (!found_by_search(c, rinfo))
			others = lappend(others, rinfo);
	}
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (list_member_ptr(others, condition->rinfo))
			return 0;
	}
	return clamp_row_est(c->entries * clauselist_selectivity(root, others, rel->relid, JOIN_INNER, NULL));
}

static double
height(double pages)
{
	return pages > 1 ? ceil(log(pages) / log(200)) : 0;
}

/*
 * estimate_cost
 *		Sets the costs of a path, one of loops scans of the same index table, that evaluates
 *		checks for each entry, before its row is fetched, and clauses for each row.  What entries
 *		have costs nothing to compute.
 */
void
estimate_cost(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *checks, List *clauses, double loops,
			  Path *path)
{
	double		searches = c->groups != NIL ? c->entries : 1;
	double		pages;
	double		descent = LEVEL_COST * (height(c->pages) + 1);
	double		seen;
	QualCost	quals;
	QualCost	of_entries;
	Cost		run;
	Cost		reading;
	double		rows = fetched_rows(root, rel, c, checks, clauses, path);
	double		processes = parallel_divisor(path->parallel_workers);

	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->array)
			searches = Max(number_of_values(root, (Node *) condition->value), 1);
	}
	/* Entries with the same key are beside each other. */
	pages = ceil(c->entries * c->pages / Max(c->tuples, 1));
	pages = Max(pages, Min(searches, c->entries));
	cost_qual_eval(&quals, clauses, root);
	cost_qual_eval(&of_entries, checks, root);
	run = searches * descent;
	if (c->query != NULL)
	{
		descent = c->query->planTree->startup_cost;
		run = c->query->planTree->total_cost - descent;
	}
	else if (loops > 1)
		run += index_pages_fetched(pages * loops, c->pages, c->pages, root) / loops * random_page_cost;
	else
		run += random_page_cost * Min(pages, searches) + seq_page_cost * Max(pages - searches, 0);
	run += c->entries * (cpu_index_tuple_cost + cpu_operator_cost + of_entries.per_tuple) / processes;
	run += rows * (cpu_tuple_cost + quals.per_tuple) / processes;
	if (!c->entries_only)
	{
		/*
		 * Nothing is known of the pages of a partitioned table whose
		 * partitions were not looked at.
		 */
		double		all_rows = c->def == NULL ? c->tuples : Max(table_rows(c->def->fact->relid), rel->tuples);
		double		fact_pages = rel->pages > 0 ? rel->pages : Max((all_rows > 0 ? all_rows : c->tuples) / 20, 1);

		run += pages_cost(root, c, rows, searches, loops, fact_pages, fetched_page_cost(rel, loops));
		run += rows * FETCH_COST;
		if (c->def == NULL || c->def->layout.hint_attno == 0)
			run += rows * LEVEL_COST * (height(fact_pages) + 1);
	}
	if (c->partial_rows)
		run += c->entries * list_length(c->attnos) * PART_COST;
	reading = document_cost(rel, c, clauses, &seen);
	path->startup_cost = of_entries.startup + quals.startup + descent;
	path->total_cost = (path->startup_cost + run + rows * reading / processes) * seen;
	path->startup_cost *= seen;
}

/*
 * fetched_rows
 *		Returns how many rows are fetched, or returned by entries alone, of the entries that
 *		pass some checks.
 */
static double
fetched_rows(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *checks, List *clauses, Path *path)
{
	List	   *others = list_copy(checks);

	/*
	 * What is known of a field where it is searched by may not be known where
	 * it is checked: a search is better than to check all entries.
	 */
	if (checks == NIL || c->conditions == NIL)
		return c->entries;
	if (clauses == NIL)
		return Min(path->rows, c->entries);
	/* The number of entries goes by the clauses that are searched by. */
	foreach_ptr(Condition, condition, c->conditions)
		others = list_delete_ptr(others, condition->rinfo);
	return clamp_row_est(c->entries * clauselist_selectivity(root, others, rel->relid, JOIN_INNER, NULL));
}

/*
 * parallel_divisor
 *		Returns the number of processes that share the reading, as the server's costsize.c reckons.  The leader
 *		counts for a part of one, as it collects what the workers read.
 */
double
parallel_divisor(int workers)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * workers : 0;

	return workers == 0 ? 1 : workers + Max(leader, 0);
}

/*
 * finish_path
 *		Sets the costs of a path, next to nothing if index tables are to be used in any case.
 */
void
finish_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path)
{
	List	   *unchecked = NIL;
	List	   *checks = NIL;

	/* What is joined with its elements is known by its rows. */
	if (c->functions != NIL)
		rel = root->simple_rel_array[c->varno];
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (!is_checked_by_search(c, rinfo))
			unchecked = lappend(unchecked, rinfo);
	}
	if (unchecked != NIL && !c->entries_only)
		checks = checks_of_entries(c, in_safe_order(root, rel, in_server_order(root, unchecked)), NULL);
	unchecked = c->tested_again ? unchecked : list_difference_ptr(unchecked, checks);
	estimate_cost(root, rel, c, checks, unchecked, loops, path);
	prefer_if_forced(path);
}

/*
 * estimate_and
 *		Sets the costs of a path that reads entries by the paths in reading, and returns this
 *		number of entries, or fetches their rows.
 */
void
estimate_and(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *reading, double entries, Path *path)
{
	Candidate	returned = *c;

	returned.entries = entries;
	finish_path(root, rel, &returned, rel->baserestrictinfo, 1, path);
	foreach_ptr(Path, other, reading)
	{
		path->startup_cost += other->startup_cost;
		path->total_cost += other->total_cost;
	}
}

/* prefer_if_forced: makes the planner choose a path unless the setting leaves that to its costs */
void
prefer_if_forced(Path *path)
{
	if (setting_planner != PLANNER_ON)
	{
		path->startup_cost /= FORCED;
		path->total_cost /= FORCED;
	}
}

/*
 * show_real_costs
 *		Has EXPLAIN show the costs of a path that has been chosen, even if index tables are to
 *		be used in any case.
 */
void
show_real_costs(Path *path)
{
	if (setting_planner != PLANNER_ON)
	{
		path->startup_cost *= FORCED;
		path->total_cost *= FORCED;
	}
}

/*
 * note_sequential_scan
 *		Notes what a sequential scan costs if it is the best of the paths that a table has so far,
 *		and what it costs besides to read a document.
 *
 * A path of ours may take its place.  Nothing need be known of the table of documents that are
 * stored out of line: how many pages it has tells how many chunks, of which a page has four.
 */
void
note_sequential_scan(RelOptInfo *rel, Oid relid)
{
	Path	   *best = get_cheapest_path_for_pathkeys(rel->pathlist, NIL, NULL, TOTAL_COST, false);
	SequentialScan *scan;
	Relation	fact;

	if (best == NULL || best->pathtype != T_SeqScan || rel->tuples < 1)
		return;
	scan = palloc(sizeof(SequentialScan));
	scan->total_cost = best->total_cost;
	scan->reading = PART_COST;
	fact = table_open(relid, NoLock);
	if (OidIsValid(fact->rd_rel->reltoastrelid))
	{
		Relation	toast = table_open(fact->rd_rel->reltoastrelid, AccessShareLock);
		double		pages = RelationGetNumberOfBlocks(toast);

		table_close(toast, AccessShareLock);
		if (pages > 0)
			scan->reading += Min(4 * pages / rel->tuples, 1) * LEVEL_COST * (height(pages) + 1) +
				4 * pages / rel->tuples * seq_page_cost / 2;
	}
	table_close(fact, NoLock);
	rel->fdw_private = scan;
}

/*
 * document_cost
 *		Returns what it costs to read a document, for each row for which these clauses are checked.
 *		Sets *seen to the share that the server sees of what a sequential scan costs.
 *
 * The server takes a condition on a document to cost what one on a number costs, although each
 * document is read for it, and put together if it is stored out of line.  A sequential scan so
 * seems to cost a half to a hundredth of what it does, while the documents are what an index
 * table makes needless.  So both are measured by what the server sees, as long as no other index
 * would do.
 */
static Cost
document_cost(RelOptInfo *rel, Candidate *c, List *clauses, double *seen)
{
	FactDef    *fact = c->def == NULL ? NULL : c->def->fact;
	SequentialScan *scan = rel->pages > 0 ? rel->fdw_private : NULL;

	*seen = 1;
	if (fact == NULL || scan == NULL)
		return 0;
	if (uses_document(rel, fact, rel->baserestrictinfo, c->entries_only))
		*seen = scan->total_cost / (scan->total_cost + rel->tuples * scan->reading);
	return uses_document(rel, fact, clauses, false) ? scan->reading : 0;
}

/*
 * uses_document
 *		Returns whether clauses, or also what is asked for, are computed from a document.
 */
static bool
uses_document(RelOptInfo *rel, FactDef *fact, List *clauses, bool asked_for)
{
	Documents	documents = {rel->relid, fact};

	if (asked_for && has_document((Node *) rel->reltarget->exprs, &documents))
		return true;
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (has_document((Node *) rinfo->clause, &documents))
			return true;
	}
	return false;
}

/*
 * has_document
 *		Returns whether an expression has a column with documents in it; of many arms of an OR
 *		the first one tells.
 */
static bool
has_document(Node *node, void *context)
{
	Documents  *documents = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		for (int i = 0; i < documents->fact->layout.ndocs; i++)
		{
			if (((Var *) node)->varattno == documents->fact->layout.doc_attno[i] &&
				((Var *) node)->varno == (int) documents->varno && ((Var *) node)->varlevelsup == 0)
				return true;
		}
		return false;
	}
	return expression_tree_walker(node, has_document, context);
}

/*
 * fetched_page_cost
 *		Returns what it costs to read a page of a fact table in no order.
 *
 * A table that is smaller than a quarter of the shared buffers stays in them when it is scanned:
 * the server's own rule for when a scan takes a ring of buffers.  If a sequential scan is the
 * only other way, both read from memory, and no page costs more than another.  Beside a native
 * index, whose pages the server takes to be read from disk, ours are taken so, too.
 */
static Cost
fetched_page_cost(RelOptInfo *rel, double loops)
{
	bool		in_memory = rel->pages > 0 && rel->fdw_private != NULL && loops <= 1 &&
		rel->pages < (BlockNumber) NBuffers / 4;

	return in_memory ? Min(seq_page_cost, random_page_cost) : random_page_cost;
}

/*
 * pages_cost
 *		Returns what it costs to read the pages of some rows, to which entries lead, of a fact table
 *		of fact_pages pages, if a page read in no order costs page_cost.
 *
 * The entries of one key come in the order of the primary key.  If rows are stored in that
 * order, their pages are read in one direction, and cost as little as those of a bitmap scan:
 * the more of them are read, the less is skipped between two.  If the order of the keys, too,
 * is the one in which rows are stored, the rows of a range of keys are beside each other.
 */
static Cost
pages_cost(PlannerInfo *root, Candidate *c, double rows, double searches, double loops, double fact_pages,
		   Cost page_cost)
{
	double		fetched = index_pages_fetched(rows * Max(loops, 1), fact_pages, Max(c->pages, fact_pages), root) /
		Max(loops, 1);
	double		order_of_rows = 0;
	double		order_of_keys = 0;
	double		run;			/* entries of one key */
	double		run_pages;
	Cost		together;

	if (c->def != NULL)
	{
		FactDef    *fact = c->def->fact;

		order_of_rows = fabs(stored_order(fact->relid, fact->layout.pk_attno[0], fact->layout.partitioned));
		order_of_keys = order_of_rows *
			fabs(stored_order(c->def->relid, c->def->layout.ident[0], c->def->layout.parts != NULL) *
				 stored_order(c->def->relid, c->def->layout.pk_attno[0], c->def->layout.parts != NULL));
		if (fact->layout.npk > 1)
			order_of_rows *= 0.75;	/* as the server does for an index */
	}
	run = rows / Max(searches, distinct_keys(c));
	run_pages = 2 * fact_pages * run / (2 * fact_pages + run);
	together = page_cost + seq_page_cost * Max(ceil(rows * fact_pages / Max(c->tuples, 1)) - 1, 0);
	page_cost -= (page_cost - seq_page_cost) * sqrt(Min(run_pages / fact_pages, 1)) * order_of_rows *
		order_of_rows;
	return fetched * page_cost + order_of_keys * order_of_keys * Min(together - fetched * page_cost, 0);
}

/* rows_of_elements: estimates how many rows of elements satisfy all conditions on them */
double
rows_of_elements(PlannerInfo *root, Candidate *c)
{
	List	   *unchecked = NIL;

	foreach_ptr(RestrictInfo, rinfo, c->of_join)
	{
		if (!is_checked_by_search(c, rinfo))
			unchecked = lappend(unchecked, rinfo);
	}
	return clamp_row_est(c->entries * clauselist_selectivity(root, unchecked, 0, JOIN_INNER, NULL));
}

/* distinct_keys: returns how many keys the entries of a scan have */
static double
distinct_keys(Candidate *c)
{
	double		result = 1;

	if (c->def == NULL)
		return 1;
	for (int i = c->nequal; i < c->def->spec.nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, c->def->layout.ident[i] - 1);
		VariableStatData column;
		bool		is_default;

		column_statistics(c->def->relid, att, c->def->layout.parts != NULL, c->tuples, &column);
		result *= Max(get_variable_numdistinct(&column, &is_default), 1);
		ReleaseVariableStats(column);
	}
	return Max(Min(result / Max(c->tuples, 1), 1) * c->entries, 1);
}

/*
 * stored_order
 *		Returns the correlation of a column's values with the places of the rows; 0 if it is
 *		not known.
 */
static double
stored_order(Oid relid, AttrNumber attno, bool partitioned)
{
	HeapTuple	tuple = column_statistics_row(relid, attno, partitioned);
	AttStatsSlot slot;
	double		result = 0;

	if (!HeapTupleIsValid(tuple))
		return 0;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			result = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	release_statistics(tuple);
	return result;
}

/*
 * estimate_searches
 *		Returns the cost of finding this number of entries of an index table by this number of
 *		searches, and unless entries_only of fetching their rows.
 */
Cost
estimate_searches(PlannerInfo *root, double tuples, double searches, double entries, bool entries_only)
{
	Candidate	c = {.tuples = tuples,.pages = ceil(tuples / ENTRIES_PER_PAGE),.entries_only = entries_only};
	RelOptInfo *rel = makeNode(RelOptInfo);
	Path		path = {0};

	searches = Max(searches, 1);
	c.entries = entries / searches;
	estimate_cost(root, rel, &c, NIL, NIL, 1, &path);
	return path.total_cost * searches;
}
