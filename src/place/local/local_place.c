/*-------------------------------------------------------------------------
 *
 * local_place.c
 *	  The methods of the place whose rows, queue and entries are on this server, or which are read
 *	  through foreign partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "../../entry/apply.h"
#include "../../indextable.h"
#include "../../maintain/feed_drain.h"
#include "../../queue/append.h"
#include "../../queue/backlog.h"
#include "../../queue/batch_keys.h"
#include "../../queue/drain.h"
#include "../../queue/rejections.h"
#include "../../queue/tables.h"
#include "../../queue/wait.h"
#include "../../util/inherit.h"
#include "../place.h"

static bool begin_batch(Drain *drain);
static void take_batch(Drain *drain);
static void end_batch(Drain *drain);
static void apply(IndexDef *def, OpList *list);

static const ChangeSource changes = {
	.begin = begin_batch,
	.take = take_batch,
	.end = end_batch,
	.drain_all = drain_local_queue,
	.wait = wait_for_local_queue,
	.count = count_queue,
	.ntables = 2,
	.made = queue_belongs_to,
	.append = queue_append
};

static const EntryStore entries = {.apply = apply};

static const TriggerMethods triggers = {0};

const Place local_place = {
	.changes = &changes,
	.entries = &entries,
	.triggers = &triggers
};

/* begin_batch: queues rejected rows that are due, and takes the snapshot with which keys and rows are read */
static bool
begin_batch(Drain *drain)
{
	Reconciliation *r = &drain->rows;
	FactDef    *def = r->def;
	DrainPosition *position = drain->arg;
	int			i;

	for (i = def->nsync; i < def->ndefs && position->retry_rejected; i++)
		rejections_retry_now(def->defs[i]->relid, false);
	rejections_queue_due(def);
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
		if (!OidIsValid(def->pk_index))
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
	Keys		keys = {.def = r->def,.limit = drain->limit,.start = position->start};

	read_keys(&keys, r->snapshot, position);
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

	if (drain->n < drain->limit && !def->stale && !def->queue_lost && !IsTransactionBlock())
		queues_rotate(def);
}

/* apply: writes what a list says to an index table */
static void
apply(IndexDef *def, OpList *list)
{
	(void) apply_ops(def, list, false);
}
