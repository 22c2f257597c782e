/*-------------------------------------------------------------------------
 *
 * found_rows.c
 *	  Plans statements that write or lock rows of a partitioned fact table when they start, for the
 *	  rows that an index table finds.
 *
 * The executor opens every partition that a plan of such a statement names, and writes through
 * what the planner has made for each of them.  So it is the plan that has to name few.  When the
 * statement is planned, it gets only a search for the primary keys of its rows, by the conditions
 * on them alone, which is a query like others that looks at no partition.  When it starts, the
 * search is executed with its snapshot.  Then the statement is planned as the server plans any, but
 * for these primary keys: the server leaves out all partitions that have none of them, and in the
 * others the rows are fetched by their keys; see keyed_scan.c.  All else is native, like joins,
 * triggers, and rows that move to other partitions.
 *
 * Nothing that was found is kept: a row that is in another partition when a kept plan is executed
 * is found there.  The rows are those that a native plan would find with the same snapshot, and the
 * key of a row that the snapshot sees tells the partition in which the snapshot sees it.  A row that
 * has been changed since is there as it was, and what a native plan does with it then is done
 * here, too: the condition on keys, by which partitions are left out, is not checked for rows.
 *
 * A partition is locked later than by a native plan.  It cannot be detached or dropped meanwhile,
 * as that needs a lock of the fact table, which the statement has locked before.  If it was truncated,
 * the statement ends with an error, as a query does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "../candidate/candidate.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../planner/planner.h"
#include "../reasons/reasons.h"
#include "../scan/scan.h"
#include "../util/settings.h"
#include "../util/while_set.h"
#include "writes.h"

/* With more rows, the statement is planned for all partitions. */
#define MAX_ROWS	1000
/* The name of the node that stands for a plan. */
#define LATE_NAME	"IndexTableLate"

/* The members of its custom_private. */
enum
{
	LATE_STATEMENT,				/* the statement, a Query */
	LATE_SEARCH,				/* the plan that finds its rows */
	LATE_VARNO,					/* of the fact table in the statement */
	LATE_FOR_ANY_PARTITION		/* whether the plan for the rows of one
								 * partition may serve those of others */
};

/* The rows of the statement that is planned. */
typedef struct FoundRows
{
	Query	   *statement;
	Index		varno;			/* of the fact table, fact */
	Oid			fact;
	FactDef    *def;			/* its definition, pinned */
	List	   *leaves;			/* OIDs, and for each row ... */
	List	   *keys;			/* ... a list of Const */
} FoundRows;

static planner_hook_type previous_planner = NULL;
static ExecutorStart_hook_type previous_start = NULL;
static set_rel_pathlist_hook_type previous_paths = NULL;
static FoundRows *found = NULL;

static PlannedStmt *plan_statement(PLANNER_HOOK_PARAMETERS);
static List *targets_of(Query *statement);
static bool is_target(Query *statement, Index varno);
static const char *why_natively(Query *statement, Index varno);
static Node *own_conditions(Query *statement, Index varno);
static PlannedStmt *plan_search(Query *statement, Index varno, ParamListInfo params);
static PlannedStmt *plan_for_later(Query *statement, Index varno, PlannedStmt *search, const char *text,
								   ParamListInfo params);
