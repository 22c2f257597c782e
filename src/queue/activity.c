/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Keeps in shared memory what workers have done with each queue, for the views that
 *	  monitor queues: how many changes they have applied, and what keeps them from it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/settings.h"
#include "../util/subxact.h"
#include "queue.h"

PG_FUNCTION_INFO_V1(indextable_queue_activity);

static TimestampTz last_use(const QueueActivity *queue);

/* What stays the same is written to the server's log once in this time, in ms. */
#define LOG_INTERVAL		600000

static bool note(Oid fact_table, Oid server, bool waiting, const char *message, int max_backoff);

/* What a server has said of its feeds is believed for so many ms, unless workers ask less often. */
#define BELIEVED			60000

static bool backlog_is_known(const QueueActivity *queue, TimestampTz now);
static Datum blockers_of(const Trouble *trouble);
static void activity_lock(LWLockMode mode);
static void activity_unlock(void);
static QueueActivity *activity_of(Oid fact_table, Oid server, bool make);
static char *trouble_text(const Trouble *trouble, Oid fact_table);

/*
 * activity_lock
 *		Keeps others from the activity of all queues until activity_unlock().  Without the
 *		shared memory each process has its own.
 */
static void
activity_lock(LWLockMode mode)
{
	if (shared != NULL)
		LWLockAcquire(shared->lock, mode);
}

/* activity_unlock: ends that */
static void
activity_unlock(void)
{
	if (shared != NULL)
		LWLockRelease(shared->lock);
}

/*
 * activity_of
 *		Returns the activity of a fact table of this database, under activity_lock().  If none
 *		was kept it is new, for which the lock has to be exclusive, or NULL unless it is to be
 *		made.
 */
static QueueActivity *
activity_of(Oid fact_table, Oid server, bool make)
{
	static QueueActivity *own = NULL;
	QueueActivity *queues;
	QueueActivity *oldest = NULL;

	if (shared == NULL && own == NULL)
		own = MemoryContextAllocZero(TopMemoryContext, sizeof(QueueActivity) * MAX_QUEUES);
	queues = shared != NULL ? shared->queues : own;
	for (int i = 0; i < MAX_QUEUES; i++)
	{
		QueueActivity *queue = &queues[i];

		if (queue->fact_table == fact_table && queue->server == server && queue->database == MyDatabaseId)
			return queue;
		if (oldest == NULL ||
			last_use(queue) < last_use(oldest))
			oldest = queue;
	}
	if (!make)
		return NULL;
	memset(oldest, 0, sizeof(QueueActivity));
	oldest->database = MyDatabaseId;
	oldest->fact_table = fact_table;
	oldest->server = server;
	oldest->backlog = -1;
	return oldest;
}

/* last_use: returns when a worker has last tried something for a queue */
static TimestampTz
last_use(const QueueActivity *queue)
{
	return Max(Max(queue->applied_at, queue->asked_at), queue->trouble.tried_at);
}

/* activity_count: counts changes of a fact table that were applied */
void
activity_count(Oid fact_table, Oid server, int64 changes)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *queue;

	if (changes == 0)
		return;
	activity_lock(LW_EXCLUSIVE);
	queue = activity_of(fact_table, server, true);
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
	activity_unlock();
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

	activity_lock(LW_EXCLUSIVE);
	queue = activity_of(fact_table, server, true);
	queue->backlog = backlog;
	queue->oldest = oldest;
	queue->asked_at = GetCurrentTimestamp();
	activity_unlock();
}

/*-------------------------------------------------------------------------
 * Keeps what keeps the batches of a queue from being applied, until when the queue is
 * left alone, and whether the server's log was told.
 *
 * That is kept in shared memory with the activity of the queue.  If there are more databases
 * than workers, each batch may be tried by another worker, which otherwise would try too
 * early, and log the same error again.
 *
 * To wait for a lock that another session has is no error: the session may be doing what is
 * its right, and mostly it ends soon.
 *-------------------------------------------------------------------------
 */

