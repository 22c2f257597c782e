/*-------------------------------------------------------------------------
 *
 * or_path.h
 *	  Gives the planner paths for conditions that are joined by OR, on different fields.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_OR_PATH_H
#define INDEXTABLE_OR_PATH_H

#include "query_table.h"

extern void add_or_paths(PlannerInfo *root, RelOptInfo *rel, Served *served);
extern double estimate_or_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);

#endif							/* INDEXTABLE_OR_PATH_H */
