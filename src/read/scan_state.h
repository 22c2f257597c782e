/*-------------------------------------------------------------------------
 *
 * scan_state.h
 *	  Describes a scan of an index table that is executed, and offers its parts to each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_STATE_H
#define INDEXTABLE_SCAN_STATE_H

#include "executor/execdesc.h"
#include "utils/tuplestore.h"

#include "../entry/entry_scan.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "scan_plan.h"

/* A scan of an index table. */
typedef struct IndexTableScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	ScanPlan	plan;
	List	   *values;			/* of ExprState *, by custom_exprs */
	Relation	fact_table;
	FactDef    *fact;			/* pinned, or NULL */
	IndexDef   *def;			/* NULL: entries cannot answer */
	Relation	index_table;
	CommandId	begun_at;		/* the command id of the start */
	bool		in_step;		/* the snapshot sees the entries of just the
								 * rows that it sees */
	bool		complete;		/* no row that matters lacks its entry */
	const char *why;			/* entries could not answer some search, or
								 * NULL */
	TupleTableSlot *entry;		/* of a part of an AND: where it is, or NULL */

	/* The search. */
	MemoryContext cxt;			/* of the values of the search keys */
	bool		begun;			/* entries is valid */
	EntryScan	entries;
	bool		fetching;		/* rows is valid */
	LiveScan	rows;
	ScanKeyData *keys;
	int			array_key;		/* which key has one of several values, or -1 */
	Datum	   *elements;		/* its values, in the order of the scan */
	int			nelements;
	int			next_element;
	struct LooseScan *loose;	/* reads ends of groups only, or NULL */
	struct SeenRows *seen;		/* whose entries were found, or NULL */
	struct PartialRow *partial; /* makes rows of entries, or NULL */
	int			last_column;	/* of the fact row that is needed */

	/* Of the search since the last rescan. */
	bool		started;
	bool		nothing;		/* a value is NULL */
	QueryDesc  *fallback;		/* answers instead, or NULL, */
	MemoryContext fallback_cxt; /* and has this; */
	PlannedStmt *fallback_plan; /* its plan, or NULL */
	bool		fell_back;		/* a fallback has ended */

	/* For a cursor that goes back; see scan_kept.c. */
	Tuplestorestate *kept;		/* rows that were found since the last rescan;
								 * NULL: none are kept */
	bool		all_kept;		/* there are no more */
	TupleTableSlot *kept_slot;

	/* With parallel workers; see scan_keys.c. */
	struct SharedScan *shared;	/* in shared memory, or NULL */
	Size		shared_size;	/* of the memory that was asked for; 0: none
								 * to share a scan */

	/* For EXPLAIN ANALYZE. */
	uint64		ended_entries;	/* what was read by parts of it that have
								 * ended, as in EntryScan */
	uint64		ended_heap_fetches;
	uint64		searches;
	uint64		rows_fetched;
} IndexTableScan;

/* scan_node.c: entries of a search, and rows. */
extern const char *start_entries(IndexTableScan *scan);
extern TupleTableSlot *next_entry(IndexTableScan *scan);
extern TupleTableSlot *find_row(IndexTableScan *scan);

/* scan_and.c: only entries whose rows other index tables find, too. */
extern void and_begin(IndexTableScan *scan, EState *estate, int eflags);
extern const char *and_start(IndexTableScan *scan);
extern bool and_contains(IndexTableScan *scan, TupleTableSlot *entry);
extern TupleTableSlot *entry_of_part(IndexTableScan *scan, TupleTableSlot *entry, int part);
extern void and_restart(IndexTableScan *scan);
extern void and_end(IndexTableScan *scan);

/* scan_kept.c: rows that are kept for a cursor that goes back. */
extern void keep_begin(IndexTableScan *scan);
extern TupleTableSlot *keep_next(IndexTableScan *scan);
extern void keep_restart(IndexTableScan *scan);
extern void keep_end(IndexTableScan *scan);

/* scan_keys.c: the search keys, and what a leader and parallel workers share. */
extern void make_keys(IndexTableScan *scan);
extern const char *set_keys(IndexTableScan *scan);
extern void search_whole_array(IndexTableScan *scan);
extern Size shared_scan_size(IndexTableScan *scan, bool shared);
extern bool share_scan(IndexTableScan *scan, struct SharedScan *shared);
extern void join_scan(IndexTableScan *scan, struct SharedScan *shared);
extern void set_shared_keys(IndexTableScan *scan);
extern ParallelIndexScanDesc shared_index_scan(IndexTableScan *scan);
extern void stop_sharing(IndexTableScan *scan);

/* scan_loose.c: only the ends of groups of entries. */
extern int	nkeys_of_scan(IndexTableScan *scan);
extern void loose_start(IndexTableScan *scan);
extern TupleTableSlot *loose_next(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_STATE_H */
