/*-------------------------------------------------------------------------
 *
 * trouble.c
 *	  Keeps what keeps a worker from its work at a table, until when the table is left alone,
 *	  whether the server's log was told, and how much of the work is tried at a time.
 *
 * That is kept in shared memory with the activity of the queue.  If there are more databases
 * than workers, each batch may be tried by another worker, which otherwise would try too
 * early, and log the same error again.  What has ended a worker could not be kept elsewhere, and
 * what has ended the server is kept in a file, too: see crash_notes.c.
 *
 * To wait for a lock that another session has is no error: the session may be doing what is
 * its right, and mostly it ends soon.
 *
 * How much is tried.  A batch that takes longer than others should have to wait is followed by
 * a smaller one.  If it has taken longer than the limit, and so was rolled back, one of its
 * changes may be at fault: these are the suspects, at the head of the queue, and batches stay
 * small until they have been applied, or the one is found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/settings.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "queue.h"

/* What stays the same is written to the server's log once in this time, in ms. */
#define LOG_INTERVAL		600000

/*
 * Work that has ended this number of workers, one after the other, is set aside for a time, in
 * ms, which grows.
 */
#define MAX_DEATHS			3
#define DEATH_BACKOFF		10000
#define MAX_DEATH_BACKOFF	600000

/* A batch that was too slow is followed by one with this fraction of its changes. */
#define SMALLER				10

/* The time that it takes until there is another worker, in ms. */
#define NEW_WORKER			1000

/* An attempt that goes on for this time after the limit cannot be ended, in ms. */
#define LATE				10000

/* A worker that is at one table for longer has others wait, in ms. */
#define TURN				1000

static bool note(const Work *work, bool waiting, const char *message, int cost, int max_backoff);
static const char *where_it_was(ErrorData *error);

/* ---- what keeps a worker from its work ---- */

/* trouble_of: sets *trouble to what keeps a worker from some work; returns false if nothing does */
bool
trouble_of(const Work *work, Trouble *trouble)
{
	QueueActivity *activity = activity_find(work, false);

	trouble->since = 0;
	if (activity != NULL)
		*trouble = activity->trouble;
	activity_release(activity);
	return trouble->since != 0;
}

/*
 * trouble_of_attempt
 *		Sets *trouble to what the present attempt at some work is: it should have ended by now, but
 *		goes on.  Returns false if that is not so.
 */
bool
trouble_of_attempt(const Work *work, Trouble *trouble)
{
	TimestampTz since = attempted_since(work);

	if (setting_batch_timeout == 0 || since == 0 ||
		!TimestampDifferenceExceeds(since, GetCurrentTimestamp(), setting_batch_timeout + LATE))
		return false;
	*trouble = (Trouble)
	{
		.since = since,
			.message = "cannot be ended, and keeps the worker from other work"
	};
	return true;
}

/*
 * trouble_note_error
 *		Notes the error with which an attempt has failed, and returns whether the error is to be
 *		logged.  After a serialization failure or a deadlock the work is left alone for the
 *		shortest time, but always for as long as the attempt has kept others waiting.
 */
bool
trouble_note_error(const Work *work, ErrorData *error)
{
	if (is_over_time(error))
	{
		const char *row = where_it_was(error);

		return note(work, false, row == NULL ? error->message : psprintf("%s: %s", error->message, row), task_ms(),
					MAX_BACKOFF);
	}
	if (!is_conflict(error))
		return note(work, false, error->message, task_ms(), MAX_BACKOFF);
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		return note(work, true, "", task_ms(), MAX_WAIT);
	return note(work, true, error->message, task_ms(), MIN_BACKOFF);
}

/*
 * trouble_note
 *		Notes what else keeps some work from being done, and that it has to rest for a time, in ms, if that is
 *		long; returns whether it is to be logged.
 */
bool
trouble_note(const Work *work, const char *message, int rest, int max_backoff)
{
	return note(work, false, message, rest, max_backoff);
}

/* where_it_was: returns the line of an error's context that names a row, or NULL */
static const char *
where_it_was(ErrorData *error)
{
	const char *line = error->context;

	while (line != NULL && *line != '\0')
	{
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, "entries in index table ", 23) == 0 || strncmp(line, "row (", 5) == 0)
			return pnstrdup(line, end - line);
		line = *end == '\0' ? end : end + 1;
	}
	return NULL;
}

/*
 * note
 *		Notes what keeps a worker from some work, for how long the attempt has kept it from other work, in
 *		ms, and when it is tried again.  Returns whether that is to be logged: an error at first and when it is
 *		another one than before, a wait when it has lasted for LOG_INTERVAL, and both again each time that
 *		this is over.
 */
