/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Keeps in shared memory what workers have done with each queue, for the views that
 *	  monitor queues: how many changes they have applied, and what keeps them from it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "activity.h"
#include "shared_memory.h"

static TimestampTz last_use(const QueueActivity *queue);

/*
 * activity_lock
 *		Keeps others from the activity of all queues until activity_unlock().  Without the
 *		shared memory each process has its own.
 */
void
activity_lock(LWLockMode mode)
{
	if (shared != NULL)
		LWLockAcquire(shared->lock, mode);
}

/* activity_unlock: ends that */
void
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
QueueActivity *
activity_of(Oid fact_table, Oid server, bool make)
{
	static QueueActivity *own = NULL;
	QueueActivity *queues;
	QueueActivity *oldest = NULL;
	int			i;

	if (shared == NULL && own == NULL)
		own = MemoryContextAllocZero(TopMemoryContext, sizeof(QueueActivity) * MAX_QUEUES);
	queues = shared != NULL ? shared->queues : own;
	for (i = 0; i < MAX_QUEUES; i++)
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
