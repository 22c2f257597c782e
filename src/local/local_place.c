/*-------------------------------------------------------------------------
 *
 * local_place.c
 *	  The methods of the place whose rows, queue and entries are on this server, or which are read
 *	  through foreign partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../apply/apply.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sleep.h"
#include "local.h"

/* A search for a change that is still queued. */
typedef struct QueueSearch
{
	TimestampTz before;			/* only changes that were made until then
								 * count */
	bool		found;
	bool		own;			/* the change was made by this transaction */
} QueueSearch;

static bool begin_batch(Drain *drain);
static void take_batch(Drain *drain);
static void end_batch(Drain *drain);
static bool wait_here(FactTableRow *queue, int64 max_lag, TimestampTz until);
static bool find_change(HeapTuple tuple, void *arg);
static void check_servers(Oid fact_table);
static void apply(IndexDef *def, OpList *list);

static const ChangeSource changes = {
	.begin = begin_batch,
	.take = take_batch,
	.end = end_batch,
	.drain_all = drain_local_queue,
	.check_wait = check_servers,
	.wait = wait_here,
	.count = count_queue,
	.ntables = 2,
	.made = queue_belongs_to,
	.append = queue_append
};

static const EntryStore entries = {.apply = apply};

static const TriggerMethods triggers = {0};

static const IndexTableMethods index_tables = {0};

static const Place local_place = {
	.changes = &changes,
	.entries = &entries,
	.triggers = &triggers,
	.index_tables = &index_tables
};

void
local_init(void)
{
	place_register(&local_place);
}

/*
 * begin_batch
 *		Queues rejected rows that are due, and takes the snapshot with which keys and rows are
 *		read.
 */
static bool
begin_batch(Drain *drain)
{
	Reconciliation *r = &drain->rows;
	FactDef    *def = r->def;
	DrainPosition *position = drain->arg;

	for (int i = def->nsync; i < def->ndefs && position->retry_rejected; i++)
		rejections_retry_now(def->defs[i]->relid, false);
	foreach_ptr(Datum, key, rejections_due(def))
		queue_collect_key(def, NULL, key);
	queue_write();
	/* Only a later command sees the keys that this transaction has queued. */
	CommandCounterIncrement();

	/*
	 * This has the partitions cached that the snapshot sees, too.  The rows
	 * of a partition that was not known would not be found, and their keys
	 * would be consumed.
	 */
	if (position->reading == NULL)
	{
		r->snapshot = tree_snapshot(r->fact);
		if (!OidIsValid(def->layout.pk_index))
			position->reading = RegisterSnapshot(r->snapshot);
	}
	else
	{
		position->reading->curcid = GetCurrentCommandId(false);
		r->snapshot = RegisterSnapshot(position->reading);
	}
	return true;
}

/* take_batch: reads keys from the queue, and deletes them */
static void
take_batch(Drain *drain)
{
	Reconciliation *r = &drain->rows;
	DrainPosition *position = drain->arg;
	Keys		keys = {.def = r->def,.limit = drain->limit,.one_row = position->one_row,.start = position->start};

	read_keys(&keys, r->snapshot, position);
	position->taken = keys.n;
	/* Others may queue changes as fast as we drain them. */
	if (position->start != NULL && keys.n == drain->limit && !keys.old)
		position->caught_up = !any_left(r->def, r->snapshot, position->start);
	drain->n = keys.n;
	if (keys.n == 0)
		return;
	delete_keys(&keys);
	r->keys = keys.values;
	r->n = sort_keys(r->def, keys.values, keys.n);
}

/*
 * end_batch
 *		Empties queue tables, if nothing is left.  A table that is emptied stays locked until the
 *		transaction ends, and within a transaction block that may take long.
 */
static void
end_batch(Drain *drain)
{
	FactDef    *def = drain->rows.def;

	if (drain->n < drain->limit && !def->run.stale && !def->queue.lost && !IsTransactionBlock())
		queues_rotate(def);
}

/* apply: writes what a list says to an index table */
static void
apply(IndexDef *def, OpList *list)
{
	(void) apply_ops(def, list, false);
}

/*
 * wait_here
 *		Waits until no change is queued here, or in a feed, that is committed by now and at least
 *		max_lag old: see queue/backlog.c.
 */
static bool
wait_here(FactTableRow *queue, int64 max_lag, TimestampTz until)
{
	QueueSearch search = {.before = max_lag > 0 ? GetCurrentTimestamp() - max_lag : DT_NOEND};
	Oid			tables[2] = {queue->spare, queue->queue};
	BlockNumber positions[2] = {0};
	long		length = 1;
	Snapshot	snapshot;

	if (max_lag == 0 && queue_pending(queue->fact_table))
		report_own_changes(queue->fact_table, true);

	/*
	 * Feeds come first: if any row of a partition may have changed, its drain
	 * queues all of them here before the change leaves the feed.
	 */
	if (!elsewhere->feeds->wait(queue->fact_table, max_lag, until))
		return false;
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	for (;;)
	{
		search.found = false;
		for (int i = 0; i < 2 && !search.found; i++)
		{
			Relation	rel;

			/*
			 * The table may be locked because it is being emptied, or for
			 * another reason: it is tried again.
			 */
			if (!open_if_free(tables[i], &rel))
				search.found = true;
			if (rel == NULL)
				continue;
			queue_scan(rel, snapshot, &positions[i], find_change, &search);
			relation_close(rel, AccessShareLock);
		}
		if (search.own)
			report_own_changes(queue->fact_table, true);
		if (!search.found || !sleep_longer(&length, LOOK_PAUSE, until))
			break;
	}
	UnregisterSnapshot(snapshot);
	return !search.found;
}

/* find_change: stops at the first row of a queue table that counts; for queue_scan() */
static bool
find_change(HeapTuple tuple, void *arg)
{
	QueueSearch *search = arg;

	if (queue_row_time(tuple) > search->before)
		return true;
	search->found = true;
	search->own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	return false;
}

/*
 * check_servers
 *		Raises an error if this transaction has used a server that has a feed: it may have changed rows there, and
 *		nobody sees these in the feed before it has committed.
 */
static void
check_servers(Oid fact_table)
{
	Oid			used = foreign_table_in_use(elsewhere->feeds->of(fact_table));

	if (OidIsValid(used))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait because this transaction has used foreign table \"%s\"", get_rel_name(used)),
				 errdetail("What it has changed there is applied after it has committed, and until then the other server shows rows as they were when it was first used."),
				 errhint("Commit the transaction first.")));
}
