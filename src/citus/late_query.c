/*-------------------------------------------------------------------------
 *
 * late_query.c
 *	  Plans queries of distributed fact tables so that Citus asks only the shards with rows that entries find.
 *
 * Where entries lack something that is asked for, they still tell which values of the distribution column the
 * rows have, which are the keys here.  A plan has, for each table that entries can be searched for, a query of its
 * keys, which is planned and executed as any other that entries answer: see plain_query.c.  When the plan starts,
 * Citus plans the query itself, with a condition more on each of these tables: the distribution column is one of
 * the keys.  See late_node.c.
 *
 * Citus checks all that the user has asked for of the rows as they are.  So entries that are behind keep rows
 * from being found, and never find wrong ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "../planner/planner.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "citus.h"
#include "late.h"

/*
 * The number of entries that are read at most, if several can have one key, or more keys are asked for.  A value
 * that most rows have is not to be read as a whole before Citus is asked.
 */
#define MAX_ENTRIES			1000

/* The cost of a plan, in the planner's units: what it costs beside this is not known before. */
#define LATE_COST			200

static Candidate *best_candidate(PlannerInfo *root, RelOptInfo *rel, List *candidates);
static bool has_only_known_values(Candidate *c);
static bool has_values_of_query(Node *node, void *context);
static Query *query_of_keys(PlannerInfo *root, RangeTblEntry *rte, Candidate *c, LateTable *table);
static Node *number_const(int64 number);
static List *targets_of_node(List *targets, List **row);

/*
 * note_late_table
 *		Adds a table of a query that is planned to a list of LateTable *, without the plan of its keys, if one of
 *		several candidates can find them.  The planner may plan a part of a query several times, of which the last
 *		one counts.
 */
List *
note_late_table(List *tables, PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, List *candidates)
{
	Candidate  *c;
	LateTable  *table;

	if (rte->enrtuples == 0)
		return tables;
	foreach_ptr(LateTable, other, tables)
	{
		if (other->number == rte->enrtuples)
			tables = foreach_delete_current(tables, other);
	}
	c = best_candidate(root, rel, candidates);
	if (c == NULL)
		return tables;
	table = palloc0(sizeof(LateTable));
	table->number = rte->enrtuples;
	table->relid = rte->relid;
	table->column = citus_distribution_column(rte->relid);
	table->limit = setting_late_rows >= 0 ? setting_late_rows : Max(citus_shard_count(rte->relid) / 2, 1);
	if (table->column == InvalidAttrNumber || table->limit == 0)
		return tables;
	table->keys = query_of_keys(root, rte, c, table);
	return lappend(tables, table);
}

/* best_candidate: returns the one that reads the fewest entries, or NULL */
static Candidate *
best_candidate(PlannerInfo *root, RelOptInfo *rel, List *candidates)
{
	Candidate  *best = NULL;

	foreach_ptr(Candidate, c, candidates)
	{
		if (!has_only_known_values(c))
			continue;
		estimate_entries(root, rel, c);
		if (best == NULL || c->entries < best->entries)
			best = c;
	}
	return best;
}

/* has_only_known_values: returns whether entries are searched by what is known beforehand */
static bool
has_only_known_values(Candidate *c)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->rinfo == NULL || has_values_of_query((Node *) condition->rinfo->clause, NULL))
			return false;
	}
	return true;
}

/* has_values_of_query: returns whether an expression has what a part of the query computes */
static bool
has_values_of_query(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, SubLink) || IsA(node, PlaceHolderVar) ||
		(IsA(node, Param) && ((Param *) node)->paramkind != PARAM_EXTERN))
		return true;
	return expression_tree_walker(node, has_values_of_query, context);
}

/*
 * query_of_keys
 *		Returns the query that finds the keys of a table, by the conditions that entries are searched by.  It
 *		does not check others, so that its LIMIT holds for the entries that are read.
 */
