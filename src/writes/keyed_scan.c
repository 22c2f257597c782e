/*-------------------------------------------------------------------------
 *
 * keyed_scan.c
 *	  Scans a partition of a fact table for rows whose primary keys are known.
 *
 * The keys are those that a search of entries has found just before, with the same snapshot; see
 * found_rows.c.  The rows are returned as they are stored, and all conditions are checked for
 * them: also for newer versions, which may have other keys, as those of a native scan may.
 *
 * The definition, too, is the one by which they were found.  Index tables may have been altered,
 * locked or dropped since, but the rows are fetched without them, and the statement has locked
 * what is needed of the definition: the fact table, and so its primary key and its partitions.
 * What others have changed of a partition before it was locked leaf_of() takes notice of.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "../candidate/candidate.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "writes.h"

/* What EXPLAIN calls the node. */
#define KEYED_SCAN_NAME	"IndexTableRows"
/* The place in the text of a query that conditions on keys have, so that they are known again. */
#define MARK		(-1000)

typedef struct KeyedScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	List	   *keys;			/* of lists of Const */
	int			next;
	FactDef    *fact;			/* pinned by the code that has made the plan */
	Relation	root;
	CommandId	begun_at;		/* the command id of the start */
	LiveScan	rows;
} KeyedScan;

/* A plan that was made for the rows of one partition, and serves others. */
typedef struct KeptPlan
{
	CustomScan *owner;			/* hash key: the node that it is made for when
								 * the statement starts, and is kept with */
	PlannedStmt *plan;			/* NULL: there is none */
} KeptPlan;

static HTAB *kept_plans = NULL;

static bool is_whole_row(Node *node, void *context);
static void forget_plan(void *owner);
static bool depends_on(Query *statement, List *items);
static CustomScan *keyed_scan_of(PlannedStmt *plan);
static bool is_like_root(FactDef *fact, Relation leaf);
static List *private_of_keys(FactDef *fact, List *keys);
static Plan *make_keyed_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
							 List *children);
