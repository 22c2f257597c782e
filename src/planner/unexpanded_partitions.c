/*-------------------------------------------------------------------------
 *
 * unexpanded_partitions.c
 *	  Keeps the planner from looking at the partitions of a fact table, where an index table
 *	  finds few of its rows.
 *
 * So planning, locking and executing such a query does not depend on the number of partitions.
 * It is decided before the partitions are looked up, by the conditions alone.  A partitioned
 * table that has none is empty to the planner; its path is replaced by those that read index
 * tables, and by one that plans a query of all partitions when it is executed, which is hardly
 * ever the best.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"

#include "../candidate/candidate.h"
#include "../fact/fact.h"
#include "../scan/scan.h"
#include "../util/settings.h"
#include "../util/while_set.h"
#include "planner.h"

/* With more rows to a partition than this it is better to read partitions one after the other. */
#define ROWS_PER_PARTITION	10
/* What a partition is taken to have if nothing is known of any. */
#define UNKNOWN_ROWS	1000

static relation_hook_type previous_hook = NULL;
/* Its address marks tables that are not expanded. */
static char unexpanded_mark;
static bool without_partitions = false; /* nothing is expanded */

static void consider_not_expanding(RELATION_HOOK_PARAMETERS);
static bool finds_few_rows(PlannerInfo *root, RelOptInfo *rel, Relation fact);
static bool wants_system_columns(Node *node, Index varno, int level);
static List *clauses_of_table(PlannerInfo *root, Index varno);

void
unexpanded_init(void)
{
	previous_hook = relation_hook;
	relation_hook = consider_not_expanding;
}

/*
 * plan_unexpanded
 *		Plans a query of one partitioned fact table, never looking at its partitions, and without
 *		checks of rights.  Returns NULL if no index table serves it like that.
 */
PlannedStmt *
plan_unexpanded(Query *query, ParamListInfo params)
{
	PlannedStmt *result;
	CustomScan *scan;
	ScanPlan	plan;

	WHILE_SET(without_partitions, true, result = planner_compat(query, NULL, 0, params));
	scan = (CustomScan *) result->planTree;
	if (!IsA(scan, CustomScan) || scan->methods != GetCustomScanMethods(SCAN_NAME, true))
		return NULL;
	read_scan_plan(scan, &plan);
	plan_without_checks(result);
	return OidIsValid(plan.index_table) && !plan.async ? result : NULL;
}

bool
is_unexpanded(RelOptInfo *rel)
{
	return rel->fdw_private == &unexpanded_mark;
}

static void
consider_not_expanding(RELATION_HOOK_PARAMETERS)
{
	RangeTblEntry *table = planner_rt_fetch(rel->relid, root);
	Relation	fact;

	if (previous_hook)
		previous_hook(RELATION_HOOK_ARGUMENTS);
	if (table->rtekind != RTE_RELATION || table->relkind != RELKIND_PARTITIONED_TABLE)
		return;

	/*
	 * When it has removed a join, the planner of 19 makes what it knows of
	 * the other tables anew, and the table looks like one that is named with
	 * ONLY.  So it bears a mark of its own, in a member that only names of
	 * WITH queries have.
	 */
	if (table->self_reference)
	{
		rel->fdw_private = &unexpanded_mark;
		return;
	}
	if (setting_planner == PLANNER_OFF || rel->reloptkind != RELOPT_BASEREL || !table->inh ||
		root->parse->jointree == NULL || rel->nparts < 2)
		return;
	fact = table_open(table->relid, NoLock);
	if (finds_few_rows(root, rel, fact))
	{
		table->inh = false;
		table->self_reference = true;
		rel->fdw_private = &unexpanded_mark;
	}
	else if (without_partitions)
		table->inh = false;		/* it is empty then, and nothing serves it */
	table_close(fact, NoLock);
}

/*
 * finds_few_rows
 *		Returns whether some index table finds few rows for the conditions that are known now.
 */
