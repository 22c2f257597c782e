/*-------------------------------------------------------------------------
 *
 * reconcile.h
 *	  What index tables need to be in step with live rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RECONCILE_H
#define INDEXTABLE_RECONCILE_H

#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/diff.h"
#include "../entry/document.h"
#include "../indextable.h"

/* A row that is rejected by an index table. */
typedef struct RejectedRow
{
	int			defno;
	Datum	   *key;
	Rejection	why;
	bool		retry;			/* after a while, whether the row changes or
								 * not */
} RejectedRow;

/* Rows, by primary key, and what their entries need. */
typedef struct Reconciliation
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;		/* the rows as this one sees them */
	int			from;			/* for the index tables defs[from] ... */
	int			to;				/* ... to defs[to - 1] */
	bool		withhold;		/* the rows are to have no entries */
	Datum	   *keys;			/* n * npk, in order */
	ItemPointerData *tids;		/* the rows, if known; else NULL, ... */
	Relation	part;			/* ... in this table: the fact table, or one
								 * partition */
	bool		fresh;			/* they have no entries yet */
	int			n;
	OpList	   *lists;			/* by defno - from */
	List	   *rejected;		/* of RejectedRow * */
} Reconciliation;

extern void reconcile_rows(Reconciliation *r);
extern bool have_no_entries(Reconciliation *r, int defno);

#endif							/* INDEXTABLE_RECONCILE_H */
