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

static QueueActivity *get_activity(Oid fact_table);

/*
 * get_activity
 *		Returns the activity of a fact table of this database; it is new if none was kept.
 *		The caller holds the lock exclusively.
 */
static QueueActivity *
get_activity(Oid fact_table)
{
	QueueActivity *oldest = NULL;
	int			i;

	for (i = 0; i < MAX_QUEUES; i++)
	{
		QueueActivity *queue = &shared->queues[i];

		if (queue->fact_table == fact_table && queue->database == MyDatabaseId)
			return queue;
		if (oldest == NULL ||
			Max(queue->applied_at, queue->error_at) < Max(oldest->applied_at, oldest->error_at))
			oldest = queue;
	}
	memset(oldest, 0, sizeof(QueueActivity));
	oldest->database = MyDatabaseId;
	oldest->fact_table = fact_table;
	return oldest;
}

/* activity_count: counts changes of a fact table that were applied */
void
activity_count(Oid fact_table, int64 changes)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *queue;

	if (shared == NULL || changes == 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table);
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
activity_note_success(Oid fact_table)
{
	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	get_activity(fact_table)->error[0] = '\0';
	LWLockRelease(shared->lock);
}

/* activity_note_error: keeps the message of an error with which a whole batch of a fact table failed */
void
activity_note_error(Oid fact_table, const char *message)
{
	QueueActivity *queue;

	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table);
	queue->error_at = GetCurrentTimestamp();
	strlcpy(queue->error, message, sizeof(queue->error));
	LWLockRelease(shared->lock);
}

/*
 * indextable_queue_activity
 *		queue_activity(fact_table regclass, OUT applied bigint, OUT rate float8,
 *		OUT applied_at timestamptz, OUT error text, OUT error_at timestamptz): returns what
 *		workers have done with a queue since the server was started, or null without the
 *		shared memory.
 */
Datum
indextable_queue_activity(PG_FUNCTION_ARGS)
{
	Oid			fact_table = PG_GETARG_OID(0);
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity queue = {0};
	TupleDesc	desc;
	Datum		values[5];
	bool		isnull[5] = {0};
	int			i;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (shared == NULL)
		PG_RETURN_NULL();
	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < MAX_QUEUES; i++)
		if (shared->queues[i].fact_table == fact_table &&
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
	/* The message may quote rows. */
	if (!isnull[3] && !owns_relation(fact_table, GetUserId()))
		values[3] = CStringGetTextDatum("<insufficient privilege>");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull)));
}
