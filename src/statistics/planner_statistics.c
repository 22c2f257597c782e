/*-------------------------------------------------------------------------
 *
 * planner_statistics.c
 *	  Lends the statistics of index tables to queries of their fact tables.
 *
 * The planner knows nothing of an expression like doc ->> 'town', unless there is an index on
 * it, of which ANALYZE collects statistics.  The column of an index table has the same values.
 * So a fact table gets one more index in what the planner knows of it, which has all such
 * expressions that the query has, but can never be scanned; and when the planner asks for
 * statistics of one of them, it gets those of the index table's column.
 *
 * This changes estimates, and so plans, but no answer: nothing in a plan refers to that index,
 * and it proves nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../match/match.h"
#include "../util/read_rights.h"
#include "../util/settings.h"
#include "statistics.h"

/*
 * The number that the index has which there is not.  It is that of an index that every
 * database has, for other extensions that want its name, or want to open it; and of an
 * index of which there are no statistics, for the planner, should another extension not pass
 * its question on to us.
 */
#define LENT_INDEX	StatisticRelidAttnumInhIndexId

/* Statistics for an expression, which a table and its partitions share. */
typedef struct Lent
{
	List	   *lenders;		/* of Lender *, the best first */
	bool		asked;			/* the rest is set */
	HeapTuple	statistics;		/* or NULL */
	bool		may_read;		/* the user may read all of the values */
} Lent;

typedef struct LentIndex
{
	IndexOptInfo info;			/* first: it is all that the planner knows */
	List	   *lent;			/* of Lent *, for each of its expressions */
	bool		shared;			/* share_selectivities() was called */
} LentIndex;

/* The number of casts and steps of a path, one within the other, that are looked through. */
#define MAX_STEPS_BELOW	100

/* What find_fields() looks for. */
typedef struct FieldSearch
{
	PlannerInfo *root;
	FactDef    *fact;
	Oid			relid;			/* the table that is planned */
	Index		varno;
	AppendRelInfo *child;		/* it is a part of a UNION ALL, or NULL */
	LentIndex  *index;			/* NULL: nothing was found */
} FieldSearch;

static relation_hook_type previous_relation_hook = NULL;
static get_index_stats_hook_type previous_stats_hook = NULL;

static LentIndex *index_of_partition(LentIndex *above, AppendRelInfo *child);
static bool find_fields(Node *node, void *context);
static Var *column_below(Node *node);
static bool add_if_field(FieldSearch *search, Node *node, Var *column);
static Node *over_column(Node *node, void *context);
static void add_column(LentIndex *index, Lent *lent, Node *expr);
static void never_scanned(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
						  Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);
static void lend_index(RELATION_HOOK_PARAMETERS);
static bool lend_statistics(PlannerInfo *root, Oid index, AttrNumber attno, VariableStatData *vardata);
static void keep_tuple(HeapTuple tuple);
static void share_selectivities(PlannerInfo *root, RelOptInfo *rel);
static bool is_about_else(Node *node, void *context);
static bool has_other_statistics(RelOptInfo *rel);
static LentIndex *find_lent_index(RelOptInfo *rel);
static bool has_own_statistics(PlannerInfo *root, RelOptInfo *rel, Node *expr);
static void ask_for_statistics(PlannerInfo *root, RelOptInfo *rel, Lent *lent, AttrNumber document);