static void begin_scan(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_scan(CustomScanState *node);
static TupleTableSlot *next_row(ScanState *node);
static void end_scan(CustomScanState *node);
static void rescan(CustomScanState *node);
static void explain_keys(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomPathMethods path_methods = {.CustomName = KEYED_SCAN_NAME,.PlanCustomPath = make_keyed_scan};
static const CustomExecMethods exec_methods = {
	.CustomName = KEYED_SCAN_NAME,
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain_keys
};

const ScanType keyed_scan = {{.CustomName = KEYED_SCAN_NAME,.CreateCustomScanState = create_scan_state},
&exec_methods,
sizeof(KeyedScan)};

/*
 * add_keyed_path
 *		Makes a scan for the keys, lists of Const, the only path of a partition.  The definition
 *		is pinned as long as there is the plan, which nobody keeps.
 */
void
add_keyed_path(PlannerInfo *root, RelOptInfo *rel, FactDef *fact, List *keys)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	path->path.rows = Max(list_length(keys), 1);
	path->path.total_cost = path->path.rows * (random_page_cost + cpu_tuple_cost);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	path->custom_private = private_of_keys(fact, keys);
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

/*
 * key_condition
 *		Returns "column = ANY (the values that it has in the keys)".
 *
 * The operator may be of a pseudo-type, such as anyarray.  The array is laid out for that, as
 * the planner reads it so.
 */
Expr *
key_condition(Index varno, Form_pg_attribute att, List *keys, int i)
{
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
	Oid			operand = type->btree_opintype;
	Expr	   *var = (Expr *) makeVar(varno, att->attnum, att->atttypid, att->atttypmod, att->attcollation, 0);
	ScalarArrayOpExpr *result = makeNode(ScalarArrayOpExpr);
	int			n = list_length(keys);
	Datum	   *values = palloc(sizeof(Datum) * n);
	ArrayType  *array;
	int16		len;
	bool		byval;
	char		align;

	foreach_ptr(List, key, keys)
		values[foreach_current_index(key)] = ((Const *) list_nth(key, i))->constvalue;
	get_typlenbyvalalign(operand, &len, &byval, &align);
	array = construct_array(values, n, operand, len, byval, align);
	if (operand != att->atttypid)
		var = (Expr *) makeRelabelType(var, operand, -1, att->attcollation, COERCE_IMPLICIT_CAST);
	result->opno = type->eq_opr;
	result->opfuncid = get_opcode(type->eq_opr);
	result->useOr = true;
	result->inputcollid = att->attcollation;
	result->args = list_make2(var,
							  makeConst(get_array_type(operand), -1, att->attcollation, -1,
										PointerGetDatum(array), false, false));
	result->location = MARK;
	return (Expr *) result;
}

bool
is_key_condition(Expr *clause)
{
	return IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->location == MARK;
}

/*
 * is_plan_for_any_partition
 *		Returns whether the plan of a statement, for the rows of one partition, differs from that
 *		for another one only by which partition is named, if these have the same columns.
 *
 * A row as a whole has the type of its partition.  The planner leaves it at that: it never leaves
 * out a condition because a CHECK implies it, and rows that were found satisfy all of them.
 */
bool
is_plan_for_any_partition(Query *statement)
{
	return list_length(statement->rtable) == 1 && !statement->hasSubLinks && statement->cteList == NIL &&
		!query_tree_walker(statement, is_whole_row, NULL, 0);
}

static bool
is_whole_row(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == InvalidAttrNumber;
	return expression_tree_walker(node, is_whole_row, context);
}

/*
 * is_planned_again
 *		Returns whether this was asked before, of a plan that may have been kept since.
 */
bool
is_planned_again(CustomScan *owner)
{
	bool		found;
	KeptPlan   *kept;

	if (kept_plans == NULL)
		kept_plans = new_hash("indextable kept plans", 16, sizeof(CustomScan *), sizeof(KeptPlan), NULL);
	kept = hash_search(kept_plans, &owner, HASH_FIND, NULL);
	if (kept == NULL)
	{
		MemoryContext cxt = GetMemoryChunkContext(owner);
		MemoryContextCallback *callback = MemoryContextAlloc(cxt, sizeof(MemoryContextCallback));

		callback->func = forget_plan;
		callback->arg = owner;
		kept = hash_search(kept_plans, &owner, HASH_ENTER, &found);
		kept->plan = NULL;
		MemoryContextRegisterResetCallback(cxt, callback);
		return false;
	}
	return true;
}

static void
forget_plan(void *owner)
{
	hash_search(kept_plans, &owner, HASH_REMOVE, NULL);
}

/*
 * keep_plan
 *		Keeps a copy of the plan for the rows of a partition, and returns the plan.  It is kept as long as there is
 *		the node that it was made for: the server makes that anew if the fact table, or what a
 *		statement names, has changed.  So the plan must depend on nothing else.
 */
PlannedStmt *
keep_plan(CustomScan *owner, Query *statement, FactDef *fact, Oid leaf, PlannedStmt *plan)
{
	KeptPlan   *kept = hash_search(kept_plans, &owner, HASH_FIND, NULL);
	CustomScan *scan = keyed_scan_of(plan);
	Relation	rel;
	MemoryContext old;

	if (kept == NULL || kept->plan != NULL || scan == NULL || list_length(plan->rtable) != 2 ||
		plan->subplans != NIL || !depends_on(statement, plan->invalItems) || plan->transientPlan ||
		rt_fetch(scan->scan.scanrelid, plan->rtable)->relid != leaf)
		return plan;
	rel = relation_open(leaf, NoLock);
	if (is_like_root(fact, rel))
	{
		old = MemoryContextSwitchTo(AllocSetContextCreate(GetMemoryChunkContext(owner), "indextable kept plan",
														  ALLOCSET_SMALL_SIZES));
		kept->plan = copyObject(plan);
		keyed_scan_of(kept->plan)->custom_private = NIL;
		MemoryContextSwitchTo(old);
	}
	relation_close(rel, NoLock);
	return plan;
}

/*
 * kept_plan
 *		Returns the plan that was kept with a node, for rows of this partition with these keys, or
 *		NULL.  The partition is locked as the planner would have locked it.
 */
PlannedStmt *
kept_plan(CustomScan *owner, FactDef *fact, Oid leaf, List *keys)
{
	KeptPlan   *kept = kept_plans == NULL ? NULL : hash_search(kept_plans, &owner, HASH_FIND, NULL);
	PlannedStmt *result;
	CustomScan *scan;
	RangeTblEntry *rte;
	Relation	rel;
	bool		fits;

	if (kept == NULL || kept->plan == NULL)
		return NULL;
	result = makeNode(PlannedStmt);
	*result = *kept->plan;
	result->planTree = copyObject(result->planTree);
	scan = keyed_scan_of(result);
	rte = copyObject(rt_fetch(scan->scan.scanrelid, result->rtable));
	rel = lock_and_open(leaf, rte->rellockmode);
	if (rel == NULL)
		return NULL;
	fits = is_like_root(fact, rel);
	relation_close(rel, NoLock);
	if (!fits)
		return NULL;
	rte->relid = leaf;
	result->rtable = list_copy(result->rtable);
	lfirst(list_nth_cell(result->rtable, scan->scan.scanrelid - 1)) = rte;
	scan->custom_private = private_of_keys(fact, keys);
	return result;
}

/*
 * depends_on
 *		Returns whether a statement is planned anew if one of these functions and types, which
 *		a plan uses, changes.
 */
static bool
depends_on(Query *statement, List *items)
{
	List	   *relations;
	List	   *own;
	bool		row_security;

	extract_query_dependencies((Node *) statement, &relations, &own, &row_security);
	foreach_node(PlanInvalItem, item, items)
	{
		bool		is_own = false;

		foreach_node(PlanInvalItem, other, own)
			is_own |= item->cacheId == other->cacheId && item->hashValue == other->hashValue;
		if (!is_own)
			return false;
	}
	return true;
}

/* keyed_scan_of: returns the scan of a partition that a plan makes, and no other scan, or NULL */
static CustomScan *
keyed_scan_of(PlannedStmt *plan)
{
	Plan	   *node = plan->planTree;

	while (node != NULL && (!IsA(node, CustomScan) || ((CustomScan *) node)->methods != &keyed_scan.methods))
		node = node->righttree != NULL ? NULL : node->lefttree;
	return (CustomScan *) node;
}

/*
 * is_like_root
 *		Returns whether a partition, of the fact table itself, has the same columns, with the
 *		same numbers.
 */
static bool
is_like_root(FactDef *fact, Relation leaf)
{
	Relation	root = relation_open(fact->relid, NoLock);
	PartitionDesc partitions = partition_list(root);
	TupleDesc	a = RelationGetDescr(root);
	TupleDesc	b = RelationGetDescr(leaf);
	bool		result = a->natts == b->natts;

	for (int i = 0; result && i < partitions->nparts; i++)
		result = partitions->is_leaf[i];
	for (int i = 0; result && i < a->natts; i++)
	{
		Form_pg_attribute of_root = TupleDescAttr(a, i);
		Form_pg_attribute of_leaf = TupleDescAttr(b, i);

		result = of_root->attisdropped == of_leaf->attisdropped && of_root->atttypid == of_leaf->atttypid &&
			of_root->atttypmod == of_leaf->atttypmod && of_root->attcollation == of_leaf->attcollation &&
			nullability(a, i) == nullability(b, i) && of_root->attgenerated == '\0' &&
			of_leaf->attgenerated == '\0' &&
			(of_root->attisdropped || strcmp(NameStr(of_root->attname), NameStr(of_leaf->attname)) == 0);
	}
	relation_close(root, NoLock);
	return result;
}

/* private_of_keys: returns what a scan has of its own */
static List *
private_of_keys(FactDef *fact, List *keys)
{
	return list_make2(makeConst(INTERNALOID, -1, InvalidOid, sizeof(Datum), PointerGetDatum(fact), false, true),
					  keys);
}

static Plan *
make_keyed_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(in_safe_order(root, rel, clauses), false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->methods = &keyed_scan.methods;
	scan->custom_private = path->custom_private;
	return &scan->scan.plan;
}

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	KeyedScan  *scan = (KeyedScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	return_stored_rows(&node->ss);
	scan->keys = lsecond(plan->custom_private);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	scan->fact = (FactDef *) DatumGetPointer(linitial_node(Const, plan->custom_private)->constvalue);
	scan->root = relation_open(scan->fact->relid, AccessShareLock);
	scan->begun_at = GetCurrentCommandId(false);
	live_scan_begin(&scan->rows, scan->fact, scan->root, estate->es_snapshot, NULL);
}

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, any_row_passes);
}