/* trouble_of: sets *trouble to what keeps the batches of a queue from being applied; returns false if nothing does */
bool
trouble_of(Oid fact_table, Oid server, Trouble *trouble)
{
	QueueActivity *queue;

	trouble->since = 0;
	activity_lock(LW_SHARED);
	queue = activity_of(fact_table, server, false);
	if (queue != NULL)
		*trouble = queue->trouble;
	activity_unlock();
	return trouble->since != 0;
}

/*
 * trouble_note_error
 *		Notes the error with which a batch has failed, and returns whether the error is to be
 *		logged.  After a serialization failure or a deadlock the queue is always left alone for
 *		the shortest time.
 */
bool
trouble_note_error(Oid fact_table, Oid server, ErrorData *error)
{
	if (!is_conflict(error))
		return note(fact_table, server, false, error->message, MAX_BACKOFF);
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		return note(fact_table, server, true, "", MAX_WAIT);
	return note(fact_table, server, true, error->message, MIN_BACKOFF);
}

/*
 * note
 *		Notes what keeps the batches of a queue from being applied, and when the next one is
 *		tried.  Returns whether that is to be logged: an error at first and when it is another
 *		one than before, a wait when it has lasted for LOG_INTERVAL, and both again each time
 *		that this is over.
 */
static bool
note(Oid fact_table, Oid server, bool waiting, const char *message, int max_backoff)
{
	TimestampTz now = GetCurrentTimestamp();
	Trouble    *trouble;
	char text[	sizeof(trouble->message)];
	uint32		hash;
	bool		anew;
	bool		log;
	bool		others = shared != NULL && count_workers(MyDatabaseId, false) > 1;

	strlcpy(text, message, pg_mbcliplen(message, strlen(message), sizeof(text) - 1) + 1);
	hash = hash_bytes((const unsigned char *) text, strlen(text)) | 1;
	activity_lock(LW_EXCLUSIVE);
	trouble = &activity_of(fact_table, server, true)->trouble;

	/*
	 * An error is not over because a worker waits: it may be for the batch of
	 * another one, which tries again.
	 */
	if (waiting && others && trouble->since != 0 && !trouble->waiting)
	{
		trouble->next_try = TimestampTzPlusMilliseconds(now, MAX_WAIT);
		activity_unlock();
		return false;
	}
	anew = trouble->since == 0 || trouble->waiting != waiting;
	if (trouble->since == 0)
		trouble->logged = 0;
	if (anew)
		trouble->since = trouble->logged_at = now;
	log = (!waiting && hash != trouble->logged) ||
		TimestampDifferenceExceeds(trouble->logged_at, now, LOG_INTERVAL);
	if (log)
		trouble->logged_at = now;
	if (log && !waiting)
		trouble->logged = hash;
	trouble->waiting = waiting;
	trouble->worker = MyProcPid;
	strlcpy(trouble->message, text, sizeof(trouble->message));
	trouble->backoff = anew ? MIN_BACKOFF : Min(trouble->backoff * 2, max_backoff);
	trouble->tried_at = now;
	trouble->next_try = TimestampTzPlusMilliseconds(now, trouble->backoff);
	activity_unlock();
	return log;
}

/* trouble_end: forgets all of that, because a batch has succeeded */
void
trouble_end(Oid fact_table, Oid server)
{
	activity_lock(LW_EXCLUSIVE);
	activity_of(fact_table, server, true)->trouble.since = 0;
	activity_unlock();
}

/*
 * trouble_text
 *		Says what keeps the batches of a fact table from being applied.  Only the owner of the
 *		table sees the message of an error, which may quote rows.
 */
static char *
trouble_text(const Trouble *trouble, Oid fact_table)
{
	if (trouble->waiting && trouble->message[0] == '\0')
		return "waiting for a lock";
	if (!owns_relation(fact_table, GetUserId()))
		return "<insufficient privilege>";
	return pstrdup(trouble->message);
}