void
statistics_init(void)
{
	previous_stats_hook = get_index_stats_hook;
	get_index_stats_hook = lend_statistics;
	previous_relation_hook = relation_hook;
	relation_hook = lend_index;
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
	/* CLUSTER and CREATE INDEX ask, too, with a query that has nothing in it. */
	if (setting_planner == PLANNER_OFF || table->rtekind != RTE_RELATION || root->parse->jointree == NULL ||
		(table->inh && table->relkind != RELKIND_PARTITIONED_TABLE))
		return;
	if (child != NULL &&
		planner_rt_fetch(child->parent_relid, root)->relkind == RELKIND_PARTITIONED_TABLE)
		index = index_of_partition(find_lent_index(root->simple_rel_array[child->parent_relid]), child);
	else
	{
		FactDef    *fact = definition_to_plan(table->relid);
		FieldSearch search = {root, fact, table->relid, rel->relid, child, NULL};

		if (fact == NULL || fact->ndefs == 0)
			return;
		definition_hold(fact, CurrentMemoryContext);
		(void) query_tree_walker(root->parse, find_fields, &search,
								 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
		index = search.index;
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

/*
 * index_of_partition
 *		Returns the index of a partition that lends what the index of the table above it lends; NULL if
 *		that has none.
 */
static LentIndex *
index_of_partition(LentIndex *above, AppendRelInfo *child)
{
	LentIndex  *index;
	ListCell   *cell;
	ListCell   *expr;

	if (above == NULL)
		return NULL;
	index = (LentIndex *) newNode(sizeof(LentIndex), T_IndexOptInfo);
	forboth(cell, above->lent, expr, above->info.indexprs)
	{
		Var		   *document = list_nth(child->translated_vars, column_below(lfirst(expr))->varattno - 1);

		if (document != NULL && IsA(document, Var) && document->vartype == JSONBOID)
			add_column(index, lfirst(cell), over_column(lfirst(expr), document));
	}
	return index;
}

/*
 * find_fields
 *		Adds the expressions of a query that are fields to the index, made when there is one.
 *		What the query does not have needs no statistics.
 */
static bool
find_fields(Node *node, void *context)
{
	FieldSearch *search = context;
	Var		   *column;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_FuncExpr:
		case T_CoerceViaIO:
		case T_RelabelType:
		case T_SubscriptingRef:
			column = column_below(node);
			if (column != NULL && add_if_field(search, node, column))
				return false;
			break;
		default:
			break;
	}
	return expression_tree_walker(node, find_fields, context);
}

/*
 * column_below
 *		Returns the document that an expression may be a field of, or NULL; also if it is so far below
 *		that to ask for each part of the expression would take long.
 */
static Var *
column_below(Node *node)
{
	for (int i = 0; node != NULL && !IsA(node, Var); i++)
	{
		List	   *args;

		if (i == MAX_STEPS_BELOW)
			return NULL;
		(void) function_of(node, &args);
		node = args != NIL ? linitial(args) :
			IsA(node, SubscriptingRef) ? (Node *) ((SubscriptingRef *) node)->refexpr :
			below_conversion(node);
	}
	return node != NULL && ((Var *) node)->vartype == JSONBOID && ((Var *) node)->varlevelsup == 0 ?
		(Var *) node :
		NULL;
}

/*
 * add_if_field
 *		Adds an expression to the index if it is a field with statistics; returns whether it
 *		is.  column is the one below it.
 *
 * The planner asks for the expression without the marks of outer joins above the table.  Of a
 * UNION ALL it asks with what each part has in place of the whole's columns.
 */
static bool
add_if_field(FieldSearch *search, Node *node, Var *column)
{
	AttrNumber	document;
	AttrNumber	fact_document;
	Node	   *as_in_fact;
	Lent	   *lent;
	List	   *lenders;

	if (search->child != NULL && column->varno == (int) search->child->parent_relid)
	{
		node = adjust_appendrel_attrs(search->root, node, 1, &search->child);
		column = column_below(node);
	}
	if (column == NULL || column->varno != (int) search->varno || column->varattno <= 0)
		return false;
	document = fact_document = column->varattno;
	if (search->relid != search->fact->relid)
	{
		char	   *name = get_attname(search->relid, document, true);

		fact_document = name == NULL ? InvalidAttrNumber : get_attnum(search->fact->relid, name);
	}
	if (!is_scanned_value(column))
		node = over_column(node, makeVar(search->varno, document, JSONBOID, -1, InvalidOid, 0));
	as_in_fact = fact_document == document ? node :
		over_column(node, makeVar(search->varno, fact_document, JSONBOID, -1, InvalidOid, 0));
	lenders = lenders_of(search->fact, as_in_fact, search->varno);
	if (lenders == NIL)
		return false;
	if (search->index == NULL)
		search->index = (LentIndex *) newNode(sizeof(LentIndex), T_IndexOptInfo);
	if (!list_member(search->index->info.indexprs, node))
	{
		lent = palloc0(sizeof(Lent));
		lent->lenders = lenders;
		add_column(search->index, lent, node);
	}
	return true;
}

/* over_column: returns an expression over one column with another one, context, in place of that */
static Node *
over_column(Node *node, void *context)
{
	if (node == NULL || IsA(node, Const))
		return node;
	if (IsA(node, Var))
		return context;
	return expression_tree_mutator(node, over_column, context);
}

/* add_column: adds the column for an expression over a column of the table that is planned */
static void
add_column(LentIndex *index, Lent *lent, Node *expr)
{
	index->lent = lappend(index->lent, lent);
	index->info.ncolumns++;
	index->info.indexprs = lappend(index->info.indexprs, expr);
}

/*
 * never_scanned
 *		Makes a path out of the question, which is thrown away in any case; also marks the
 *		index as ours.
 */
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
	Lent	   *lent;

	if (index == NULL)
		return previous_stats_hook ? previous_stats_hook(root, indexoid, attno, vardata) : false;
	if (has_own_statistics(root, vardata->rel, vardata->var))
		return true;
	lent = list_nth(index->lent, attno - 1);
	if (!lent->asked)
		ask_for_statistics(root, vardata->rel, lent,
						   column_below(list_nth(index->info.indexprs, attno - 1))->varattno);
	if (lent->statistics != NULL)
	{
		share_selectivities(root, vardata->rel);
		vardata->statsTuple = lent->statistics;
		vardata->freefunc = keep_tuple;
		vardata->acl_ok = lent->may_read;
	}
	return true;
}

/* keep_tuple: frees nothing, as the next one who asks gets the same */
static void
keep_tuple(HeapTuple tuple)
{
}

/*
 * ask_for_statistics
 *		Gets the statistics for an expression, for as long as the query is planned.
 *
 * They are the same for all partitions, and so are the rights, which are those on the table
 * that the query names.
 */
static void
ask_for_statistics(PlannerInfo *root, RelOptInfo *rel, Lent *lent, AttrNumber document)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(lent));

	lent->statistics = lent_statistics(lent->lenders);
	lent->may_read = may_read_all(root, rel, document);
	lent->asked = true;
	MemoryContextSwitchTo(old);
}

