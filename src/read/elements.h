/*-------------------------------------------------------------------------
 *
 * elements.h
 *	  Offers conditions on elements of arrays as conditions on documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ELEMENTS_H
#define INDEXTABLE_ELEMENTS_H

#include "nodes/pathnodes.h"

extern List *subplan_clauses(PlannerInfo *root, SubPlan *subplan, Node *compared);
extern Node *with_elements(Node *node, List *rtable, Index varno, bool *failed);
extern Node *with_any_element(Node *clause, bool *may_be_member);
extern Node *column_of_function(RangeTblEntry *rte, AttrNumber attno);
extern Node *whole_array_of(Node *arg);
extern List *lateral_clauses(PlannerInfo *root, Index varno);

#endif							/* INDEXTABLE_ELEMENTS_H */
