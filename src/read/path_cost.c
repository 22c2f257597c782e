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
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "access/relation.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "../util/inherit.h"
#include "path_cost.h"

/* What a descent of a btree costs for each of its levels; as in the server's btcostestimate(). */
#define LEVEL_COST	(50.0 * cpu_operator_cost)
/* Entries on a page of the index if nothing is known of it. */
#define ENTRIES_PER_PAGE	100
/* What fetching a row takes beside the descent and the page: opening the scan, and copying. */
#define FETCH_COST	(40.0 * cpu_operator_cost)

static void class_size(Oid relid, double *tuples, double *pages);
static double column_share(PlannerInfo *root, Candidate *c, Condition *condition);
static double height(double pages);

/* class_size: gets what VACUUM or ANALYZE has counted last; 0 if they have not */
static void
class_size(Oid relid, double *tuples, double *pages)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	*tuples = *pages = 0;
	if (!HeapTupleIsValid(tuple))
		return;
	*tuples = Max(((Form_pg_class) GETSTRUCT(tuple))->reltuples, 0);
	*pages = Max(((Form_pg_class) GETSTRUCT(tuple))->relpages, 0);
	ReleaseSysCache(tuple);
}

/* table_rows: returns how many rows a table and its partitions have, as far as it is known */
double
table_rows(Oid relid)
{
	double		result;
	double		pages;
	ListCell   *cell;

	class_size(relid, &result, &pages);
	if (result > 0 || get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return result;
	foreach(cell, list_with_partitions(relid))
	{
		double		tuples;

		class_size(lfirst_oid(cell), &tuples, &pages);
		result += tuples;
	}
	return result;
}

/* estimate_index_size: sets how many entries an index table has, and pages its index */
void
estimate_index_size(Candidate *c)
{
	double		unused;

	c->tuples = table_rows(c->def->relid);
	if (c->tuples < 1)
		c->tuples = Max(table_rows(c->def->fact->relid), 1000);
	if (c->def->parts == NULL)
		class_size(c->def->primary_index, &unused, &c->pages);
	if (c->pages < 1)
		c->pages = ceil(c->tuples / ENTRIES_PER_PAGE);
}

/* estimate_share: returns the share of the entries that have the values of the leading columns */
double
estimate_share(PlannerInfo *root, Candidate *c)
{
	double		result = 1;
	ListCell   *cell;

	foreach(cell, c->conditions)
	{
		if (((Condition *) lfirst(cell))->strategy == BTEqualStrategyNumber)
			result *= column_share(root, c, lfirst(cell));
	}
	return result;
}

/* column_share: returns the share of the entries with which a comparison for equality is true, by the column's statistics */
static double
column_share(PlannerInfo *root, Candidate *c, Condition *condition)
{
	AttrNumber	attno = c->def->search[condition->position];
	Form_pg_attribute att = TupleDescAttr(c->def->desc, attno - 1);
	VariableStatData column;
	Node	   *value = estimate_expression_value(root, (Node *) condition->value);
	double		result = 0;

	column_statistics(c->def->relid, att, c->def->parts != NULL, c->tuples, &column);
	column.isunique = c->def->is_unique && c->def->nkeys == 1 && condition->position == 0;
	if (condition->taking != TAKE_AS_IS)
		result = (condition->array ? estimate_array_length_compat(root, (Node *) condition->value) : 1) *
			equal_share(&column, condition->operator, att->attcollation, NULL);
	else if (!condition->array)
		result = equal_share(&column, condition->operator, att->attcollation, value);
	else if (IsA(value, Const) && !((Const *) value)->constisnull)
	{
		ArrayType  *array = DatumGetArrayTypeP(((Const *) value)->constvalue);
		int16		len;
		bool		byval;
		char		align;
		Datum	   *elements;
		bool	   *nulls;
		int			n;
		int			i;

		get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
		deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, &elements, &nulls, &n);
		for (i = 0; i < n; i++)
			result += equal_share(&column, condition->operator, att->attcollation,
								  (Node *) makeConst(ARR_ELEMTYPE(array), -1, att->attcollation, len, elements[i],
													 nulls[i], byval));
	}
	else
		result = estimate_array_length_compat(root, (Node *) condition->value) *
			equal_share(&column, condition->operator, att->attcollation, NULL);
	ReleaseVariableStats(column);
	return Min(result, 1);
}

