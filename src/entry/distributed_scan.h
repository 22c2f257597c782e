/*-------------------------------------------------------------------------
 *
 * distributed_scan.h
 *	  Reads entries of an index table that Citus has distributed, by SQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_SCAN_H
#define INDEXTABLE_DISTRIBUTED_SCAN_H

#include "access/skey.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* What else is left to the nodes that have the shards of a distributed index table. */
typedef struct DistributedFilter
{
	const char *prefix;			/* the text of column prefix_attno begins with
								 * it; NULL: any */
	AttrNumber	prefix_attno;
	int			limit;			/* no more entries are asked for; 0: all */
	AttrNumber	hash_attno;		/* the hash of this column is from hash_min to
								 * hash_max; 0: any */
	int32		hash_min;
	int32		hash_max;
} DistributedFilter;

/* A search of such an index table. */
typedef struct DistributedSearch
{
	IndexDef   *def;
	Snapshot	snapshot;		/* for shards on this node */
	bool		by_row;			/* by the primary key of the fact row, in no
								 * order */
	bool		backward;
	Bitmapset  *wanted;			/* the columns of entries that are wanted */
	bool		all_columns;	/* all are */
	DistributedFilter filter;
	int			nkeys;
	ScanKey		keys;			/* whose columns are those of the index that
								 * is searched */
} DistributedSearch;

typedef struct DistributedScan DistributedScan;

extern DistributedScan *distributed_scan_start(DistributedSearch *search);
extern TupleTableSlot *distributed_scan_next(DistributedScan *scan);
extern void distributed_scan_end(DistributedScan *scan);

#endif							/* INDEXTABLE_DISTRIBUTED_SCAN_H */