static void executor_start(QueryDesc *query, int eflags);
static PlannedStmt *plan_now(QueryDesc *query, CustomScan *late);
static PlannedStmt *plan_found(FoundRows *rows, const char *text, ParamListInfo params);
static Oid	only_leaf(FoundRows *rows);
static bool find_rows(QueryDesc *query, PlannedStmt *search, FoundRows *rows);
static bool add_row(FoundRows *rows, FactDef *fact, Relation rel, TupleTableSlot *row);
static void add_key_conditions(FoundRows *rows);
static void replace_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte);
static void begin_nothing(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *return_nothing(CustomScanState *node);
static void end_nothing(CustomScanState *node);
static void explain_late(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomExecMethods exec_methods = {
	.CustomName = LATE_NAME,
	.BeginCustomScan = begin_nothing,
	.ExecCustomScan = return_nothing,
	.EndCustomScan = end_nothing,
	.ReScanCustomScan = end_nothing,
	.ExplainCustomScan = explain_late
};

static const ScanType late_type = {{.CustomName = LATE_NAME,.CreateCustomScanState = create_scan_state},
&exec_methods,
sizeof(CustomScanState)};

void
writes_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_statement;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	previous_paths = set_rel_pathlist_hook;
	set_rel_pathlist_hook = replace_paths;
	RegisterCustomScanMethods(&late_type.methods);
	RegisterCustomScanMethods(&keyed_scan.methods);
}

/* plan_statement: plans a statement for later, or as it would be */
static PlannedStmt *
plan_statement(PLANNER_HOOK_PARAMETERS)
{
	bool		served = setting_planner != PLANNER_OFF && !is_planned_natively() &&
		(cursorOptions & CURSOR_OPT_FAST_PLAN) == 0;

	foreach_int(varno, served ? targets_of(parse) : NIL)
	{
		PlannedStmt *search;

		if (!is_target(parse, varno))
			continue;
		if ((search = plan_search(parse, varno, boundParams)) != NULL)
			return plan_for_later(parse, varno, search, query_string, boundParams);
		give_reason(rt_fetch(varno, parse->rtable)->relid, InvalidOid,
					"the query locks or writes rows of a partitioned table, of which no index table finds few");
	}
	return previous_planner ? previous_planner(PLANNER_HOOK_ARGUMENTS) : standard_planner(PLANNER_HOOK_ARGUMENTS);
}

/* targets_of: returns the numbers of the tables whose rows a statement writes or locks */
static List *
targets_of(Query *statement)
{
	List	   *result = NIL;

	if (statement->commandType == CMD_UPDATE || statement->commandType == CMD_DELETE)
		return list_make1_int(statement->resultRelation);
	foreach_node(RowMarkClause, mark, statement->rowMarks)
		result = lappend_int(result, mark->rti);
	return result;
}

/*
 * is_target
 *		Returns whether a table is a partitioned fact table of which an index table may find the
 *		rows of a statement by conditions on nothing else.
 */
static bool
is_target(Query *statement, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, statement->rtable);
	const char *why;
	FactDef    *fact;

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_PARTITIONED_TABLE || !rte->inh)
		return false;
	fact = soft_definition(rte->relid);
	if (fact == NULL || fact->relid != rte->relid || fact->ndefs == 0 || !OidIsValid(fact->layout.pk_index) ||
		fact->place->entries->not_planned != NULL)
		return false;
	why = fact->layout.pk_deferrable ? "the query locks or writes rows of a partitioned table, and its primary key is deferrable" :
		why_natively(statement, varno);
	if (why != NULL)
		give_reason(fact->relid, InvalidOid, why);
	return why == NULL;
}

/*
 * why_natively
 *		Returns why a statement has to be planned for all partitions of the table that it writes or
 *		locks rows of, or NULL.
 *
 * What a condition does beside being true for a row must not be done twice, so it is not volatile.
 */
static const char *
why_natively(Query *statement, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, statement->rtable);
	Node	   *quals = statement->jointree->quals;
	List	   *unused = NIL;

	if (statement->hasModifyingCTE || statement->setOperations != NULL ||
		(quals != NULL && IsA(quals, CurrentOfExpr)) || checkExprHasSubLink((Node *) rte->securityQuals) ||
		!find_conditions((Node *) statement->jointree, varno, &unused))
		return "the query locks or writes rows of a partitioned table in a way that is planned natively";
	if (rte->tablesample != NULL)
		return "the query has TABLESAMPLE";
	if (own_conditions(statement, varno) == NULL && rte->securityQuals == NIL)
		return "the query locks or writes rows of a partitioned table, with no condition on that table alone";
	if (contain_volatile_functions(quals) || contain_volatile_functions((Node *) rte->securityQuals))
		return "the query locks or writes rows of a partitioned table, and a condition is volatile";
	if (!enable_partition_pruning)
		return "the query locks or writes rows of a partitioned table, and enable_partition_pruning is off";
	return NULL;
}

/*
 * own_conditions
 *		Returns those conditions of a statement, joined by AND, that need nothing but a row of this
 *		table, or NULL.  All rows that the statement writes or locks satisfy them.
 */
