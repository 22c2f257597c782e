/*-------------------------------------------------------------------------
 *
 * discrepancy.h
 *	  What verify() finds, as its callers are told.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISCREPANCY_H
#define INDEXTABLE_DISCREPANCY_H

#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "../indextable.h"

/*
 * A discrepancy: of the entry that should be there and the one that is, one is
 * NULL or both are different; for a row that cannot have its entries, both are
 * NULL, and key is the row's.  problem is text for the user, or NULL.
 */
typedef struct Discrepancy
{
	const char *kind;
	IndexDef   *def;
	TupleTableSlot *expected;
	TupleTableSlot *found;
	TupleTableSlot *row;
	const char *problem;
} Discrepancy;

typedef void (*discrepancy_handler) (Discrepancy *discrepancy, void *arg);

extern Jsonb *discrepancy_key(Discrepancy *discrepancy);

#endif							/* INDEXTABLE_DISCREPANCY_H */