static bool
finds_few_rows(PlannerInfo *root, RelOptInfo *rel, Relation fact)
{
	Served		served;
	List	   *clauses;
	Bitmapset  *attnos = NULL;
	bool		result = false;
	double		found;

	if (!find_served(root, rel->relid, false, &served))
		return false;
	clauses = clauses_of_table(root, rel->relid);
	pull_varattnos((Node *) clauses, rel->relid, &attnos);

	/*
	 * Partitions that are not needed are left out anyway.  By a deferrable
	 * key no rows are fetched.
	 */
	if (clauses == NIL || served.fact->layout.pk_deferrable ||
		wants_system_columns((Node *) root->parse, rel->relid, 0) || has_partition_attrs(fact, attnos, NULL))
		return false;
	foreach_ptr(IndexDef, def, served.defs)
	{
		const char *why;
		Candidate  *c = consider_index_table(root, def, clauses, rel->relid, NIL, &why);

		if (c == NULL || c->nequal == 0 || !is_complete_enough(c, &why))
			continue;
		estimate_index_size(c);
		result = setting_planner != PLANNER_ON ||
			c->tuples * estimate_share(root, c, NIL) <= (double) ROWS_PER_PARTITION * rel->nparts;
		if (result)
			break;
	}
	if (!result && (found = estimate_or_entries(root, rel, &served, clauses)) >= 0)
		result = setting_planner != PLANNER_ON || found <= (double) ROWS_PER_PARTITION * rel->nparts;
	if (!result && (found = estimate_users_indexes(root, rel, &served, clauses)) >= 0)
		result = setting_planner != PLANNER_ON || found <= (double) ROWS_PER_PARTITION * rel->nparts;
	return result;
}

/*
 * wants_system_columns
 *		Returns whether a query asks for system columns of a table, perhaps in a subquery or
 *		function beside it.
 */
static bool
wants_system_columns(Node *node, Index varno, int level)
{
	foreach_ptr(Node, found, pull_vars_of_level(node, level))
	{
		PlaceHolderVar *placeholder = (PlaceHolderVar *) found;

		if (IsA(found, Var) ? ((Var *) found)->varno == (int) varno && ((Var *) found)->varattno < 0 :
			wants_system_columns((Node *) placeholder->phexpr, varno, placeholder->phlevelsup))
			return true;
	}
	return false;
}

/*
 * clauses_of_table
 *		Returns the conditions on one table only that all rows of it have to satisfy, policies
 *		included.
 */
static List *
clauses_of_table(PlannerInfo *root, Index varno)
{
	List	   *quals = NIL;
	List	   *result = NIL;

	if (!find_conditions((Node *) root->parse->jointree, varno, &quals))
		quals = NIL;
	foreach_ptr(List, securing, planner_rt_fetch(varno, root)->securityQuals)
		quals = list_concat_copy(quals, securing);
	foreach_ptr(Node, qual, quals)
	{
		Relids		relids = pull_varnos(root, qual);

		if (bms_membership(relids) == BMS_SINGLETON && bms_is_member(varno, relids))
			result = lappend(result, qual);
	}
	return result;
}

/*
 * forget_dummy_path
 *		Gives the planner what it would know of a table that is not empty.
 *
 * Nobody looks for partitions any more.  From now on it is estimates that ask whether the
 * table has any: its statistics are those of all rows.
 */
void
forget_dummy_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	rte->inh = true;
	rel->tuples = table_rows(rte->relid);
	if (rel->tuples < 1)
		rel->tuples = (double) UNKNOWN_ROWS * rel->nparts;
	set_baserel_size_estimates(root, rel);
	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
	rel->fdw_private = NULL;	/* from now on it is for path_cost.c */
}

/*
 * add_last_resort
 *		Adds a path that does without index tables, if there is none that needs no other table:
 *		the query of all partitions is planned when it is executed.
 */
void
add_last_resort(PlannerInfo *root, RelOptInfo *rel)
{
	Candidate  *c;
	CustomPath *path;

	if (get_cheapest_path_for_pathkeys(rel->pathlist, NIL, NULL, TOTAL_COST, false) != NULL)
		return;
	c = palloc0(sizeof(Candidate));
	c->varno = rel->relid;
	path = make_scan_path(rel, c);

	/*
	 * What is computed where the table is scanned may need values of tables
	 * beside it.
	 */
	path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	if (path->path.param_info != NULL)
		path->path.rows = path->path.param_info->ppi_rows;
	path->path.total_cost = rel->tuples * (cpu_tuple_cost + cpu_operator_cost) + rel->nparts * random_page_cost;
	add_path(rel, &path->path);
}
