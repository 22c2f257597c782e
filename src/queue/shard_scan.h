/*-------------------------------------------------------------------------
 *
 * shard_scan.h
 *	  Finds rows of a distributed fact table in its shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_SCAN_H
#define INDEXTABLE_SHARD_SCAN_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "../util/citus_shards.h"

/* Scans of shards by primary key. */
typedef struct ShardScans
{
	List	   *shards;			/* of ShardPair *, those that may be read */
	List	   *open;			/* those that have been */
} ShardScans;

extern ShardPair *shard_of_key(List *shards, FactDef *def, Datum *key);
extern TupleTableSlot *shard_row(ShardScans *scans, FactDef *def, Snapshot snapshot, Datum *key);
extern void end_shard_scans(ShardScans *scans);

#endif							/* INDEXTABLE_SHARD_SCAN_H */
