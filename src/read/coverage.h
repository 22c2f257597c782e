/*-------------------------------------------------------------------------
 *
 * coverage.h
 *	  Tells whether entries have all that a query needs of fact rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COVERAGE_H
#define INDEXTABLE_COVERAGE_H

#include "candidate.h"

extern bool cover_scan(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses);
extern PathTarget *target_of_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern PathTarget *target_of_expressions(PlannerInfo *root, RelOptInfo *rel, List *exprs);
extern bool cover_aggregates(PlannerInfo *root, Candidate *c, List *clauses, PathTarget *target);
extern bool is_checked_by_search(Candidate *c, RestrictInfo *rinfo);

#endif							/* INDEXTABLE_COVERAGE_H */
