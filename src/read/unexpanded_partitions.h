/*-------------------------------------------------------------------------
 *
 * unexpanded_partitions.h
 *	  Keeps the planner from looking at the partitions of a fact table one by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNEXPANDED_PARTITIONS_H
#define INDEXTABLE_UNEXPANDED_PARTITIONS_H

#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

extern void unexpanded_init(void);
extern PlannedStmt *plan_unexpanded(Query *query, ParamListInfo params);
extern bool is_unexpanded(RelOptInfo *rel);
extern void forget_dummy_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void add_last_resort(PlannerInfo *root, RelOptInfo *rel);

#endif							/* INDEXTABLE_UNEXPANDED_PARTITIONS_H */
