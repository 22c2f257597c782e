/*-------------------------------------------------------------------------
 *
 * block_scan.h
 *	  Reads the rows of a table and its partitions, or of a sample of their blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BLOCK_SCAN_H
#define INDEXTABLE_BLOCK_SCAN_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "storage/buf.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* One reading of a table and its partitions that several processes share; it is in shared memory. */
typedef struct SharedBlockScan
{
	int			ntables;
	struct
	{
		Oid			relid;
		Size		at;			/* where its ParallelTableScanDesc begins */
	}			tables[FLEXIBLE_ARRAY_MEMBER];
} SharedBlockScan;

typedef struct BlockScan
{
	MemoryContext cxt;			/* that the scans live in */
	Snapshot	snapshot;
	double		percent;		/* how many of the blocks are read; 100: all */
	uint32		seed;			/* which ones */
	FactDef    *def;			/* NULL: an index table is read */
	List	   *rels;			/* OIDs of the tables that are still to be
								 * read */
	SharedBlockScan *shared;	/* NULL: this process reads all of it */
	int			ntable;			/* which of shared->tables is read next */
	Relation	rel;			/* the table that is being read; NULL: none */
	Leaf	   *leaf;
	void	   *foreign;		/* its rows, if it is no table of this server */
	double		foreign_limit;	/* so many rows of each such partition are
								 * read; 0: all, of which percent is chosen */
	double		foreign_read;	/* rows of the current one that were read */
	double		foreign_rows;	/* rows of those that were read with a limit,
								 * all of them, and those that were read */
	double		foreign_sampled;
	TableScanDesc scan;
	TupleTableSlot *slot;		/* the row as it is stored */
	TupleTableSlot *row;		/* the row with the columns of the fact table,
								 * if those of a partition differ */
	BlockSamplerData blocks;
	bool		in_block;		/* there may be more rows in the last block */
	uint64		nrows;
	Buffer		prefetched;		/* the last block that prefetch_block() has
								 * fetched */
} BlockScan;

extern void block_scan_begin(BlockScan *scan, FactDef *def, Relation rel, Snapshot snapshot, double percent,
							 uint32 seed);
extern void block_scan_begin_in(BlockScan *scan, List *tables, Snapshot snapshot);
extern Size shared_block_scan_init(SharedBlockScan *shared, Relation rel, Snapshot snapshot);
extern void block_scan_join(BlockScan *scan, SharedBlockScan *shared);
extern double block_scan_count_blocks(Relation rel, double percent);
extern TupleTableSlot *block_scan_next(BlockScan *scan);
extern void block_scan_end(BlockScan *scan);

#endif							/* INDEXTABLE_BLOCK_SCAN_H */
