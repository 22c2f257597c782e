/*-------------------------------------------------------------------------
 *
 * foreign_plan.h
 *	  Asks several partitions on other servers for rows by their primary keys, at the same
 *	  time, with plans that are kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_PLAN_H
#define INDEXTABLE_FOREIGN_PLAN_H

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

#include "../indextable.h"

/* The primary keys that a partition is asked for. */
typedef struct PartitionKeys
{
	Oid			relid;
	Datum	   *keys;			/* n * npk */
	int			n;
} PartitionKeys;

extern bool foreign_plan_fits(FactDef *def, PartitionKeys *parts, int nparts);
extern void foreign_plan_fetch(FactDef *def, Bitmapset *columns, PartitionKeys *parts, int nparts,
							   void (*each) (TupleTableSlot *row, void *arg), void *arg);

#endif							/* INDEXTABLE_FOREIGN_PLAN_H */
