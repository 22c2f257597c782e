/*-------------------------------------------------------------------------
 *
 * path_order.h
 *	  Tells which of the orders that a query is interested in entries come in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PATH_ORDER_H
#define INDEXTABLE_PATH_ORDER_H

#include "candidate.h"

extern void set_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern Node *sort_expression(Candidate *c, RelOptInfo *rel, PathKey *key, int position);

#endif							/* INDEXTABLE_PATH_ORDER_H */
