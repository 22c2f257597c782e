/*-------------------------------------------------------------------------
 *
 * planner_statistics.c
 *	  Lends the statistics of index tables to queries of their fact tables.
 *
 * The planner knows nothing of an expression like doc ->> 'town', unless there is an index on
 * it, of which ANALYZE collects statistics.  The column of an index table has the same values.
 * So a fact table gets one more index in what the planner knows of it, which has all such
 * expressions, but can never be scanned; and when the planner asks for statistics of one of
 * them, it gets those of the index table's column.
 *
 * This changes estimates, and so plans, but no answer: nothing in a plan refers to that index,
 * and it proves nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/settings.h"
#include "field_spelling.h"
#include "lender.h"
#include "planner_statistics.h"

/*
 * The number that the index has which there is not.  It is that of an index that every
 * database has, for other extensions that want its name, or want to open it; and of an
 * index of which there are no statistics, for the planner, should another extension not pass
 * its question on to us.
 */
#define LENT_INDEX	StatisticRelidAttnumInhIndexId

/* Shares above this are 1: counts of rows are not that exact. */
#define ALL_ROWS	0.999

typedef struct LentColumn
{
	LentField  *field;
	Node	   *spelling;		/* as it is in the cache */
	AttrNumber	document;		/* in the table that is planned */
} LentColumn;

typedef struct LentIndex
{
	IndexOptInfo info;			/* first: it is all that the planner knows */
	LentColumn *columns;
} LentIndex;

static relation_hook_type previous_relation_hook = NULL;
static get_index_stats_hook_type previous_stats_hook = NULL;

static void lend_index(RELATION_HOOK_PARAMETERS);
static LentIndex *index_of_table(PlannerInfo *root, Lending *lending, Oid relid, Index varno);
static LentIndex *index_of_partition(LentIndex *above, AppendRelInfo *child);
static bool find_keys(Node *node, void *context);
static LentIndex *make_index(int ncolumns);
static void add_column(LentIndex *index, LentField *field, Node *spelling, Var *column);
static void never_scanned(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
						  Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);
static bool lend_statistics(PlannerInfo *root, Oid index, AttrNumber attno, VariableStatData *vardata);
static LentIndex *find_lent_index(RelOptInfo *rel);
static bool has_own_statistics(PlannerInfo *root, RelOptInfo *rel, Node *expr);
static HeapTuple statistics_of(Lender *lender, Oid type);
static bool are_of_type(HeapTuple statistics, Oid type);
static HeapTuple scale(HeapTuple statistics, Lender *lender);
static bool may_read_all(PlannerInfo *root, RelOptInfo *rel, AttrNumber attno);

/* planner_statistics_init: installs the hooks of the planner, once, when the library is loaded */
void
planner_statistics_init(void)
{
	previous_relation_hook = relation_hook;
	relation_hook = lend_index;
	previous_stats_hook = get_index_stats_hook;
	get_index_stats_hook = lend_statistics;
}

/*
 * lend_index
 *		Adds the index to what the planner knows of a fact table, or of a partition of one.
 *		Called for every table of every query, so it has to be quick for all others.
 *
 * What a partition gets is derived from what the table got that it was found by.
 *
 * A table that others inherit from, but is not partitioned, has rows that index tables do not
 * have.  Such rows are not counted here: the planner asks once for all rows together, and then
 * for the table itself, which is served.
 */
