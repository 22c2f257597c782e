/*-------------------------------------------------------------------------
 *
 * missed_fields.h
 *	  Finds the fields of documents in conditions for which there is no index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MISSED_FIELDS_H
#define INDEXTABLE_MISSED_FIELDS_H

#include "nodes/pathnodes.h"

extern void count_missed_fields(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

#endif							/* INDEXTABLE_MISSED_FIELDS_H */
