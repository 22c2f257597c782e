/*-------------------------------------------------------------------------
 *
 * fetch.h
 *	  Fetches the fact rows that entries name: from here, through the executor, or from
 *	  other servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FETCH_H
#define INDEXTABLE_FETCH_H

#include "access/skey.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/fact_fetch.h"
#include "../indextable.h"

typedef struct Lookup
{
	IndexDef   *def;
	FactDef    *factdef;
	Relation	fact;
	Relation	index_table;
	bool		rows;			/* whole rows, else documents */
	bool		entries_only;	/* neither */
	bool		copies;			/* the index table's copy of the document will
								 * do */
	bool		secured;		/* row security applies to the fact table */
	bool		ambiguous;		/* a primary key may have several rows */
	bool		recheck;		/* whether a row has the key looked up */
	ScanKey		keys;
	int			nkeys;
	struct Tuplestorestate *store;	/* NULL: one document at a time, here: */
	TupleDesc	desc;			/* of the result */
	MemoryContext cxt;
	Datum		document;
	bool		found;
	HTAB	   *seen;			/* primary keys of rows that were returned, or
								 * NULL */
	Snapshot	snapshot;
	Snapshot	latest;			/* the same, if it is ours */
	bool		reading;		/* fetching directly: begun on demand */
	LiveScan	fact_rows;
	struct _SPI_plan *plan;		/* fetching through the executor */
	struct ForeignFetch *gathering; /* fetching from other servers: from the
									 * first such row on */
	bool		gathered;
} Lookup;

extern void lookup_expect(Lookup *l, TupleTableSlot *entry);
extern bool lookup_document(Lookup *l, TupleTableSlot *entry, Datum *document);
extern void lookup_end_documents(Lookup *l);
extern void fetch(Lookup *l, TupleTableSlot *entry);
extern void fetch_pending_rows(Lookup *l);
extern bool is_first_of_row(Lookup *l, TupleTableSlot *entry);

#endif							/* INDEXTABLE_FETCH_H */
