/*-------------------------------------------------------------------------
 *
 * path.h
 *	  Gives the planner paths that read index tables, of several kinds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PATH_H
#define INDEXTABLE_PATH_H

#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "candidate.h"
#include "query_table.h"

extern const char *unfit_clauses(List *clauses);
extern Path *partial_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, Path *whole);

/* or_path.c: for conditions that are joined by OR, and values whose entries are to come in another order. */
extern void add_or_paths(PlannerInfo *root, RelOptInfo *rel, Served *served);
extern double estimate_or_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);

/* and_path.c: which search several index tables, or one for several elements. */
extern void add_and_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches);

/* loose_path.c: which read one entry, or two, of each group of entries. */
extern bool read_loosely(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *groups);
extern void add_distinct_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct);

/* unexpanded_partitions.c: for tables whose partitions are not looked at. */
extern PlannedStmt *plan_unexpanded(Query *query, ParamListInfo params);
extern bool is_unexpanded(RelOptInfo *rel);
extern void forget_dummy_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void add_last_resort(PlannerInfo *root, RelOptInfo *rel);

#endif							/* INDEXTABLE_PATH_H */
