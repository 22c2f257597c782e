/*-------------------------------------------------------------------------
 *
 * queue_view.c
 *	  Shows what workers have done with a queue, and what keeps them from it, to the views
 *	  that monitor queues.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/settings.h"
#include "queue.h"

PG_FUNCTION_INFO_V1(indextable_queue_activity);

/*
 * What a server has said of its feeds is believed for this time, in ms, unless workers ask
 * less often.
 */
#define BELIEVED			60000

static const char *find_trouble(Oid fact_table, Oid server, Trouble *trouble);
static List *folded_parts(DefinitionRow *row, WorkKind kind);
static bool backlog_is_known(const QueueActivity *queue, TimestampTz now);
static Datum blockers_of(const Trouble *trouble);
static char *trouble_text(const Trouble *trouble, const char *what, Oid fact_table);

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
	Work		work = {MyDatabaseId, fact_table, server, WORK_QUEUE};
	QueueActivity queue = {.backlog = -1};
	QueueActivity *kept;
	const char *what = NULL;
	Datum		values[10];
	bool		isnull[10] = {0};

	if (shared == NULL)
		PG_RETURN_NULL();
	kept = activity_find(&work, false);
	if (kept != NULL)
		queue = *kept;
	activity_release(kept);
	if (queue.trouble.since == 0)
		what = find_trouble(fact_table, server, &queue.trouble);

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
		values[3] = CStringGetTextDatum(trouble_text(&queue.trouble, what, fact_table));
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
 * find_trouble
 *		Sets *trouble to what else is to be shown with a queue that fails at nothing itself, and
 *		returns at what that is: at the upkeep of one of the fact table's index tables; or the
 *		present batch does not end; or it leaves something out; or entries may have been lost.  Returns
 *		NULL if there is nothing.
 */
static const char *
find_trouble(Oid fact_table, Oid server, Trouble *trouble)
{
	static const char *const kinds[] = {"a batch", "folding", "checking"};
	const Place *place = place_of(fact_table);

	for (WorkKind kind = WORK_QUEUE; kind <= WORK_CHECK; kind++)
	{
		List	   *tables = NIL;

		if (kind == WORK_QUEUE)
			tables = list_make1_oid(fact_table);
		else if (!OidIsValid(server))
			foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact_table, InvalidOid))
				tables = list_concat(lappend_oid(tables, row->index_table), folded_parts(row, kind));
		foreach_oid(table, tables)
		{
			Work		work = {MyDatabaseId, table, server, kind};
			char	   *name = get_rel_name(table);

			if (name == NULL)
				continue;
			if ((kind != WORK_QUEUE && trouble_of(&work, trouble) && !trouble->waiting) ||
				trouble_of_attempt(&work, trouble))
				return kind == WORK_QUEUE ? kinds[kind] : psprintf("%s \"%s\"", kinds[kind], name);
		}
	}
	if (!OidIsValid(server) && place->changes->trouble != NULL && place->changes->trouble(fact_table, trouble))
		return "a batch";
	foreach_ptr(DefinitionRow, row, OidIsValid(server) ? NIL : catalog_read_definitions(fact_table, InvalidOid))
	{
		if (!catalog_timeline_changed(row->index_table))
			continue;
		*trouble = (Trouble)
		{
			.since = PgStartTime,.next_try = DT_NOEND,
				.message = "entries may be wrong, because this server has begun a new timeline: call repair()"
		};
		return psprintf("\"%s\"", get_rel_name(row->index_table));
	}
	trouble->since = 0;
	return NULL;
}

/* folded_parts: lists the parts of a table of totals that are folded, if kind is that work */
static List *
folded_parts(DefinitionRow *row, WorkKind kind)
{
	const IndexTableMethods *methods = place_of(row->index_table)->index_tables;

	return kind == WORK_FOLDING && keeps_totals(row) && methods->folded_parts != NULL ?
		methods->folded_parts(row->index_table) : NIL;
}

/*
 * trouble_text
 *		Says what keeps the batches of a fact table from being applied.  Only the owner of the
 *		table sees the message of an error, which may quote rows.
 */
static char *
trouble_text(const Trouble *trouble, const char *what, Oid fact_table)
{
	if (trouble->waiting && trouble->message[0] == '\0')
		return "waiting for a lock";
	if (!owns_relation(fact_table, GetUserId()))
		return "<insufficient privilege>";
	return what == NULL ? pstrdup(trouble->message) : psprintf("%s: %s", what, trouble->message);
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
	return ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(blocking)), ARR_DIMS(DatumGetArrayTypeP(blocking))) == 0 ?
		(Datum) 0 :
		blocking;
}
