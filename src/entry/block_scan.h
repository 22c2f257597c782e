/*-------------------------------------------------------------------------
 *
 * block_scan.h
 *	  Some blocks of a table, and single entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BLOCK_SCAN_H
#define INDEXTABLE_BLOCK_SCAN_H

#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "storage/buf.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "foreign_scan.h"

typedef struct BlockScan
{
	MemoryContext cxt;			/* that the scans live in */
	Snapshot	snapshot;
	double		percent;		/* of the blocks; 100: all */
	uint32		seed;
	FactDef    *def;			/* of a fact table; NULL: of an index table */
	List	   *rels;			/* OIDs of tables still to be read */
	Relation	rel;			/* NULL: none yet */
	Leaf	   *leaf;
	ForeignRows *foreign;		/* NULL: the table is here */
	TableScanDesc scan;
	TupleTableSlot *slot;
	TupleTableSlot *row;
	BlockSamplerData blocks;
	bool		in_block;
	uint64		nrows;
	Buffer		prefetched;		/* see ask_for_block() */
} BlockScan;

extern void block_scan_begin(BlockScan *scan, FactDef *def, Relation rel, Snapshot snapshot, double percent,
							 uint32 seed);
extern double block_scan_count_blocks(Relation rel, double percent);
extern TupleTableSlot *block_scan_next(BlockScan *scan);
extern void block_scan_end(BlockScan *scan);

#endif							/* INDEXTABLE_BLOCK_SCAN_H */
