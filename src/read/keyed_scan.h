/*-------------------------------------------------------------------------
 *
 * keyed_scan.h
 *	  Scans a partition for rows whose primary keys are known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_KEYED_SCAN_H
#define INDEXTABLE_KEYED_SCAN_H

#include "nodes/pathnodes.h"

#include "../indextable.h"

extern void keyed_scan_init(void);
extern void add_keyed_path(PlannerInfo *root, RelOptInfo *rel, FactDef *fact, List *keys);

#endif							/* INDEXTABLE_KEYED_SCAN_H */
