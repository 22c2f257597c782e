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
	VERIFY_SHARD_COLUMNS,		/* verify_shard() returns no more */
	VERIFY_IN_TABLE = VERIFY_SHARD_COLUMNS,
	VERIFY_COLUMNS
};

typedef enum DiscrepancyKind
{
	KIND_MISSING,
	KIND_DANGLING,
	KIND_STALE,
	KIND_REJECTED,
	KIND_SETUP,
	KINDS
} DiscrepancyKind;

/*
 * A discrepancy is about one entry, about a row that cannot have its entries, or
 * about the setup of the index table.  For the latter two, expected and found are
 * NULL.
 */
typedef struct Discrepancy
{
	DiscrepancyKind kind;
	IndexDef   *def;			/* NULL: it cannot be loaded */
	TupleTableSlot *expected;	/* the entry that should be there, or NULL */
	TupleTableSlot *found;		/* the entry that is there, or NULL */
	TupleTableSlot *row;		/* the fact row that cannot have its entries,
								 * or NULL */
	const char *problem;		/* text for the user, or NULL */
	bool		by_hand;		/* of the setup: repair() does not mend it,
								 * and the text says what to do */
	Datum	   *columns;		/* found on another node: the result of
								 * verify() there; then there is no slot */
	bool	   *isnull;
	uint32		lacking;		/* what is not recorded of rows that lack
								 * entries; see catalog/completeness.c */
} Discrepancy;

typedef void (*discrepancy_handler) (Discrepancy *discrepancy, void *arg);

/* To which result discrepancies are added, and of which index table they are. */
typedef struct VerifyResult
{
	ReturnSetInfo *rsinfo;
	Oid			index_table;
} VerifyResult;

extern DiscrepancyKind discrepancy_kind(const char *name);
extern void verify_require_owner(Oid relid);
extern void put_discrepancy(Discrepancy *d, void *arg);
extern void report_problem(IndexDef *def, const char *problem, bool by_hand, discrepancy_handler handler, void *arg);
extern char *problem_to_repair(const char *problem, Oid index_table);

#endif							/* INDEXTABLE_DISCREPANCY_H */
