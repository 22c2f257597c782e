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
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "../definition/tree_age.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "keyed_scan.h"
#include "scan_explain.h"
#include "scan_plan.h"

/* What EXPLAIN calls the node. */
#define KEYED_SCAN_NAME	"IndexTableRows"

typedef struct KeyedScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	List	   *keys;			/* of lists of Const */
	int			next;
	FactDef    *fact;			/* pinned by who has made the plan */
	Relation	root;
	LiveScan	rows;
} KeyedScan;

static Plan *make_keyed_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
							 List *children);
static Node *create_state(CustomScan *plan);
static void begin_scan(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_scan(CustomScanState *node);
static TupleTableSlot *next_row(ScanState *node);
static bool recheck_row(ScanState *node, TupleTableSlot *slot);
static void end_scan(CustomScanState *node);
static void rescan(CustomScanState *node);
static void explain_keys(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomPathMethods path_methods = {.CustomName = KEYED_SCAN_NAME,.PlanCustomPath = make_keyed_scan};
static const CustomScanMethods scan_methods = {.CustomName = KEYED_SCAN_NAME,.CreateCustomScanState = create_state};
static const CustomExecMethods exec_methods = {
	.CustomName = KEYED_SCAN_NAME,
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain_keys
};

void
keyed_scan_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

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
	path->custom_private = list_make2(makeConst(INTERNALOID, -1, InvalidOid, sizeof(Datum), PointerGetDatum(fact), false, true),
									  keys);
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

static Plan *
make_keyed_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(in_safe_order(root, rel, clauses), false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->methods = &scan_methods;
	scan->custom_private = path->custom_private;
	return &scan->scan.plan;
}

static Node *
create_state(CustomScan *plan)
{
	KeyedScan  *scan = (KeyedScan *) newNode(sizeof(KeyedScan), T_CustomScanState);

	scan->css.methods = &exec_methods;
	return (Node *) scan;
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
	live_scan_begin(&scan->rows, scan->fact, scan->root, estate->es_snapshot);
}

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	return true;
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
	ListCell   *cell;

	while (scan->next < list_length(scan->keys))
	{
		TupleTableSlot *row;

		foreach(cell, (List *) list_nth(scan->keys, scan->next))
			key[foreach_current_index(cell)] = ((Const *) lfirst(cell))->constvalue;
		scan->next++;
		row = live_scan_first(&scan->rows, key);
		if (row != NULL && RelationGetRelid(scan->rows.current->rel) == RelationGetRelid(node->ss_currentRelation))
		{
			ExecCopySlot(node->ss_ScanTupleSlot, scan->rows.current->stored);
			node->ss_ScanTupleSlot->tts_tableOid = RelationGetRelid(node->ss_currentRelation);
			return node->ss_ScanTupleSlot;
		}
		if (!IsolationUsesXactSnapshot())
			refuse_truncated(scan->fact->relid, node->ps.state->es_snapshot);
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
	explain_found(list_length(((KeyedScan *) node)->keys), es);
}
