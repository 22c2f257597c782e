/*-------------------------------------------------------------------------
 *
 * writes.h
 *	  Offers the scan of partitions for rows whose primary keys are known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WRITES_H
#define INDEXTABLE_WRITES_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "../indextable.h"
#include "../scan/scan.h"

/* found_rows.c: the rows of statements that write or lock those of a partitioned fact table */
extern void writes_init(void);

/* keyed_scan.c: scans a partition for rows whose primary keys are known */
extern void add_keyed_path(PlannerInfo *root, RelOptInfo *rel, FactDef *fact, List *keys);
extern Expr *key_condition(Index varno, Form_pg_attribute att, List *keys, int i);
extern bool is_key_condition(Expr *clause);
extern bool is_plan_for_any_partition(Query *statement);
extern bool is_planned_again(CustomScan *owner);
extern PlannedStmt *keep_plan(CustomScan *owner, Query *statement, FactDef *fact, Oid leaf, PlannedStmt *plan);
extern PlannedStmt *kept_plan(CustomScan *owner, FactDef *fact, Oid leaf, List *keys);
extern const ScanType keyed_scan;

#endif							/* INDEXTABLE_WRITES_H */
