/*-------------------------------------------------------------------------
 *
 * and_path.h
 *	  Gives the planner paths that search several index tables, or one for several elements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_AND_PATH_H
#define INDEXTABLE_AND_PATH_H

#include "query_table.h"

extern void add_and_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches);

#endif							/* INDEXTABLE_AND_PATH_H */
