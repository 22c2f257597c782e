/*-------------------------------------------------------------------------
 *
 * path_cost.h
 *	  Estimates how many entries a scan of an index table reads, and what it costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PATH_COST_H
#define INDEXTABLE_PATH_COST_H

#include "catalog/pg_attribute.h"
#include "utils/selfuncs.h"

#include "candidate.h"

extern void estimate_index_size(Candidate *c);
extern double estimate_share(PlannerInfo *root, Candidate *c, List *used);
extern void estimate_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern void estimate_cost(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path);
extern double parallel_divisor(int workers);
extern void finish_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path);
extern void prefer_if_forced(Path *path);
extern void show_real_costs(Path *path);
extern void note_sequential_scan(RelOptInfo *rel, Relation fact);
extern Cost estimate_searches(PlannerInfo *root, double tuples, double searches, double entries, bool entries_only);
extern void column_statistics(Oid index_table, Form_pg_attribute att, bool partitioned, double tuples,
							  VariableStatData *column);
extern void estimate_and(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *reading, double entries, Path *path);
extern double equal_share(VariableStatData *column, Oid operator, Oid collation, Node *value);

#endif							/* INDEXTABLE_PATH_COST_H */
