/*-------------------------------------------------------------------------
 *
 * totals_elements.h
 *	  Tells what a query asks of totals by parts of documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TOTALS_ELEMENTS_H
#define INDEXTABLE_TOTALS_ELEMENTS_H

#include "nodes/pathnodes.h"

#include "../indextable.h"

extern bool find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements);
extern bool unnests_elements(IndexDef *def, RangeTblEntry *rte, Index varno);
extern Node *with_elements(Node *node, RangeTblEntry *rte, Index varno, bool *failed);
extern List *equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless);

#endif							/* INDEXTABLE_TOTALS_ELEMENTS_H */