/*-------------------------------------------------------------------------
 * Shows what workers have done with a queue, and what keeps them from it, to the views
 * that monitor queues.
 *-------------------------------------------------------------------------
 */

/*
 * indextable_queue_activity
 *		queue_activity(fact_table regclass, server oid, OUT applied bigint, OUT rate float8,
 *		OUT applied_at timestamptz, OUT error text, OUT since timestamptz, OUT backlog bigint,
 *		OUT oldest timestamptz, OUT waiting boolean, OUT next_try timestamptz, OUT blocked_by
 *		integer[]): returns what workers have done with a queue, or with the feeds of a
 *		server, since the server was started, or null without the shared memory.
 */
Datum
indextable_queue_activity(PG_FUNCTION_ARGS)
{
	Oid			fact_table = PG_GETARG_OID(0);
	TimestampTz now = GetCurrentTimestamp();
	Oid			server = PG_GETARG_OID(1);
	QueueActivity queue = {.backlog = -1};
	QueueActivity *kept;
	Datum		values[10];
	bool		isnull[10] = {0};

	if (shared == NULL)
		PG_RETURN_NULL();
	activity_lock(LW_SHARED);
	kept = activity_of(fact_table, server, false);
	if (kept != NULL)
		queue = *kept;
	activity_unlock();

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
	if (!backlog_is_known(&queue, now))
		queue.backlog = -1;
	isnull[3] = isnull[4] = isnull[8] = queue.trouble.since == 0;
	if (!isnull[3])
		values[3] = CStringGetTextDatum(trouble_text(&queue.trouble, fact_table));
	values[4] = TimestampTzGetDatum(queue.trouble.since);

	/* Changes may be waiting in feeds that nobody asks, which is no error. */
	if (isnull[4] && OidIsValid(server) && queue.backlog < 0)
	{
		values[4] = TimestampTzGetDatum(Max(queue.asked_at, PgStartTime));
		isnull[4] = false;
	}
	values[5] = Int64GetDatum(queue.backlog);
	isnull[5] = queue.backlog < 0;
	values[6] = TimestampTzGetDatum(queue.oldest);
	isnull[6] = queue.backlog <= 0;
	values[7] = BoolGetDatum(queue.trouble.since != 0 && queue.trouble.waiting);
	values[8] = TimestampTzGetDatum(queue.trouble.next_try);
	values[9] = isnull[3] || !queue.trouble.waiting ? (Datum) 0 : blockers_of(&queue.trouble);
	isnull[9] = values[9] == (Datum) 0;
	return row_result(fcinfo, values, isnull);
}

/*
 * backlog_is_known
 *		Returns whether the backlog of feeds is still what their server has said last: workers
 *		ask again and again, and the server has answered.
 *
 * A worker may be busy with another queue, or wait for a server that does not answer, so its
 * being there is not enough.
 */
static bool
backlog_is_known(const QueueActivity *queue, TimestampTz now)
{
	int64		believed = Max(BELIEVED, INT64CONST(2) * setting_naptime);

	return queue->trouble.since == 0 && count_workers(MyDatabaseId, false) > 0 &&
		now - queue->asked_at < believed * 1000;
}

/*
 * blockers_of
 *		Returns the processes (integer[]) that keep a queue waiting at this moment, or 0 if
 *		none is seen to.
 *
 * A worker that waits for a lock does so for a moment only, again and again: in between
 * nobody is in its way.  The number of one that has ended may be that of another process by now.
 */
static Datum
blockers_of(const Trouble *trouble)
{
	Datum		blocking;

	if (!is_worker(trouble->worker))
		return (Datum) 0;
	blocking = DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(trouble->worker));
	return ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(blocking)), ARR_DIMS(DatumGetArrayTypeP(blocking))) == 0 ? (Datum) 0 : blocking;
}
