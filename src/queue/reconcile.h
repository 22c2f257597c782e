/*-------------------------------------------------------------------------
 *
 * reconcile.h
 *	  Finds what has to be written for the entries of rows to be what they should be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RECONCILE_H
#define INDEXTABLE_RECONCILE_H

#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/document.h"
#include "../entry/entries.h"
#include "../indextable.h"

/* A row that is rejected by an index table. */
typedef struct RejectedRow
{
	int			defno;			/* of the index table in def->defs */
	Datum	   *key;
	Rejection	why;
	bool		retry;			/* is tried again after a while, even if the
								 * row does not change */
} RejectedRow;

/* Rows, given by their primary keys, and what has to be written for them. */
typedef struct Reconciliation
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;		/* the rows are read as it sees them */
	int			from;			/* the index tables are defs[from] ... */
	int			to;				/* ... to defs[to - 1] */
	bool		withhold;		/* the rows are to have no entries */
	Datum	   *keys;			/* n * npk, in the order of the primary key */
	ItemPointerData *tids;		/* where the rows are, or NULL if that is not
								 * known */
	Relation	part;			/* with tids: the table that they are in,
								 * which is the fact table or one of its
								 * partitions */
	/* The table with the row of a key; NULL: that of its partition. */
	Oid			(*leaf_of) (void *reconciliation, Datum *key);
	void	   *leaves;			/* for leaf_of() */
	bool		fresh;			/* the rows have no entries yet */
	int			n;				/* rows */
	OpList	   *lists;			/* result: what to write, by defno - from */
	List	   *rejected;		/* result: of RejectedRow * */
} Reconciliation;

extern void reconcile_rows(Reconciliation *r);
extern bool have_no_entries(Reconciliation *r, int defno);

#endif							/* INDEXTABLE_RECONCILE_H */