static bool
note(const Work *work, bool waiting, const char *message, int cost, int max_backoff)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *activity;
	Trouble    *trouble;
	char text[	sizeof(trouble->message)];
	uint32		hash;
	bool		anew;
	bool		log;
	bool		others = shared != NULL && count_workers(MyDatabaseId, false) > 1;

	strlcpy(text, message, pg_mbcliplen(message, strlen(message), sizeof(text) - 1) + 1);
	hash = hash_bytes((const unsigned char *) text, strlen(text)) | 1;
	activity = activity_find(work, true);
	trouble = &activity->trouble;

	/*
	 * An error is not over because a worker waits: it may be for the batch of
	 * another one, which tries again.
	 */
	if (waiting && others && trouble->since != 0 && !trouble->waiting)
	{
		trouble->next_try = TimestampTzPlusMilliseconds(now, Max(MAX_WAIT, cost));
		activity_release(activity);
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
	trouble->cost = cost;
	trouble->deaths = 0;
	trouble->tried_at = now;
	trouble->next_try = TimestampTzPlusMilliseconds(now, Max(trouble->backoff, cost > turn_ms() ? cost : 0));
	activity_release(activity);
	return log;
}

/*
 * trouble_note_death
 *		Notes that a worker has ended in the middle of some work.  After some such deaths one after
 *		the other it is set aside, longer each time.
 */
void
trouble_note_death(const Work *work)
{
	trouble_note_deaths(work, 1);
}

/*
 * trouble_note_deaths
 *		Notes a number of deaths at once, as those that crashes of the server were.
 */
void
trouble_note_deaths(const Work *work, int more)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *activity = activity_find(work, true);
	Trouble    *trouble = &activity->trouble;
	int			over = (trouble->deaths += more) - MAX_DEATHS;

	if (trouble->since == 0 || trouble->waiting)
		trouble->since = now;
	trouble->waiting = false;
	trouble->worker = 0;
	trouble->backoff = over < 0 ? MIN_BACKOFF : Min((int64) DEATH_BACKOFF << Min(over, 10), MAX_DEATH_BACKOFF);
	trouble->cost = Max(trouble->backoff / 2, NEW_WORKER);
	trouble->logged_at = now;
	trouble->tried_at = now;
	trouble->next_try = TimestampTzPlusMilliseconds(now, trouble->backoff);
	snprintf(trouble->message, sizeof(trouble->message),
			 "%d times in a row, a worker was terminated by it: see the server's log", trouble->deaths);
	activity_release(activity);
}

/* trouble_end: forgets all of that, because an attempt has succeeded */
void
trouble_end(const Work *work)
{
	QueueActivity *activity = activity_find(work, false);

	if (activity != NULL)
	{
		activity->trouble.since = 0;
		activity->trouble.deaths = 0;
	}
	activity_release(activity);
}

/* ---- how much of it is tried at a time ---- */

/* turn_ms: returns for how long a worker may be at one table without having others wait, in ms */
int
turn_ms(void)
{
	return setting_batch_timeout == 0 ? TURN : Min(setting_batch_timeout / 2, TURN);
}

/*
 * batch_limit
 *		Returns how many changes the next batch of a queue may take, at most a given number.  Sets
 *		*one_row if it has to be all those of one row instead, because that one may be too slow.
 */
int
batch_limit(const Work *work, int most, bool *one_row)
{
	QueueActivity *queue = activity_find(work, false);
	int			limit = queue == NULL || queue->limit == 0 ? most : Min(queue->limit, most);

	*one_row = queue != NULL && queue->suspects > 0 && limit == 1;
	activity_release(queue);
	return *one_row ? most : limit;
}

/*
 * batch_took
 *		Has the next batch of a queue take fewer changes if one has taken longer than its turn, and
 *		more again if it has not, both in ms.
 */
void
batch_took(const Work *work, int64 changes, int ms, int turn)
{
	QueueActivity *queue = activity_find(work, ms > turn);

	if (queue != NULL)
	{
		queue->suspects = Max(queue->suspects - changes, 0);
		if (ms > turn && changes > 0)
			queue->limit = Max(changes * turn / ms, 1);
		else if (queue->suspects == 0 && ms < turn / 4)
		{
			int64		limit = (int64) queue->limit * (ms < turn / 20 ? 10 : 2);

			queue->limit = limit < MAX_BATCH_SIZE ? limit : 0;
		}
	}
	activity_release(queue);
}

/*
 * batch_was_cut
 *		Has the next batch of a queue take fewer changes, because one was over time; 0: it had
 *		taken none.
 */
void
batch_was_cut(const Work *work, int64 changes)
{
	QueueActivity *queue = activity_find(work, true);

	if (changes > 0)
	{
		queue->suspects = changes;
		queue->limit = Max(changes / SMALLER, 1);
	}
	activity_release(queue);
}
