/*-------------------------------------------------------------------------
 *
 * implied.h
 *	  Offers the comparisons of an index table's columns that follow from a condition.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_IMPLIED_H
#define INDEXTABLE_IMPLIED_H

#include "search_condition.h"

extern List *implied_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Relation fact, Index varno, bool *unknown);
extern List *implied_by_elements(PlannerInfo *root, IndexDef *def, List *clauses, Relation fact, Index varno, bool *unknown);

#endif							/* INDEXTABLE_IMPLIED_H */
