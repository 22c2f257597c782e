/*-------------------------------------------------------------------------
 *
 * trouble.c
 *	  Keeps what keeps the batches of a queue from being applied, until when the queue is
 *	  left alone, and whether the server's log was told.
 *
 * That is kept in shared memory with the activity of the queue.  If there are more databases
 * than workers, each batch may be tried by another worker, which otherwise would try too
 * early, and log the same error again.
 *
 * To wait for a lock that another session has is no error: the session may be doing what is
 * its right, and mostly it ends soon.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/subxact.h"
#include "activity.h"
#include "shared_memory.h"
#include "trouble.h"

/* What stays the same is written to the server's log once in this time, in ms. */
#define LOG_INTERVAL		600000

static bool note(Oid fact_table, Oid server, bool waiting, const char *message, Oid queue_table, int max_backoff);

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
		return note(fact_table, server, false, error->message, InvalidOid, MAX_BACKOFF);
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		return note(fact_table, server, true, "", InvalidOid, MAX_WAIT);
	return note(fact_table, server, true, error->message, InvalidOid, MIN_BACKOFF);
}

/*
 * trouble_note_wait
 *		Notes that a batch of the queue on this server was not tried because another session
 *		has locked a queue table; returns whether that is to be logged.
 */
bool
trouble_note_wait(Oid fact_table, Oid queue_table)
{
	return note(fact_table, InvalidOid, true, "", queue_table, MAX_WAIT);
}

/*
 * note
 *		Notes what keeps the batches of a queue from being applied, and when the next one is
 *		tried.  Returns whether that is to be logged: an error at first and when it is another
 *		one than before, a wait when it has lasted for LOG_INTERVAL, and both again each time
 *		that this is over.
 */
static bool
note(Oid fact_table, Oid server, bool waiting, const char *message, Oid queue_table, int max_backoff)
{
	TimestampTz now = GetCurrentTimestamp();
	Trouble    *trouble;
	char text[	sizeof(trouble->message)];
	uint32		hash;
	bool		anew;
	bool		log;

	strlcpy(text, message, pg_mbcliplen(message, strlen(message), sizeof(text) - 1) + 1);
	hash = hash_bytes((const unsigned char *) text, strlen(text)) | 1;
	activity_lock(LW_EXCLUSIVE);
	trouble = &activity_of(fact_table, server, true)->trouble;
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
	trouble->queue_table = queue_table;
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
char *
trouble_text(const Trouble *trouble, Oid fact_table)
{
	if (trouble->waiting && trouble->message[0] == '\0')
		return pstrdup(OidIsValid(trouble->queue_table) ? "waiting for a session that drains the queue" : "waiting for a lock");
	if (!owns_relation(fact_table, GetUserId()))
		return "<insufficient privilege>";
	return pstrdup(trouble->message);
}
