/*-------------------------------------------------------------------------
 *
 * show_activity.c
 *	  Shows what workers have done with a queue, and what keeps them from it, to the views
 *	  that monitor queues.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "storage/lwlock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/lock.h"
#include "../util/settings.h"
#include "activity.h"
#include "shared_memory.h"
#include "trouble.h"
#include "worker_slots.h"

PG_FUNCTION_INFO_V1(indextable_queue_activity);

/* What a server has said of its feeds is believed for so many ms, unless workers ask less often. */
#define BELIEVED			60000

static bool backlog_is_known(const QueueActivity *queue, TimestampTz now);
static Datum blockers_of(const Trouble *trouble);

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
	TupleDesc	desc;
	Datum		values[10];
	bool		isnull[10] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
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
	{
		values[3] = CStringGetTextDatum(trouble_text(&queue.trouble, fact_table));
	}
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
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull)));
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
 * nobody is in its way.
 */
static Datum
blockers_of(const Trouble *trouble)
{
	List	   *pids = NIL;
	Datum	   *elements;
	int			n = 0;
	ListCell   *cell;

	if (!OidIsValid(trouble->queue_table))
	{
		Datum		blocking;

		/*
		 * The number of a worker that has ended may be that of another
		 * process by now.
		 */
		if (!only_workers(list_make1_int(trouble->worker)))
			return (Datum) 0;
		blocking = DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(trouble->worker));
		return ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(blocking)), ARR_DIMS(DatumGetArrayTypeP(blocking))) == 0 ? (Datum) 0 : blocking;
	}
	pids = lock_blockers(trouble->queue_table, ShareUpdateExclusiveLock);
	if (pids == NIL)
		return (Datum) 0;
	elements = palloc(sizeof(Datum) * list_length(pids));
	foreach(cell, pids)
		elements[n++] = Int32GetDatum(lfirst_int(cell));
	return PointerGetDatum(construct_array(elements, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}
