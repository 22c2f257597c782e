/*-------------------------------------------------------------------------
 *
 * scan_plan.h
 *	  Makes and reads the plans of scans of index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_PLAN_H
#define INDEXTABLE_SCAN_PLAN_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "candidate.h"

/* What the executor is told of a kind of scans. */
typedef struct ScanType
{
	CustomScanMethods methods;	/* first: it is all that plans know */
	const CustomExecMethods *exec;
	Size		size;			/* of the state */
} ScanType;

/* What EXPLAIN calls the node. */
#define SCAN_NAME	"IndexTable"

/* What custom_private of a plan says. */
typedef struct ScanPlan
{
	/* Stored as it is. */
	Oid			fact;
	Oid			index_table;	/* InvalidOid: only the fallback can be used */
	bool		entries_only;
	bool		backward;
	bool		async;
	bool		stored_rows;	/* as in Candidate, and so are these */
	int			not_null;
	uint32		unless;
	bool		distinct;
	bool		partial_rows;
	bool		first;
	bool		last;
	int			nequal;			/* so many leading columns are compared by = */
	int			nconditions;

	/* Stored one by one. */
	Condition  *conditions;		/* without pointers */
	List	   *groups;
	List	   *columns;		/* entries_only: of the index table, for the
								 * columns of custom_scan_tlist, or to make
								 * rows of with partial_rows; otherwise those
								 * of the fact table that are needed, 0: all;
								 * NIL with stored_rows */
	List	   *sources;		/* whose these are, as in Candidate */
	Query	   *fallback;		/* returns the same rows, with stored_rows
								 * their places; its parameters are the
								 * expressions of custom_exprs after the
								 * conditions' values */
} ScanPlan;

extern CustomPath *make_scan_path(RelOptInfo *rel, Candidate *c);
extern void add_scan_path(PlannerInfo *root, RelOptInfo *rel, Path *path);
extern List *in_safe_order(PlannerInfo *root, RelOptInfo *rel, List *clauses);
extern void return_stored_rows(ScanState *node);
extern bool any_row_passes(ScanState *node, TupleTableSlot *slot);
extern bool scan_wants_system_columns(RelOptInfo *rel, List *clauses);
extern Node *replace_by_parameters(Node *node, Index varno, Index second, List **values);
extern RangeTblEntry *relation_of_index_table(IndexDef *def);
extern IndexDef *definition_of_scan(EState *estate, Oid fact, Oid index_table, bool async, FactDef **factdef);
extern Node *create_scan_state(CustomScan *plan);
extern void read_scan_plan(CustomScan *scan, ScanPlan *plan);

#endif							/* INDEXTABLE_SCAN_PLAN_H */