static Node *
own_conditions(Query *statement, Index varno)
{
	List	   *result = NIL;

	foreach_ptr(Node, qual, make_ands_implicit((Expr *) statement->jointree->quals))
	{
		if (bms_is_subset(pull_varnos(NULL, qual), bms_make_singleton(varno)) && !checkExprHasSubLink(qual))
			result = lappend(result, qual);
	}
	return result == NIL ? NULL : (Node *) make_ands_explicit(result);
}

/*
 * plan_search
 *		Plans the query for the primary keys of the rows; returns NULL if no index table finds them
 *		without a look at partitions.
 */
static PlannedStmt *
plan_search(Query *statement, Index varno, ParamListInfo params)
{
	RangeTblEntry *rte = copyObject(rt_fetch(varno, statement->rtable));
	Query	   *query;
	FactDef    *fact = soft_definition(rte->relid);
	Relation	rel;
	Node	   *quals = copyObject(own_conditions(statement, varno));

	/* There may have been news since, and a lock that is not free. */
	if (fact == NULL)
		return NULL;
	ChangeVarNodes(quals, varno, 1, 0);
	ChangeVarNodes((Node *) rte->securityQuals, varno, 1, 0);
	query = query_of_table(rte, NIL, quals);
	query->hasRowSecurity = statement->hasRowSecurity;
	forget_permissions(query, rte, statement);
	rel = relation_open(rte->relid, NoLock);
	for (int i = 0; i < fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), fact->layout.pk_attno[i] - 1);
		Var		   *var = makeVar(1, att->attnum, att->atttypid, att->atttypmod, att->attcollation, 0);

		query->targetList = lappend(query->targetList, makeTargetEntry((Expr *) var, i + 1, NULL, false));
	}
	relation_close(rel, NoLock);
	return plan_unexpanded(query, params);
}

/*
 * plan_for_later
 *		Returns a plan in whose place another one is made when it is to be executed: that of the
 *		statement for no rows, which has what has to be locked and checked, and the columns of
 *		the result.
 *
 * The table has no rows as it seems to have no partitions.  The conditions on several tables
 * stay: some outer joins are inner ones by them, and so the planner accepts locks of their rows.
 */
static PlannedStmt *
plan_for_later(Query *statement, Index varno, PlannedStmt *search, const char *text, ParamListInfo params)
{
	CustomScan *late = makeNode(CustomScan);
	Query	   *none = copyObject(statement);
	PlannedStmt *result;

	rt_fetch(varno, none->rtable)->inh = false;
	if (list_length(none->rtable) == 1)
		none->jointree->quals = makeBoolConst(false, false);
	result = plan_natively(none, text, 0, params);
	late->scan.scanrelid = varno;
	late->scan.plan.targetlist = copyObject(result->planTree->targetlist);
	foreach_node(TargetEntry, tle, late->scan.plan.targetlist)
	{
		Node	   *expr = (Node *) tle->expr;

		tle->expr = (Expr *) makeNullConst(exprType(expr), exprTypmod(expr), exprCollation(expr));
	}
	late->scan.plan.startup_cost = search->planTree->startup_cost;
	late->scan.plan.total_cost = search->planTree->total_cost;
	late->scan.plan.plan_rows = search->planTree->plan_rows;
	late->methods = &late_type.methods;
	late->custom_private = list_make4(statement, search, makeInteger(varno),
									  makeInteger(params == NULL && is_plan_for_any_partition(statement)));
	result->planTree = &late->scan.plan;
	foreach_ptr(RangeTblEntry, rte, search->rtable)
	{
		if (list_member_oid(result->relationOids, rte->relid))
			continue;
		result->rtable = lappend(result->rtable, rte);
		note_locked_table(result, list_length(result->rtable));
	}
	result->relationOids = list_concat_unique_oid(result->relationOids, search->relationOids);
	result->invalItems = list_concat_copy(result->invalItems, search->invalItems);
	result->transientPlan |= search->transientPlan;
	result->dependsOnRole |= search->dependsOnRole;
	return result;
}

/*
 * executor_start
 *		Starts a statement with the plan that it gets now, and keeps as long as it is executed.
 *		EXPLAIN alone shows what it has until then.
 */