static Query *
query_of_keys(PlannerInfo *root, RangeTblEntry *rte, Candidate *c, LateTable *table)
{
	RangeTblEntry *only = copyObject(rte);
	List	   *clauses = NIL;
	Node	   *quals;
	Oid			type;
	int32		typmod;
	Oid			collation;
	Var		   *key;
	Query	   *query;

	foreach_ptr(Condition, condition, c->conditions)
		clauses = list_append_unique_ptr(clauses, condition->rinfo->clause);
	quals = (Node *) make_ands_explicit(copyObject(clauses));
	ChangeVarNodes(quals, c->varno, 1, 0);
	get_atttypetypmodcoll(rte->relid, table->column, &type, &typmod, &collation);
	key = makeVar(1, table->column, type, typmod, collation, 0);
	only->enrtuples = 0;
	query = query_of_table(only, list_make1(makeTargetEntry((Expr *) key, 1, "key", false)), quals);
	table->entries = c->def->fact->layout.npk == 1 ? table->limit + 1 : Max(table->limit + 1, MAX_ENTRIES);
	query->limitCount = number_const(table->entries);
	query->limitOption = LIMIT_OPTION_COUNT;
	check_as(query, only, checked_as(root->parse, rte));
	return query;
}

static Node *
number_const(int64 number)
{
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(number), false,
							  FLOAT8PASSBYVAL);
}

/*
 * plan_late
 *		Returns the plan of a query whose keys are found by the plans of tables (LateTable *).  What there is to
 *		know of the query's tables, as the rights on them, is taken from a plan of the server itself, which is
 *		changed.
 */
PlannedStmt *
plan_late(Query *query, int options, PlannedStmt *plan, List *tables)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *numbers = NIL;
	List	   *plans = NIL;

	foreach_ptr(LateTable, table, tables)
	{
		/* The query around it checks all rights. */
		plan_without_checks(table->plan);
		numbers = lappend(numbers, list_make4_int((int) table->number, table->column, table->limit,
												  table->entries));
		plans = lappend(plans, table->plan);
		plan->rtable = list_concat(plan->rtable, copyObject(table->plan->rtable));
		plan->relationOids = list_concat(plan->relationOids, table->plan->relationOids);
		plan->invalItems = list_concat(plan->invalItems, table->plan->invalItems);
		plan->transientPlan |= table->plan->transientPlan;
		plan->dependsOnRole |= table->plan->dependsOnRole;
	}
	scan->methods = &late_scan.methods;
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	scan->scan.plan.targetlist = targets_of_node(query->targetList, &scan->custom_scan_tlist);
	scan->scan.plan.startup_cost = scan->scan.plan.total_cost = LATE_COST;
	scan->scan.plan.plan_rows = plan->planTree->plan_rows;
	scan->scan.plan.plan_width = plan->planTree->plan_width;
	scan->custom_private = list_make4(query, makeInteger(options), numbers, plans);
	plan->planTree = &scan->scan.plan;
	forget_subplans(plan);
	return plan;
}

/* targets_of_node: returns the target list of the node, and sets *row to what it returns */
static List *
targets_of_node(List *targets, List **row)
{
	List	   *result = NIL;

	foreach_node(TargetEntry, target, targets)
	{
		Oid			type = exprType((Node *) target->expr);
		int32		typmod = exprTypmod((Node *) target->expr);
		Oid			collation = exprCollation((Node *) target->expr);
		TargetEntry *returned;

		if (target->resjunk)
			continue;
		*row = lappend(*row, makeTargetEntry((Expr *) makeNullConst(type, typmod, collation), target->resno,
											 target->resname, false));
		returned = makeTargetEntry((Expr *) makeVar(INDEX_VAR, target->resno, type, typmod, collation, 0),
								   target->resno, target->resname, false);
		returned->resorigtbl = target->resorigtbl;
		returned->resorigcol = target->resorigcol;
		result = lappend(result, returned);
	}
	return result;
}
