/*-------------------------------------------------------------------------
 *
 * statistics.h
 *	  Offers what is known of the columns of index tables, for expressions over their fact tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_STATISTICS_H
#define INDEXTABLE_STATISTICS_H

#include "access/htup.h"
#include "nodes/pathnodes.h"

#include "../indextable.h"

/* planner_statistics.c: lends the statistics of index tables to queries of their fact tables */
extern void statistics_init(void);

/*
 * statistics_source.c: the columns of index tables whose statistics are those of expressions
 * over a fact table.
 */
extern List *lenders_of(FactDef *fact, Node *expr, Index varno);
extern HeapTuple lent_statistics(List *lenders);

#endif							/* INDEXTABLE_STATISTICS_H */