static void
lend_index(RELATION_HOOK_PARAMETERS)
{
	RangeTblEntry *table = planner_rt_fetch(rel->relid, root);
	AppendRelInfo *child = root->append_rel_array == NULL ? NULL : root->append_rel_array[rel->relid];
	LentIndex  *index = NULL;

	if (previous_relation_hook)
		previous_relation_hook(RELATION_HOOK_ARGUMENTS);
	if (setting_planner == PLANNER_OFF || table->rtekind != RTE_RELATION || table->relid < FirstNormalObjectId ||
		(table->inh && table->relkind != RELKIND_PARTITIONED_TABLE))
		return;
	/* CLUSTER and CREATE INDEX ask, too, with a query that has nothing in it. */
	if (root->parse->jointree == NULL)
		return;
	if (child != NULL &&
		planner_rt_fetch(child->parent_relid, root)->relkind == RELKIND_PARTITIONED_TABLE)
		index = index_of_partition(find_lent_index(root->simple_rel_array[child->parent_relid]), child);
	else
	{
		Lending    *lending = lending_of(table->relid);

		if (lending != NULL)
		{
			lending_pin(lending, CurrentMemoryContext);
			index = index_of_table(root, lending, table->relid, rel->relid);
		}
	}
	if (index == NULL || index->info.ncolumns == 0)
		return;

	/*
	 * No columns to search by, no order, nothing that could be returned, and
	 * no way to get a tuple: so there is no path, no proof and no row for
	 * which the planner could use it.
	 */
	index->info.indexoid = LENT_INDEX;
	index->info.rel = rel;
	index->info.pages = 1;
	index->info.tuples = rel->tuples;
	index->info.tree_height = -1;
	index->info.indexkeys = palloc0(sizeof(int) * index->info.ncolumns);	/* all are expressions */
	index->info.canreturn = palloc0(sizeof(bool) * index->info.ncolumns);
	index->info.hypothetical = true;
	index->info.amcostestimate = never_scanned;
	rel->indexlist = lappend(rel->indexlist, index);
}

/* index_of_table: returns an index on the expressions of a table that a query has, relation varno of it */
static LentIndex *
index_of_table(PlannerInfo *root, Lending *lending, Oid relid, Index varno)
{
	List	   *keys = NIL;
	LentIndex  *index;
	Var		   *column = NULL;
	LentField  *previous = NULL;
	ListCell   *cell;
	ListCell   *inner;

	(void) query_tree_walker(root->parse, find_keys, &keys, QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
	(void) find_keys((Node *) root->append_rel_list, &keys);
	if (keys == NIL)
		return NULL;
	index = make_index(lending->nspellings);
	foreach(cell, lending->fields)
	{
		LentField  *field = lfirst(cell);

		if (previous == NULL || previous->doc_attno != field->doc_attno)
		{
			AttrNumber	attno = relid == lending->fact ? field->doc_attno : get_attnum(relid, field->document);

			column = attno == InvalidAttrNumber || (relid != lending->fact && get_atttype(relid, attno) != JSONBOID) ?
				NULL : makeVar(varno, attno, JSONBOID, -1, InvalidOid, 0);
		}
		previous = field;
		if (column == NULL)
			continue;
		foreach(inner, field->spellings)
		{
			if (list_member(keys, spelling_key(lfirst(inner))))
				add_column(index, field, lfirst(inner), column);
		}
	}
	return index;
}

/* index_of_partition: returns the same index on a partition, of the one that the table above has, if any */
static LentIndex *
index_of_partition(LentIndex *above, AppendRelInfo *child)
{
	LentIndex  *index;
	Var		   *column = NULL;
	int			i;

	if (above == NULL)
		return NULL;
	index = make_index(above->info.ncolumns);
	for (i = 0; i < above->info.ncolumns; i++)
	{
		if (i == 0 || above->columns[i].document != above->columns[i - 1].document)
		{
			column = list_nth(child->translated_vars, above->columns[i].document - 1);
			if (column != NULL && !(IsA(column, Var) && column->vartype == JSONBOID))
				column = NULL;
		}
		if (column != NULL)
			add_column(index, above->columns[i].field, above->columns[i].spelling, column);
	}
	return index;
}

/*
 * find_keys
 *		Adds to a list the names and paths, constants, that a query looks up in documents as
 *		text.  What it does not look up needs no statistics.
 */
static bool
find_keys(Node *node, void *context)
{
	List	  **keys = context;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr) && ((OpExpr *) node)->opresulttype == TEXTOID && list_length(((OpExpr *) node)->args) == 2)
	{
		Node	   *key = lsecond(((OpExpr *) node)->args);

		if (IsA(key, Const) && exprType(linitial(((OpExpr *) node)->args)) == JSONBOID)
			*keys = lappend(*keys, key);
	}
	return expression_tree_walker(node, find_keys, context);
}

static LentIndex *
make_index(int ncolumns)
{
	LentIndex  *index = (LentIndex *) newNode(sizeof(LentIndex), T_IndexOptInfo);

	index->columns = palloc(sizeof(LentColumn) * ncolumns);
	return index;
}