/*
 * next_row
 *		Returns the row with the next key that there is one of.  If there is none, the partition
 *		may have been emptied after the snapshot was taken, and before the partition was locked.
 */
static TupleTableSlot *
next_row(ScanState *node)
{
	KeyedScan  *scan = (KeyedScan *) node;
	Datum		key[INDEX_MAX_KEYS];

	while (scan->next < list_length(scan->keys))
	{
		TupleTableSlot *row;

		foreach_ptr(Const, value, (List *) list_nth(scan->keys, scan->next))
			key[foreach_current_index(value)] = value->constvalue;
		scan->next++;
		row = live_scan_first(&scan->rows, key);
		if (row != NULL && RelationGetRelid(scan->rows.current->rel) == RelationGetRelid(node->ss_currentRelation))
		{
			ExecCopySlot(node->ss_ScanTupleSlot, scan->rows.current->stored);
			node->ss_ScanTupleSlot->tts_tableOid = RelationGetRelid(node->ss_currentRelation);
			return node->ss_ScanTupleSlot;
		}
		refuse_truncated(scan->fact->relid, node->ps.state->es_snapshot, scan->begun_at, false);
		CHECK_FOR_INTERRUPTS();
	}
	return ExecClearTuple(node->ss_ScanTupleSlot);
}

static void
rescan(CustomScanState *node)
{
	ExecScanReScan(&node->ss);
	((KeyedScan *) node)->next = 0;
}

static void
end_scan(CustomScanState *node)
{
	KeyedScan  *scan = (KeyedScan *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (scan->root == NULL)
		return;
	live_scan_end(&scan->rows);
	relation_close(scan->root, NoLock);
}

static void
explain_keys(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ExplainPropertyInteger("Rows Found", NULL, list_length(((KeyedScan *) node)->keys), es);
}
