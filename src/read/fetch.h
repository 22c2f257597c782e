/*-------------------------------------------------------------------------
 *
 * fetch.h
 *	  Fetches the fact rows of entries, and returns them or their documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FETCH_H
#define INDEXTABLE_FETCH_H

#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "key_set.h"

/* A look-up in an index table, or a query that reads a page of it. */
typedef struct Lookup
{
	IndexDef   *def;
	FactDef    *factdef;		/* pinned */
	Relation	fact;
	Relation	index_table;
	bool		rows;			/* returns whole rows, else documents */
	bool		entries_only;	/* returns neither */
	bool		copies;			/* returns the documents that the index table
								 * has */
	bool		secured;		/* the executor fetches rows: row security
								 * applies to the fact table, or virtual
								 * columns are returned */
	bool		ambiguous;		/* several rows of one primary key may be seen */
	bool		recheck;		/* a row may not have the key that is looked
								 * up */
	KeySet		keys;			/* the keys that are looked up */
	Snapshot	snapshot;		/* sees the entries and the rows */
	Snapshot	latest;			/* the same one if this look-up has registered
								 * it, else NULL */

	/* The result, or without store one document at a time. */
	struct Tuplestorestate *store;
	TupleDesc	desc;
	MemoryContext cxt;			/* of the document */
	Datum		document;
	bool		found;

	/* Fetching directly. */
	bool		reading;		/* fact_rows has begun */
	LiveScan	fact_rows;

	/* Fetching through the executor. */
	struct _SPI_plan *plan;		/* NULL: not prepared yet */

	/* Fetching from other servers. */
	struct ForeignBatch *gathering; /* NULL: no row on another server yet */
	bool		gathered;		/* lookup_expect() is over: the rows have been
								 * fetched */
} Lookup;

extern void lookup_expect(Lookup *lookup, TupleTableSlot *entry);
extern bool lookup_document(Lookup *lookup, TupleTableSlot *entry, Datum *document);
extern void lookup_end_documents(Lookup *lookup);
extern void lookup_fetch(Lookup *lookup, TupleTableSlot *entry);
extern void fetch_pending_rows(Lookup *lookup);
extern void key_of_entry(IndexDef *def, TupleTableSlot *entry, Datum *key);

/* Rows whose entries were found. */
typedef struct SeenRows SeenRows;

extern SeenRows *seen_rows_begin(IndexDef *def, MemoryContext cxt);
extern bool seen_row(SeenRows *seen, TupleTableSlot *entry);

/* lookup.c: opens the tables, and checks access. */
extern void lookup_open(Lookup *lookup, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *lookup);
extern void lookup_close(Lookup *lookup);

#endif							/* INDEXTABLE_FETCH_H */