/*
 * share_selectivities
 *		Estimates the conditions of a partitioned table that are about lent columns only, once
 *		for all of its partitions, when the first of them, rel, is estimated.
 *
 * The statistics are the same for all partitions.  To search the common values in each of
 * hundreds would be most of what these statistics cost.  The planner keeps the estimate of a
 * condition with it, and the conditions of a partition are those of the table, in the same
 * order, unless it has made something simpler of one of them.
 */
static void
share_selectivities(PlannerInfo *root, RelOptInfo *rel)
{
	AppendRelInfo *child = root->append_rel_array == NULL ? NULL : root->append_rel_array[rel->relid];
	RelOptInfo *above = child == NULL ? NULL : root->simple_rel_array[child->parent_relid];
	LentIndex  *index = above == NULL ? NULL : find_lent_index(above);
	double		tuples = above == NULL ? 0 : above->tuples;
	double		sum = 0;
	Selectivity *known;
	int			n = 0;

	if (index == NULL || index->shared)
		return;
	index->shared = true;

	foreach_ptr(AppendRelInfo, other, root->append_rel_list)
	{
		if (other->parent_relid != child->parent_relid || root->simple_rel_array[other->child_relid] == NULL)
			continue;
		sum += root->simple_rel_array[other->child_relid]->tuples;
		n++;
	}
	if (n < 2)
		return;
	/* The rows of the table are asked for, but are not summed up yet. */
	above->tuples = sum;
	known = palloc(sizeof(Selectivity) * Max(list_length(above->baserestrictinfo), 1));
	foreach_ptr(RestrictInfo, condition, above->baserestrictinfo)
		known[foreach_current_index(condition)] = condition->pseudoconstant ||
		is_about_else((Node *) condition->clause, index) ?
		-1 :
		clause_selectivity(root, (Node *) condition, 0, JOIN_INNER, NULL);
	above->tuples = tuples;
	foreach_ptr(AppendRelInfo, other, root->append_rel_list)
	{
		RelOptInfo *partition = root->simple_rel_array[other->child_relid];

		if (other->parent_relid != child->parent_relid || partition == NULL || has_other_statistics(partition) ||
			list_length(partition->baserestrictinfo) != list_length(above->baserestrictinfo))
			continue;
		foreach_ptr(RestrictInfo, condition, partition->baserestrictinfo)
		{
			int			i = foreach_current_index(condition);

			if (known[i] >= 0 &&
				nodeTag(condition->clause) ==
				nodeTag(((RestrictInfo *) list_nth(above->baserestrictinfo, i))->clause))
				condition->norm_selec = known[i];
		}
	}
}

/*
 * is_about_else
 *		Returns whether a condition is about anything but the columns of an index of ours,
 *		context.
 */
static bool
is_about_else(Node *node, void *context)
{
	LentIndex  *index = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, SubPlan))
		return true;
	return !list_member(index->info.indexprs, node) && expression_tree_walker(node, is_about_else, context);
}

/*
 * has_other_statistics
 *		Returns whether a table may have statistics of expressions that are not lent.
 */
static bool
has_other_statistics(RelOptInfo *rel)
{
	foreach_ptr(IndexOptInfo, info, rel->indexlist)
	{
		if (info->indexprs != NIL && info->amcostestimate != never_scanned)
			return true;
	}
	return rel->statlist != NIL;
}

/* find_lent_index: returns the index of ours that a table has, or NULL */
static LentIndex *
find_lent_index(RelOptInfo *rel)
{
	foreach_ptr(IndexOptInfo, info, rel->indexlist)
	{
		if (info->hypothetical && info->indexoid == LENT_INDEX && info->amcostestimate == never_scanned)
			return (LentIndex *) info;
	}
	return NULL;
}

/*
 * has_own_statistics
 *		Returns whether there are extended statistics of an expression.  They are of the fact
 *		table's own rows, and a user has asked for them; the planner looks for them last.
 */
static bool
has_own_statistics(PlannerInfo *root, RelOptInfo *rel, Node *expr)
{
	bool		inherited = planner_rt_fetch(rel->relid, root)->inh;

	foreach_ptr(StatisticExtInfo, info, rel->statlist)
	{
		if (info->kind != STATS_EXT_EXPRESSIONS || info->inherit != inherited)
			continue;
		foreach_ptr(Node, other, info->exprs)
		{
			if (other != NULL && IsA(other, RelabelType))
				other = (Node *) ((RelabelType *) other)->arg;
			if (equal(expr, other))
				return true;
		}
	}
	return false;
}
