/*-------------------------------------------------------------------------
 *
 * loose_path.h
 *	  Gives the planner paths that read one entry, or two, of each group of entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOOSE_PATH_H
#define INDEXTABLE_LOOSE_PATH_H

#include "candidate.h"
#include "query_table.h"

extern bool read_loosely(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *groups);
extern void add_distinct_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct);

#endif							/* INDEXTABLE_LOOSE_PATH_H */
