/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Keeps in shared memory what workers have done with each queue, for the views that
 *	  monitor queues: how many changes they have applied, and the error of the last batch.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "activity.h"
#include "shared_memory.h"

PG_FUNCTION_INFO_V1(indextable_queue_activity);

/* The interval over which changes are counted to get a rate, in ms. */
#define RATE_INTERVAL		5000

static QueueActivity *get_activity(Oid fact_table, Oid server);

/*
 * get_activity
 *		Returns the activity of a fact table of this database; it is new if none was kept.
 *		The caller holds the lock exclusively.
 */
static QueueActivity *
get_activity(Oid fact_table, Oid server)
{
	QueueActivity *oldest = NULL;
	int			i;

	for (i = 0; i < MAX_QUEUES; i++)
	{
		QueueActivity *queue = &shared->queues[i];

		if (queue->fact_table == fact_table && queue->server == server && queue->database == MyDatabaseId)
			return queue;
		if (oldest == NULL ||
			Max(queue->applied_at, queue->error_at) < Max(oldest->applied_at, oldest->error_at))
			oldest = queue;
	}
	memset(oldest, 0, sizeof(QueueActivity));
	oldest->database = MyDatabaseId;
	oldest->fact_table = fact_table;
	oldest->server = server;
	oldest->backlog = -1;
	return oldest;
}

/* activity_count: counts changes of a fact table that were applied */
void
activity_count(Oid fact_table, Oid server, int64 changes)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *queue;

	if (shared == NULL || changes == 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table, server);
	if (TimestampDifferenceExceeds(queue->counted_from, now, RATE_INTERVAL))
	{
		if (queue->counted > 0)
		{
			queue->rate = queue->counted * 1000000.0 / (now - queue->counted_from);
			queue->rate_at = now;
		}
		queue->counted = 0;
		queue->counted_from = now;
	}
	queue->counted += changes;
	queue->applied += changes;
	queue->applied_at = now;
	LWLockRelease(shared->lock);
}

/* activity_note_success: forgets the error of a fact table: a batch of it has succeeded */
void
activity_note_success(Oid fact_table, Oid server)
{
	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	get_activity(fact_table, server)->error[0] = '\0';
	LWLockRelease(shared->lock);
}

/* activity_note_error: keeps the message of an error with which a whole batch of a fact table failed */
void
activity_note_error(Oid fact_table, Oid server, const char *message)
{
	QueueActivity *queue;

	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table, server);
	queue->error_at = GetCurrentTimestamp();
	strlcpy(queue->error, message, sizeof(queue->error));
	LWLockRelease(shared->lock);
}

/*
 * activity_note_backlog
 *		Keeps how many changes are in the feeds of a server after a batch, and when the oldest
 *		of them was made.
 */
void
activity_note_backlog(Oid fact_table, Oid server, int64 backlog, TimestampTz oldest)
{
	QueueActivity *queue;

	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table, server);
	queue->backlog = backlog;
	queue->oldest = oldest;
	LWLockRelease(shared->lock);
}

/*
 * indextable_queue_activity
 *		queue_activity(fact_table regclass, OUT applied bigint, OUT rate float8,
 *		OUT applied_at timestamptz, OUT error text, OUT error_at timestamptz): returns what
 *		workers have done with a queue since the server was started, or null without the
 *		shared memory.
 *		feed_activity(fact_table regclass, server oid, ..., OUT backlog bigint,
 *		OUT oldest timestamptz): the same for the feeds of a server.
 */
Datum
indextable_queue_activity(PG_FUNCTION_ARGS)
{
	Oid			fact_table = PG_GETARG_OID(0);
	TimestampTz now = GetCurrentTimestamp();
	Oid			server = PG_NARGS() > 1 ? PG_GETARG_OID(1) : InvalidOid;
	QueueActivity queue = {.backlog = -1};
	TupleDesc	desc;
	Datum		values[7];
	bool		isnull[7] = {0};
	int			i;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (shared == NULL)
		PG_RETURN_NULL();
	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < MAX_QUEUES; i++)
		if (shared->queues[i].fact_table == fact_table && shared->queues[i].server == server &&
			shared->queues[i].database == MyDatabaseId)
			queue = shared->queues[i];
	LWLockRelease(shared->lock);

	/*
	 * The rate is that of the interval before, unless the present one is long
	 * enough, or is the first.
	 */
	if (now - queue.counted_from > RATE_INTERVAL * INT64CONST(1000) || queue.rate_at == 0)
		queue.rate = queue.counted * 1000000.0 / Max(now - queue.counted_from, 1000000);
	values[0] = Int64GetDatum(queue.applied);
	values[1] = Float8GetDatum(queue.rate);
	values[2] = TimestampTzGetDatum(queue.applied_at);
	isnull[2] = queue.applied_at == 0;
	values[3] = CStringGetTextDatum(queue.error);
	isnull[3] = isnull[4] = queue.error[0] == '\0';
	values[4] = TimestampTzGetDatum(queue.error_at);
	values[5] = Int64GetDatum(queue.backlog);
	isnull[5] = queue.backlog < 0;
	values[6] = TimestampTzGetDatum(queue.oldest);
	isnull[6] = queue.backlog <= 0;
	/* The message may quote rows. */
	if (!isnull[3] && !owns_relation(fact_table, GetUserId()))
		values[3] = CStringGetTextDatum("<insufficient privilege>");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull)));
}
