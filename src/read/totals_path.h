/*-------------------------------------------------------------------------
 *
 * totals_path.h
 *	  Gives the planner paths that answer aggregates from tables of totals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TOTALS_PATH_H
#define INDEXTABLE_TOTALS_PATH_H

#include "nodes/pathnodes.h"

extern void add_totals_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, UpperRelationKind stage);

/* The name that EXPLAIN shows. */
#define TOTALS_NAME		"IndexTableTotals"

/* The members of custom_private. */
enum
{
	TOTALS_TABLES,				/* OIDs: fact table, table of totals */
	TOTALS_NEEDS,				/* integers: how many fields must be complete,
								 * VALUE_BITS that rows must not have, and
								 * whether it is of totals */
	TOTALS_PLAN,				/* of the query of totals */
	TOTALS_FALLBACK				/* the query of the fact table */
};

#endif							/* INDEXTABLE_TOTALS_PATH_H */
