/*-------------------------------------------------------------------------
 *
 * missed_fields.h
 *	  Finds the fields of documents in conditions for which there is no index table, and the nearest
 *	  one there is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MISSED_FIELDS_H
#define INDEXTABLE_MISSED_FIELDS_H

#include "nodes/pathnodes.h"

#include "../indextable.h"

extern void count_missed_fields(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern const char *nearest_condition(RelOptInfo *rel, IndexDef *def);

#endif							/* INDEXTABLE_MISSED_FIELDS_H */
