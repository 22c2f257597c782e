/*-------------------------------------------------------------------------
 *
 * discrepancy.h
 *	  The discrepancies between a fact table and an index table, as verify() reports
 *	  them to its callers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISCREPANCY_H
#define INDEXTABLE_DISCREPANCY_H

#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "../indextable.h"

/* The columns of the result of verify(). */
enum
{
	VERIFY_KIND,
	VERIFY_KEY,
	VERIFY_PRIMARY_KEY,
	VERIFY_EXPECTED,
	VERIFY_FOUND,
	VERIFY_PROBLEM,
	VERIFY_COLUMNS
};

/*
 * A discrepancy is about one entry, about a row that cannot have its entries, or
 * about the setup of the index table.  For the latter two, expected and found are
 * NULL.
 */
typedef struct Discrepancy
{
	const char *kind;			/* missing, dangling, stale, rejected, setup */
	IndexDef   *def;
	TupleTableSlot *expected;	/* the entry that should be there, or NULL */
	TupleTableSlot *found;		/* the entry that is there, or NULL */
	TupleTableSlot *row;		/* the fact row that cannot have its entries,
								 * or NULL */
	const char *problem;		/* text for the user, or NULL */
	Datum	   *columns;		/* found on another node: the result of
								 * verify() there; then there is no slot */
	bool	   *isnull;
	uint32		lacking;		/* what is not recorded of rows that lack
								 * entries; see catalog/completeness.c */
} Discrepancy;

typedef void (*discrepancy_handler) (Discrepancy *discrepancy, void *arg);

extern Jsonb *discrepancy_key(Discrepancy *discrepancy);

#endif							/* INDEXTABLE_DISCREPANCY_H */