/* column_statistics: sets *column to what is known of a column of an index table that has so many entries; to be released */
void
column_statistics(Oid index_table, Form_pg_attribute att, bool partitioned, double tuples, VariableStatData *column)
{
	memset(column, 0, sizeof(VariableStatData));
	column->rel = makeNode(RelOptInfo);
	column->rel->tuples = tuples;
	column->vartype = column->atttype = att->atttypid;
	column->atttypmod = att->atttypmod;
	column->acl_ok = true;
	column->statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(index_table), Int16GetDatum(att->attnum),
										 BoolGetDatum(partitioned));
	column->freefunc = ReleaseSysCache;
}

/* equal_share: returns the share of the entries whose column is equal to a value; NULL: any value */
double
equal_share(VariableStatData *column, Oid operator, Oid collation, Node *value)
{
	if (value != NULL && IsA(value, Const))
		return var_eq_const(column, operator, collation, ((Const *) value)->constvalue,
							((Const *) value)->constisnull, true, false);
	return var_eq_non_const(column, operator, collation, value, true, false);
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
	ListCell   *cell;
	double		share = 1;
	double		rows = rel->tuples;

	estimate_index_size(c);
	if (rel->nparts > 0)
		rows = Max(Max(rows, c->tuples), table_rows(c->def->fact->relid));
	foreach(cell, c->conditions)
	{
		Condition  *condition = lfirst(cell);

		if (condition->lossy || condition->rinfo == NULL ||
			(condition->implied && condition->strategy == BTEqualStrategyNumber))
		{
			lossy = true;
			share *= column_share(root, c, condition);
		}
		else
			exact = lappend(exact, condition->rinfo);
	}
	if (exact != NIL)
		share *= clauselist_selectivity(root, exact, rel->relid, JOIN_INNER, NULL);
	c->entries = lossy || rows < 1 ? share * c->tuples : Min(share * rows, c->tuples);
	c->entries = clamp_row_est(c->entries);
}

static double
height(double pages)
{
	return pages > 1 ? ceil(log(pages) / log(200)) : 0;
}

/*
 * estimate_cost
 *		Sets the costs of a path, one of so many scans of the same index table, that checks these
 *		clauses for each row.  What entries have costs nothing to compute.
 */
void
estimate_cost(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path)
{
	double		searches = 1;
	double		pages;
	double		descent = LEVEL_COST * (height(c->pages) + 1);
	QualCost	quals;
	Cost		run;
	ListCell   *cell;

	foreach(cell, c->conditions)
	{
		Condition  *condition = lfirst(cell);

		if (condition->array)
			searches = Max(estimate_array_length_compat(root, (Node *) condition->value), 1);
	}
	/* Entries with the same key are beside each other. */
	pages = ceil(c->entries * c->pages / Max(c->tuples, 1));
	pages = Max(pages, Min(searches, c->entries));
	cost_qual_eval(&quals, clauses, root);
	run = searches * descent;
	if (loops > 1)
		run += index_pages_fetched(pages * loops, c->pages, c->pages, root) / loops * random_page_cost;
	else
		run += random_page_cost * Min(pages, searches) + seq_page_cost * Max(pages - searches, 0);
	run += c->entries * (cpu_index_tuple_cost + cpu_operator_cost + cpu_tuple_cost + quals.per_tuple);
	if (!c->entries_only)
	{
		/*
		 * Nothing is known of the pages of a partitioned table whose
		 * partitions were not looked at.
		 */
		double		fact_pages = rel->pages > 0 ? rel->pages : Max(c->tuples / 20, 1);
		double		fetched = index_pages_fetched(c->entries * Max(loops, 1), fact_pages, Max(c->pages, fact_pages), root) / Max(loops, 1);

		run += fetched * random_page_cost;
		run += c->entries * (LEVEL_COST * (height(fact_pages) + 1) + FETCH_COST);
	}
	path->startup_cost = quals.startup + descent;
	path->total_cost = path->startup_cost + run;
}

/*
 * estimate_searches
 *		Returns what it costs to find so many entries of an index table by so many searches, and
 *		unless entries_only to fetch their rows.
 */
Cost
estimate_searches(PlannerInfo *root, double tuples, double searches, double entries, bool entries_only)
{
	Candidate	c = {.tuples = tuples,.pages = ceil(tuples / ENTRIES_PER_PAGE),.entries_only = entries_only};
	RelOptInfo *rel = makeNode(RelOptInfo);
	Path		path;

	searches = Max(searches, 1);
	c.entries = entries / searches;
	estimate_cost(root, rel, &c, NIL, 1, &path);
	return path.total_cost * searches;
}
