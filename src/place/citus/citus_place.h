/*-------------------------------------------------------------------------
 *
 * citus_place.h
 *	  The rows, the queue and the entries of fact tables that Citus has distributed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CITUS_PLACE_H
#define INDEXTABLE_CITUS_PLACE_H

#include "../../catalog/fact_rows.h"
#include "../../entry/diff.h"
#include "../../entry/entries.h"
#include "../../entry/entry_scan.h"
#include "../../indextable.h"
#include "../../queue/backlog.h"
#include "../../queue/drain.h"
#include "../../util/citus.h"
#include "../place.h"

/* entries */
extern void *distributed_scan_start(EntryScan *search);
extern TupleTableSlot *distributed_scan_next(void *search);
extern void distributed_scan_end(void *search);
extern void *fetch_distributed_entries(IndexDef *def, Datum *keys, int n);
extern void find_fetched_entries(void *all, Datum *key, Entries *entries);
extern void apply_distributed_ops(IndexDef *def, OpList *list);

/* the queue */
extern void distribute_queue(FactDef *def, Oid queue);
extern void queue_all_rows(Oid fact, int64 number);
extern void shard_find_queue(FactDef *def, Leaf *shard);
extern int64 next_queue_number(void);
extern bool shard_append(FactDef *def, Oid queue, HeapTuple *rows, int n);
extern bool count_distributed_queue(FactTableRow *queue, QueueCount *count);
extern bool wait_for_distributed_queue(FactTableRow *queue, int64 max_lag, TimestampTz until);

/* drains */
extern ShardPair *shard_of_key(List *shards, FactDef *def, Datum *key);
extern bool shard_drain_begin(Drain *drain);
extern void shard_drain_take(Drain *drain);
extern void drain_all_nodes(Oid fact_table, DrainCall *call);
extern void wait_for_prepared(FactDef *def, bool all_nodes);
extern List *prepared_transactions(FactDef *def, bool all_nodes);

/* triggers, and what they tell other nodes */
extern int64 guard_number(Oid index_table);
extern FactDef *shard_definition(Relation shard);
extern void distributed_install_fact(Oid fact, const char *trigger, const char *event, const char *level);
extern void install_guard_with(Oid index_table, int64 number);
extern void distributed_install_guard(Oid index_table);
extern void distributed_renew_guard(Oid index_table);
extern void adopt_distributed(void);

#endif							/* INDEXTABLE_CITUS_PLACE_H */