/* add_column: adds the column for a spelling of a field, over a column of the table that is planned */
static void
add_column(LentIndex *index, LentField *field, Node *spelling, Var *column)
{
	LentColumn *lent = &index->columns[index->info.ncolumns++];

	lent->field = field;
	lent->spelling = spelling;
	lent->document = column->varattno;
	index->info.indexprs = lappend(index->info.indexprs, spelling_over_column(spelling, column));
}

/* never_scanned: makes a path out of the question, which is thrown away in any case; also marks the index as ours */
static void
never_scanned(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
			  Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	*startup_cost = *total_cost = 1e10;
	*selectivity = 1;
	*correlation = 0;
	*pages = 1;
}

/*
 * lend_statistics
 *		Gives the planner the statistics of a column of an index that there is not.  Returns
 *		true for any such column, so that the planner does not look for statistics of its own;
 *		if there are none it goes on to what else it knows.
 */
static bool
lend_statistics(PlannerInfo *root, Oid indexoid, AttrNumber attno, VariableStatData *vardata)
{
	LentIndex  *index = indexoid == LENT_INDEX && vardata->rel != NULL ? find_lent_index(vardata->rel) : NULL;
	LentColumn *column;
	ListCell   *cell;
	Lender	   *lender = NULL;
	HeapTuple	statistics = NULL;

	if (index == NULL)
		return previous_stats_hook ? previous_stats_hook(root, indexoid, attno, vardata) : false;
	if (has_own_statistics(root, vardata->rel, vardata->var))
		return true;
	column = &index->columns[attno - 1];
	foreach(cell, column->field->lenders)
	{
		lender = lfirst(cell);
		statistics = statistics_of(lender, column->field->type);
		if (statistics != NULL)
			break;
	}
	if (statistics == NULL)
		return true;
	if (lender->common < ALL_ROWS)
	{
		vardata->statsTuple = scale(statistics, lender);
		vardata->freefunc = heap_freetuple;
		ReleaseSysCache(statistics);
	}
	else
	{
		vardata->statsTuple = statistics;
		vardata->freefunc = ReleaseSysCache;
	}
	vardata->acl_ok = may_read_all(root, vardata->rel, column->document);
	return true;
}

/* find_lent_index: returns the index of ours that a table has, or NULL */
static LentIndex *
find_lent_index(RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *info = lfirst(cell);

		if (info->hypothetical && info->indexoid == LENT_INDEX && info->amcostestimate == never_scanned)
			return (LentIndex *) info;
	}
	return NULL;
}

/*
 * has_own_statistics
 *		Returns whether there are extended statistics of an expression.  They are of the fact
 *		table's own rows, and somebody has asked for them; the planner looks for them last.
 */
static bool
has_own_statistics(PlannerInfo *root, RelOptInfo *rel, Node *expr)
{
	bool		inherited = planner_rt_fetch(rel->relid, root)->inh;
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, rel->statlist)
	{
		StatisticExtInfo *info = lfirst(cell);

		if (info->kind != STATS_EXT_EXPRESSIONS || info->inherit != inherited)
			continue;
		foreach(inner, info->exprs)
		{
			Node	   *other = lfirst(inner);

			if (other != NULL && IsA(other, RelabelType))
				other = (Node *) ((RelabelType *) other)->arg;
			if (equal(expr, other))
				return true;
		}
	}
	return false;
}

/*
 * statistics_of
 *		Returns the row of pg_statistic about a column of an index table, to be released with
 *		ReleaseSysCache(); NULL if there is none.
 *
 * The index table is not locked, and may have been dropped or altered since its definition
 * was read.  Then there is no such row, or one about something else, which is only a bad
 * estimate, as long as the values in it are of the type that the planner expects.
 */
static HeapTuple
statistics_of(Lender *lender, Oid type)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(lender->index_table),
										Int16GetDatum(lender->attno), BoolGetDatum(lender->partitioned));

	if (!HeapTupleIsValid(tuple) || are_of_type(tuple, type))
		return tuple;
	ReleaseSysCache(tuple);
	return NULL;
}