static void
executor_start(QueryDesc *query, int eflags)
{
	Plan	   *plan = query->plannedstmt->planTree;
	MemoryContext cxt = NULL;

	if (plan != NULL && IsA(plan, CustomScan) && ((CustomScan *) plan)->methods == &late_type.methods &&
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
	{
		MemoryContext old;

		cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable plan", ALLOCSET_DEFAULT_SIZES);
		old = MemoryContextSwitchTo(cxt);
		query->plannedstmt = plan_now(query, (CustomScan *) plan);
		MemoryContextSwitchTo(old);
	}
	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (cxt != NULL)
		MemoryContextSetParent(cxt, query->estate->es_query_cxt);
}

/*
 * plan_now
 *		Plans a statement for the rows that are found, or for all partitions if these are many.  The
 *		plan for one partition is kept for others, if the statement is executed again and again.
 */
static PlannedStmt *
plan_now(QueryDesc *query, CustomScan *late)
{
	Query	   *statement = list_nth(late->custom_private, LATE_STATEMENT);
	Index		varno = intVal(list_nth(late->custom_private, LATE_VARNO));
	FoundRows	rows = {.varno = varno,.fact = rt_fetch(varno, statement->rtable)->relid};
	Oid			leaf = InvalidOid;
	bool		again = false;
	PlannedStmt *result;

	/* By functions in conditions users would learn what they are not to see. */
	check_rights(query->plannedstmt);
	if (!is_target(statement, varno) || !find_rows(query, list_nth(late->custom_private, LATE_SEARCH), &rows))
		rows.varno = 0;
	else if (intVal(list_nth(late->custom_private, LATE_FOR_ANY_PARTITION)) && OidIsValid(leaf = only_leaf(&rows)))
	{
		if ((result = kept_plan(late, rows.def, leaf, rows.keys)) != NULL)
			return result;
		again = is_planned_again(late);
	}
	rows.statement = copyObject(statement);
	AcquireRewriteLocks(rows.statement, true, false);
	if (rows.varno > 0)
		add_key_conditions(&rows);
	result = plan_found(&rows, query->sourceText, again ? NULL : query->params);
	return again ? keep_plan(late, statement, rows.def, leaf, result) : result;
}

/* plan_found: plans a statement natively, but for how the rows that were found are fetched */
static PlannedStmt *
plan_found(FoundRows *rows, const char *text, ParamListInfo params)
{
	PlannedStmt *result;

	WHILE_SET(found, rows->varno > 0 ? rows : NULL, result = plan_natively(rows->statement, text, 0, params));
	return result;
}

/* only_leaf: returns the partition that has all rows that were found, or InvalidOid */
static Oid
only_leaf(FoundRows *rows)
{
	Oid			leaf = rows->leaves == NIL ? InvalidOid : linitial_oid(rows->leaves);

	foreach_oid(other, rows->leaves)
	{
		if (other != leaf)
			return InvalidOid;
	}
	return leaf;
}

/*
 * find_rows
 *		Finds the primary keys of the rows that a statement's snapshot sees, and their partitions.
 *		Returns false if there are many, or if a row might be found by its key that is another one;
 *		see scan_node.c.
 */
static bool
find_rows(QueryDesc *query, PlannedStmt *search, FoundRows *rows)
{
	FactDef    *fact = soft_definition(rows->fact);
	Relation	rel;
	QueryDesc  *desc;
	TupleTableSlot *row;
	bool		few = true;

	if (fact == NULL || setting_planner == PLANNER_OFF || (IsolationUsesXactSnapshot() && written_by_us(fact)))
		return false;
	definition_hold(fact, CurrentMemoryContext);
	rows->def = fact;
	rel = relation_open(rows->fact, AccessShareLock);
	desc = begin_inner_query(search, query->snapshot, query->params, query->queryEnv, 0, 0);
	do
	{
		row = next_of_inner_query(desc);
		few = TupIsNull(row) || add_row(rows, fact, rel, row);
	} while (few && !TupIsNull(row));
	end_inner_query(desc);
	relation_close(rel, NoLock);
	return few;
}

/*
 * add_row
 *		Adds a row by its primary key; returns false if there are many now, or if it is on
 *		another server.
 */
static bool
add_row(FoundRows *rows, FactDef *fact, Relation rel, TupleTableSlot *row)
{
	Datum		values[INDEX_MAX_KEYS];
	List	   *key = NIL;
	Oid			leaf;

	slot_getallattrs(row);
	for (int i = 0; i < fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tts_tupleDescriptor, i);

		values[i] = datumCopy(row->tts_values[i], att->attbyval, att->attlen);
		key = lappend(key,
					  makeConst(att->atttypid, att->atttypmod, att->attcollation, att->attlen, values[i], false,
								att->attbyval));
	}
	leaf = route_key(fact, rel, values);
	rows->leaves = lappend_oid(rows->leaves, leaf);
	rows->keys = lappend(rows->keys, key);
	return OidIsValid(leaf) && list_length(rows->keys) <= MAX_ROWS && get_rel_relkind(leaf) == RELKIND_RELATION;
}

