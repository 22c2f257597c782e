/*-------------------------------------------------------------------------
 *
 * path.h
 *	  Gives the planner paths that read index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PATH_H
#define INDEXTABLE_PATH_H

#include "nodes/pathnodes.h"

#include "candidate.h"

extern void path_init(void);
extern const char *unfit_clauses(List *clauses);
extern Path *partial_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, Path *whole);

#endif							/* INDEXTABLE_PATH_H */