/* are_of_type: returns whether all values in statistics are of a type, and said of such values */
static bool
are_of_type(HeapTuple statistics, Oid type)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(statistics);
	int			slot;

	for (slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
	{
		int16		kind = (&form->stakind1)[slot];
		bool		isnull;
		Datum		values;
		bool		same;

		if (kind == 0 || kind == STATISTIC_KIND_CORRELATION)
			continue;
		if (kind != STATISTIC_KIND_MCV && kind != STATISTIC_KIND_HISTOGRAM)
			return false;
		values = SysCacheGetAttr(STATRELATTINH, statistics, Anum_pg_statistic_stavalues1 + slot, &isnull);
		if (isnull)
			return false;
		same = ARR_ELEMTYPE(DatumGetArrayTypeP(values)) == type;
		if (!same)
			return false;
	}
	return true;
}

/*
 * scale
 *		Returns a copy of statistics of an index table's column, made to be about the rows of the
 *		fact table.  The shares of NULL and of common values are shares of all rows, and so is
 *		the number of distinct values if it is negative; a histogram is of the rest, whatever its
 *		share is.
 */
static HeapTuple
scale(HeapTuple statistics, Lender *lender)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(statistics);
	Relation	catalog = table_open(StatisticRelationId, AccessShareLock);
	Datum		values[Natts_pg_statistic] = {0};
	bool		isnull[Natts_pg_statistic] = {0};
	bool		replace[Natts_pg_statistic] = {0};
	HeapTuple	result;
	int			slot;

#define REPLACE(attno, value)	(values[(attno) - 1] = (value), replace[(attno) - 1] = true)
	REPLACE(Anum_pg_statistic_stanullfrac, Float4GetDatum(1 - lender->not_null * (1 - form->stanullfrac)));
	if (form->stadistinct < 0)
		REPLACE(Anum_pg_statistic_stadistinct, Float4GetDatum(form->stadistinct * lender->not_null));
	for (slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
	{
		AttStatsSlot common;
		Datum	   *shares;
		int			i;

		if ((&form->stakind1)[slot] != STATISTIC_KIND_MCV ||
			!get_attstatsslot(&common, statistics, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
			continue;
		shares = palloc(sizeof(Datum) * common.nnumbers);
		for (i = 0; i < common.nnumbers; i++)
			shares[i] = Float4GetDatum(common.numbers[i] * lender->common);
		REPLACE(Anum_pg_statistic_stanumbers1 + slot,
				PointerGetDatum(construct_array(shares, common.nnumbers, FLOAT4OID, sizeof(float4), true, TYPALIGN_INT)));
		free_attstatsslot(&common);
	}
#undef REPLACE
	result = heap_modify_tuple(statistics, RelationGetDescr(catalog), values, isnull, replace);
	table_close(catalog, AccessShareLock);
	return result;
}

/*
 * may_read_all
 *		Returns whether the user may read a column of all rows of a table.  Otherwise the
 *		planner shows the values in statistics only to functions that do not tell what they
 *		have seen.
 *
 * Rights are those on the table that the query names.  For a partition that is the one that
 * it was found by, where the column has another number.  (The server has a function for this
 * since the minor versions of August 2025 only.)
 */
static bool
may_read_all(PlannerInfo *root, RelOptInfo *rel, AttrNumber attno)
{
	Oid			user = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	Index		varno = rel->relid;
	RangeTblEntry *table;

	while (root->append_rel_array != NULL && root->append_rel_array[varno] != NULL)
	{
		AppendRelInfo *child = root->append_rel_array[varno];

		/* The parent is no table, but a UNION ALL. */
		if (planner_rt_fetch(child->parent_relid, root)->rtekind != RTE_RELATION)
			break;
		if (attno > child->num_child_cols || child->parent_colnos[attno - 1] == 0)
			return false;
		attno = child->parent_colnos[attno - 1];
		varno = child->parent_relid;
	}
	table = planner_rt_fetch(varno, root);
	return table->securityQuals == NIL &&
		(pg_class_aclcheck(table->relid, user, ACL_SELECT) == ACLCHECK_OK ||
		 pg_attribute_aclcheck(table->relid, attno, user, ACL_SELECT) == ACLCHECK_OK);
}
