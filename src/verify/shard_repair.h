/*-------------------------------------------------------------------------
 *
 * shard_repair.h
 *	  Mends the entries of a distributed fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_REPAIR_H
#define INDEXTABLE_SHARD_REPAIR_H

extern void repair_shards(Oid index_table, bool commit, int64 *missing, int64 *dangling, int64 *stale,
						  int64 *remaining);

#endif							/* INDEXTABLE_SHARD_REPAIR_H */
