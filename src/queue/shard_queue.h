/*-------------------------------------------------------------------------
 *
 * shard_queue.h
 *	  Appends to the queue of a shard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_QUEUE_H
#define INDEXTABLE_SHARD_QUEUE_H

#include "access/htup.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "../util/citus.h"

extern void shard_find_queue(FactDef *def, Leaf *shard);
extern int64 next_queue_number(void);
extern void shard_append(Relation queue, HeapTuple *tuples, int n);

/* Scans of shards by primary key. */
typedef struct ShardScans
{
	List	   *shards;			/* of ShardPair *, those that may be read */
	List	   *open;			/* those that have been */
} ShardScans;

extern ShardPair *shard_of_key(List *shards, FactDef *def, Datum *key);
extern TupleTableSlot *shard_row(ShardScans *scans, FactDef *def, Snapshot snapshot, Datum *key);
extern void end_shard_scans(ShardScans *scans);

#endif							/* INDEXTABLE_SHARD_QUEUE_H */
