/*-------------------------------------------------------------------------
 *
 * entry_scan.h
 *	  Reads entries of an index table by its key, or by the primary key of their fact
 *	  row, in either direction, and from the index alone where that has what is wanted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRY_SCAN_H
#define INDEXTABLE_ENTRY_SCAN_H

#include "access/genam.h"
#include "access/skey.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "partitioning/partdefs.h"
#include "storage/buf.h"
#include "utils/hsearch.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "key_walk.h"

/* A scan of one table: of an index table, or of one of its partitions. */
typedef struct PartitionScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	KeySearch	search;			/* its index is NULL: it has not begun */
	bool		index_only;		/* entries are made of index tuples, ... */
	bool		in_place;		/* ... whose columns are the first of the
								 * table */
	TupleTableSlot *slot;		/* the entry */
	TupleTableSlot *stored;		/* the stored one: the same, or with
								 * index_only NULL until a table has to be
								 * read */
	Buffer		vm_buffer;		/* a page of the visibility map, if index_only */
} PartitionScan;

/* What else entries must fulfil; only for searches that other servers run, which return fewer then. */
typedef struct EntryFilter
{
	const char *prefix;			/* the text of column prefix_attno begins with
								 * it; NULL: any */
	AttrNumber	prefix_attno;
	int			limit;			/* no more entries are asked for; 0: all */
	AttrNumber	hash_attno;		/* the hash of this column is from hash_min to
								 * hash_max; 0: any */
	int32		hash_min;
	int32		hash_max;
} EntryFilter;

/* A scan of an index table. */
typedef struct EntryScan
{
	IndexDef   *def;
	Relation	rel;			/* the index table */
	Snapshot	snapshot;
	bool		by_row;			/* by the index on the fact row's primary key */
	bool		counted;		/* its reads are counted in the statistics of
								 * the index; false unless the caller sets it */
	bool		backward;		/* entries come in descending order; false
								 * unless the caller sets it before it starts */
	bool		in_order;		/* with by_row: many rows are searched for,
								 * mostly in the order of their primary keys,
								 * which last as long as the scan; false
								 * unless the caller sets it before it starts */
	bool		index_only;		/* only the columns in wanted are, so that an
								 * index that has them is enough */
	Bitmapset  *wanted;
	ParallelIndexScanDesc parallel; /* shared with other processes, of which
									 * each reads some of the entries; NULL
									 * unless the caller sets it before it
									 * starts, only if the index table is not
									 * partitioned */
	EntryFilter filter;
	int			nkeys;
	ScanKey		keys;
	uint64		entries;		/* so many were returned */
	uint64		heap_fetches;	/* so often a table was read for them */
	MemoryContext cxt;			/* that the scans live in */
	void	   *search;			/* what the store of the entries has begun, or
								 * NULL */
	PartitionScan only;			/* if the index table is not partitioned */
	HTAB	   *partition_scans;	/* of PartitionScan; NULL: not partitioned */
	PartitionScan *current;		/* the one that the last entry is of */
	PartitionDesc remaining;	/* partitions to be read one by one, or NULL */
	int			next;			/* the first of them that is still to be read */
	bool		merging;		/* the entries of all partitions are merged */
	struct binaryheap *heap;	/* of PartitionScan: those that are merged */
} EntryScan;

/* A search for entries by their identity. */
typedef struct Probe
{
	IndexDef   *def;
	EntryScan	scan;
	ScanKey		keys;
} Probe;

extern void entry_scan_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot,
							 bool by_row, int nkeys);
extern void entry_scan_want(EntryScan *scan, Bitmapset *columns);
extern void entry_scan_start(EntryScan *scan, ScanKey keys);
extern TupleTableSlot *entry_scan_next(EntryScan *scan);
extern void entry_scan_end(EntryScan *scan);
extern void probe_begin(Probe *probe, IndexDef *def, Relation index_table, Snapshot snapshot);
extern TupleTableSlot *probe_entry(Probe *probe, Datum *values);
extern void probe_end(Probe *probe);

#endif							/* INDEXTABLE_ENTRY_SCAN_H */
