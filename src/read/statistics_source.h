/*-------------------------------------------------------------------------
 *
 * statistics_source.h
 *	  Offers the columns of index tables whose statistics are those of expressions over a fact
 *	  table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_STATISTICS_SOURCE_H
#define INDEXTABLE_STATISTICS_SOURCE_H

#include "access/htup.h"
#include "nodes/pg_list.h"

#include "../indextable.h"

extern List *lenders_of(FactDef *fact, Node *expr, Index varno);
extern HeapTuple lent_statistics(List *lenders);
extern double table_rows(Oid relid);

#endif							/* INDEXTABLE_STATISTICS_SOURCE_H */
