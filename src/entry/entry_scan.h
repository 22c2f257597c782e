/*-------------------------------------------------------------------------
 *
 * entry_scan.h
 *	  Reads entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRY_SCAN_H
#define INDEXTABLE_ENTRY_SCAN_H

#include "access/genam.h"
#include "access/skey.h"
#include "executor/tuptable.h"
#include "partitioning/partdefs.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* A scan of one table. */
typedef struct PartScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
} PartScan;

typedef struct EntryScan
{
	IndexDef   *def;
	Relation	rel;			/* the index table */
	Snapshot	snapshot;
	bool		by_row;
	bool		counted;		/* as a read, for users; see usage.h */
	int			nkeys;
	ScanKey		keys;
	MemoryContext cxt;			/* that the scans live in */
	PartScan	only;			/* of an index table that is not partitioned */
	HTAB	   *parts;			/* of PartScan: those of a partitioned one, as
								 * needed */
	PartScan   *current;		/* that gave the last entry */
	PartitionDesc waiting;		/* of which others come after it, or NULL */
	int			next;			/* the first of them */
	struct binaryheap *heap;	/* of those that are merged, or NULL */
} EntryScan;

typedef struct Probe
{
	IndexDef   *def;
	EntryScan	scan;
	ScanKey		keys;
} Probe;

extern void entry_scan_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot,
							 bool by_row, int nkeys);
extern void entry_scan_start(EntryScan *scan, ScanKey keys);
extern TupleTableSlot *entry_scan_next(EntryScan *scan);
extern void entry_scan_end(EntryScan *scan);
extern void probe_begin(Probe *probe, IndexDef *def, Relation index_table, Snapshot snapshot);
extern TupleTableSlot *probe_entry(Probe *probe, Datum *values);
extern void probe_end(Probe *probe);

#endif							/* INDEXTABLE_ENTRY_SCAN_H */
