/*-------------------------------------------------------------------------
 *
 * fact_fetch.h
 *	  The live version of a fact row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_FETCH_H
#define INDEXTABLE_FACT_FETCH_H

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "document.h"

/* A scan of one table by its primary key. */
typedef struct LeafScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	Leaf	   *leaf;
	Relation	index;
	IndexScanDesc scan;
	List	   *rows;			/* foreign: what is left of those found, */
	struct ForeignFetch *fetched;	/* and rows of keys that are known
									 * beforehand, or NULL */
	TupleTableSlot *stored;		/* the row as it is stored, */
	TupleTableSlot *slot;		/* and as the fact table has it: the same if
								 * they agree */
} LeafScan;

typedef struct LiveScan
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;
	MemoryContext cxt;			/* that the scans live in */
	LeafScan	only;			/* of a table that is not partitioned */
	HTAB	   *leaves;			/* of LeafScan: those of a partitioned one, as
								 * needed */
	LeafScan   *current;
	MemoryContext fetched_cxt;	/* of rows of keys that are known beforehand,
								 * or NULL */
	bool		as_writer;		/* foreign rows as the current user has
								 * written them, not as their owner */
	LOCKMODE	lock;			/* of partitions */
	ScanKey		keys;
} LiveScan;

/* A condition on several columns of an index together. */
typedef struct RowComparison
{
	ScanKeyData header;
	ScanKeyData members[INDEX_MAX_KEYS];
} RowComparison;

extern void row_comparison(RowComparison *key, Relation index, int n, StrategyNumber strategy,
						   Datum *bounds);
extern bool row_is_live(Relation fact, TupleTableSlot *slot);
extern void live_scan_begin(LiveScan *scan, FactDef *def, Relation fact, Snapshot snapshot);
extern bool live_scan_is_foreign(LiveScan *scan, Datum *key);
extern void live_scan_prefetch_foreign(LiveScan *scan, Datum **keys, int n);
extern TupleTableSlot *live_scan_first(LiveScan *scan, Datum *key);
extern TupleTableSlot *live_scan_next(LiveScan *scan);
extern TupleTableSlot *live_scan_row(LiveScan *scan);
extern void live_scan_end(LiveScan *scan);
extern void visit_live_rows(FactDef *def, Relation fact, TupleTableSlot *row,
							void (*each) (FactRow *row, void *arg), void *arg);

#endif							/* INDEXTABLE_FACT_FETCH_H */
