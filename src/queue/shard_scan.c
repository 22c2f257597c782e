/*-------------------------------------------------------------------------
 *
 * shard_scan.c
 *	  Finds rows of a distributed fact table in its shards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "../definition/resolve.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "../util/citus_shards.h"
#include "shard_scan.h"

/* A shard that is read by primary key. */
typedef struct ShardScan
{
	ShardPair  *pair;
	LiveScan	live;
	Relation	rel;
} ShardScan;

/*
 * shard_of_key
 *		Returns which of the shards has the row with a primary key, or NULL if none of them does.
 *		Citus distributes rows by the hash by which the type is hashed everywhere else.
 */
ShardPair *
shard_of_key(List *shards, FactDef *def, Datum *key)
{
	int			column = ((ShardPair *) linitial(shards))->column;
	Form_pg_attribute att = TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + column);
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_HASH_PROC_FINFO);
	int32		hash = DatumGetInt32(FunctionCall1Coll(&type->hash_proc_finfo, att->attcollation, key[column]));
	ListCell   *cell;

	foreach(cell, shards)
	{
		ShardPair  *pair = lfirst(cell);

		if (pair->min <= hash && hash <= pair->max)
			return pair;
	}
	return NULL;
}

/*
 * shard_row
 *		Returns the row with a primary key as the snapshot sees it, or NULL if there is none.  It is
 *		valid until the next call.  One of the shards has to be that of the row.
 */
TupleTableSlot *
shard_row(ShardScans *scans, FactDef *def, Snapshot snapshot, Datum *key)
{
	ShardPair  *pair = shard_of_key(scans->shards, def, key);
	ShardScan  *scan = NULL;
	ListCell   *cell;

	if (pair == NULL)
		elog(ERROR, "a key in the queue of table \"%s\" belongs to none of its shards", def->name);
	foreach(cell, scans->open)
	{
		if (((ShardScan *) lfirst(cell))->pair == pair)
			scan = lfirst(cell);
	}
	if (scan == NULL)
	{
		scan = palloc0(sizeof(ShardScan));
		scan->pair = pair;
		scan->rel = relation_open(pair->fact, AccessShareLock);
		live_scan_begin(&scan->live, def, scan->rel, snapshot);
		scans->open = lappend(scans->open, scan);
	}
	return live_scan_first(&scan->live, key);
}

/* end_shard_scans: closes what shard_row() has opened */
void
end_shard_scans(ShardScans *scans)
{
	ListCell   *cell;

	foreach(cell, scans->open)
	{
		ShardScan  *scan = lfirst(cell);

		live_scan_end(&scan->live);
		relation_close(scan->rel, NoLock);
	}
}
