/*-------------------------------------------------------------------------
 *
 * keyed_scan.h
 *	  Scans a partition for rows whose primary keys are known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_KEYED_SCAN_H
#define INDEXTABLE_KEYED_SCAN_H

#include "catalog/pg_attribute.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "../indextable.h"

extern void add_keyed_path(PlannerInfo *root, RelOptInfo *rel, FactDef *fact, List *keys);
extern Expr *key_condition(Index varno, Form_pg_attribute att, List *keys, int i);
extern bool is_key_condition(Expr *clause);
extern bool is_plan_for_any_partition(Query *statement);
extern bool is_planned_again(CustomScan *owner);
extern PlannedStmt *keep_plan(CustomScan *owner, Query *statement, FactDef *fact, Oid leaf, PlannedStmt *plan);
extern PlannedStmt *kept_plan(CustomScan *owner, FactDef *fact, Oid leaf, List *keys);

#endif							/* INDEXTABLE_KEYED_SCAN_H */