/*
 * add_key_conditions
 *		Adds conditions to a statement by which the server leaves out the partitions in which
 *		nothing was found.
 */
static void
add_key_conditions(FoundRows *rows)
{
	FactDef    *fact = rows->def;
	FromExpr   *from = rows->statement->jointree;
	List	   *quals;
	Relation	rel;

	if (rows->keys == NIL)
	{
		from->quals = makeBoolConst(false, false);
		return;
	}
	quals = from->quals == NULL ? NIL : list_make1(from->quals);
	rel = relation_open(rows->fact, NoLock);
	for (int i = 0; i < fact->layout.npk; i++)
		quals = lappend(quals,
						key_condition(rows->varno,
									  TupleDescAttr(RelationGetDescr(rel), fact->layout.pk_attno[i] - 1),
									  rows->keys, i));
	relation_close(rel, NoLock);
	from->quals = (Node *) make_andclause(quals);
}

/*
 * replace_paths
 *		Has the rows of a partition fetched by their keys.
 *
 * The conditions on keys are taken away, as a native plan does not check them for newer versions
 * of the rows.  They are also what tells the statement from others that are planned meanwhile.
 */
static void
replace_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	List	   *conditions = NIL;
	List	   *keys = NIL;
	ListCell   *cell;
	ListCell   *leaf;

	if (previous_paths)
		previous_paths(root, rel, rti, rte);
	if (found == NULL || rel->reloptkind != RELOPT_OTHER_MEMBER_REL || IS_DUMMY_REL(rel) ||
		rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION)
		return;
	foreach_node(RestrictInfo, rinfo, rel->baserestrictinfo)
	{
		if (!is_key_condition(rinfo->clause))
			conditions = lappend(conditions, rinfo);
	}
	if (list_length(conditions) == list_length(rel->baserestrictinfo))
		return;
	rel->baserestrictinfo = conditions;
	forboth(cell, found->keys, leaf, found->leaves)
	{
		if (lfirst_oid(leaf) == rte->relid)
			keys = lappend(keys, lfirst(cell));
	}
	add_keyed_path(root, rel, found->def, keys);
}

/* What EXPLAIN shows if the statement is not executed. */
static void
begin_nothing(CustomScanState *node, EState *estate, int eflags)
{
}

static TupleTableSlot *
return_nothing(CustomScanState *node)
{
	return NULL;
}

static void
end_nothing(CustomScanState *node)
{
}

static void
explain_late(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CustomScan *late = (CustomScan *) node->ss.ps.plan;
	Query	   *statement = list_nth(late->custom_private, LATE_STATEMENT);
	PlannedStmt *plan = list_nth(late->custom_private, LATE_SEARCH);
	ScanPlan	search;

	read_scan_plan((CustomScan *) plan->planTree, &search);
	ExplainPropertyText("Statement", statement->commandType == CMD_UPDATE ? "UPDATE" :
						statement->commandType == CMD_DELETE ? "DELETE" : "SELECT with locks", es);
	ExplainPropertyText("Index Table", get_rel_name(search.index_table), es);
	ExplainPropertyText("Partitions", "those of the rows that are found when it starts", es);
}
