/*-------------------------------------------------------------------------
 *
 * feed_drain.c
 *	  Takes queued changes from the feeds of other servers and applies them, a batch of a
 *	  server at a time.
 *
 * Why the entries of foreign partitions converge.  A drain takes changes from the feeds of
 * a server, which consumes nothing; then it waits for the drain lock, and under the lock
 * it reads the rows.  The server takes its snapshot for that when it is first read from,
 * and this transaction has not read from it before: so each row is as its change has left
 * it, or newer.  The lock is held until the commit, so whoever drains later reads rows
 * that are no older than these.  A change that is committed over there after the snapshot
 * is still in the feed, as only what was taken before is acknowledged.
 *
 * The primary key of a row tells which partition it is in.  A row that is moved from one
 * server to another changes its primary key, and has both keys queued, each where it was
 * written.  They may be applied in any order, and in between the row is found under
 * neither key or under both, as in a query of the fact table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "../../definition/cache.h"
#include "../../indextable.h"
#include "../../maintain/partition_entries.h"
#include "../../queue/batch_keys.h"
#include "../../queue/drain.h"
#include "../../util/inherit.h"
#include "../../util/settings.h"
#include "../../util/wait_point.h"
#include "../place.h"
#include "feed_client.h"
#include "feed_drain.h"
#include "foreign_snapshot.h"

static bool begin_batch(Drain *drain);
static void take_batch(Drain *drain);
static void end_batch(Drain *drain);

/*
 * feed_take_unlocked
 *		Takes a batch of changes from the feeds of a server, and counts what is there if so
 *		asked.  Returns false if the table does not exist any more.
 *
 * No drain lock is needed yet, and a server that does not answer should not keep others
 * from draining.  The fact table stays locked, so that its primary key stays the same.
 */
bool
feed_take_unlocked(Oid fact_table, FeedBatch *batch, bool count)
{
	Relation	fact;
	FactDef    *def;

	check_servers_unused(fact_table, "drain()");
	fact = try_relation_open(fact_table, AccessShareLock);
	if (fact == NULL)
		return false;
	def = definition_of_fact(fact, fact_table);
	definition_hold(def, CurrentMemoryContext);
	if (def->queue_desc != NULL)
		feed_take(def, batch);
	batch->backlog = batch->n;
	if (count && batch->n >= batch->limit)
		feed_count(def, batch);
	relation_close(fact, NoLock);
	return true;
}

/*
 * feed_apply
 *		Applies changes that were taken from feeds.  Returns false if another session drains
 *		the queue of the fact table and lock is DRAIN_TRY.
 */
bool
feed_apply(Oid fact_table, DrainLock lock, FeedBatch *batch)
{
	static const ChangeSource feeds = {.begin = begin_batch,.take = take_batch,.end = end_batch};
	Drain		drain = {.source = &feeds,.arg = batch,.limit = setting_batch_size};

	return batch->n == 0 || drain_from(fact_table, lock, &drain);
}

/* begin_batch: takes the snapshot with which a batch is applied */
static bool
begin_batch(Drain *drain)
{
	drain->rows.snapshot = tree_snapshot(drain->rows.fact);
	return true;
}

/* take_batch: sorts the keys of a batch, and queues here all rows of partitions any of whose rows may have changed */
static void
take_batch(Drain *drain)
{
	FeedBatch  *batch = drain->arg;
	Reconciliation *r = &drain->rows;
	ListCell   *cell;

	wait_point("a feed is drained");
	r->keys = batch->keys;
	r->n = sort_keys(r->def, batch->keys, batch->nkeys);
	foreach(cell, batch->whole)
	{
		if (list_member_oid(foreign_leaves(r->def->relid), lfirst_oid(cell)))
			queue_rows_of_partition(r->def, lfirst_oid(cell));
	}
}

/* end_batch: has a batch acknowledged once it is committed */
static void
end_batch(Drain *drain)
{
	feed_note_applied(drain->arg);
}
