/*-------------------------------------------------------------------------
 *
 * backlog.c
 *	  Counts what is queued, for the views that monitor queues, and how fast that grows,
 *	  and warns writers or slows them down when it is too much.  Waits until it is drained.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "queue.h"

PG_FUNCTION_INFO_V1(indextable_queue_status);

/* A session warns its user at most once in this interval, in ms. */
#define WARN_INTERVAL		60000

/* A session estimates a backlog at most once in this interval, in ms. */
#define ESTIMATE_INTERVAL	1000

/* The longest that a writer is held up at a time, in ms. */
#define MAX_DELAY			1000

static int64 end_of(Relation rel);
static void slow_down(int64 changes);
static bool count_row(HeapTuple tuple, void *arg);

PG_FUNCTION_INFO_V1(indextable_wait);

static bool wait_for_transaction(FullTransactionId xid, TimestampTz until);

/*
 * backlog_check
 *		Warns or slows down a writer if more changes of a fact table are queued than
 *		indextable.backlog_limit allows.  The writer has just written to this queue table,
 *		and last is the last row that it wrote.
 *
 * It costs nothing as long as the table up to that row is too small to hold more changes
 * than that.  Then the backlog is estimated: the limit need not be met exactly.
 */
void
backlog_check(FactDef *def, Relation queue, HeapTuple last)
{
	static TimestampTz estimated_at = 0;
	static TimestampTz warned_at = 0;
	static Oid	estimated = InvalidOid;
	static int64 changes = 0;
	BlockNumber blocks = ItemPointerGetBlockNumber(&last->t_self) + 1;
	int			rows = BLCKSZ / (MAXALIGN(last->t_len) + sizeof(ItemIdData));
	TimestampTz now;

	if (setting_backlog_action == BACKLOG_NOTHING || setting_backlog_limit == 0 ||
		(int64) blocks * rows <= setting_backlog_limit)
		return;

	now = GetCurrentTimestamp();
	if (estimated != def->relid || TimestampDifferenceExceeds(estimated_at, now, ESTIMATE_INTERVAL))
	{
		Oid			other = RelationGetRelid(queue) == def->queue.current ? def->queue.spare : def->queue.current;
		Relation	rel;

		changes = (int64) queue_count_pending_blocks(queue) * rows;
		if (open_if_free(other, &rel) && rel != NULL)
		{
			changes += (int64) queue_count_pending_blocks(rel) * rows;
			relation_close(rel, AccessShareLock);
		}
		estimated = def->relid;
		estimated_at = now;
	}
	if (changes <= setting_backlog_limit)
		return;
	if (TimestampDifferenceExceeds(warned_at, now, WARN_INTERVAL))
	{
		warned_at = now;
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("more than %d changes of table \"%s\" are not applied to its asynchronous index tables yet",
						setting_backlog_limit, def->name),
				 errdetail("The limit is set by indextable.backlog_limit."),
				 errhint("To see whether a worker is running, run SELECT * FROM indextable.queues;")));
	}
	if (setting_backlog_action == BACKLOG_SLOW)
		slow_down(changes);
}

/*
 * queue_growth
 *		Returns how many bytes writers have appended to the queue of a fact table since the
 *		call before it, which has left *ends.
 *
 * That is known from the ends of the queue tables alone: rows are only appended, each to
 * the last block or new ones.  A table that is shorter than before has been emptied, and
 * one that another session has locked is left out.  Nothing stays locked, because queue
 * tables come after the fact table in the order of locks.
 */
int64
queue_growth(Oid fact_table, QueueEnds *ends)
{
	FactTableRow row;
	QueueEnds	now = {0};
	int64		growth = 0;

	if (!catalog_read_fact(fact_table, &row))
		return 0;
	(void) find_queue_tables(&row, NULL);
	for (int i = 0; i < 2; i++)
	{
		Oid			relid = i == 0 ? row.queue : row.spare;
		Relation	rel;

		if (!open_if_free(relid, &rel) || rel == NULL)
			continue;
		now.relid[i] = relid;
		now.bytes[i] = end_of(rel);
		relation_close(rel, AccessShareLock);
		for (int k = 0; k < 2; k++)
			if (ends->relid[k] == relid)
				growth += now.bytes[i] < ends->bytes[k] ? now.bytes[i] : now.bytes[i] - ends->bytes[k];
	}
	*ends = now;
	return growth;
}

/* end_of: returns how many bytes a table has up to the last row */
static int64
end_of(Relation rel)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	Buffer		buffer;
	Page		page;
	Size		unused;

	if (blocks == 0)
		return 0;
	buffer = ReadBuffer(rel, blocks - 1);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	unused = PageIsNew(page) ? BLCKSZ : PageGetExactFreeSpace(page);
	UnlockReleaseBuffer(buffer);
	return (int64) blocks * BLCKSZ - unused;
}

/* slow_down: sleeps, the longer the further the limit is exceeded */
static void
slow_down(int64 changes)
{
	double		excess = (double) changes / setting_backlog_limit - 1;

	sleep_interruptibly((int64) Min(MAX_DELAY, 1 + excess * MAX_DELAY));
}

/*
 * queue_row_time
 *		Returns when the statement began that made the change in a row of a queue table.
 */
TimestampTz
queue_row_time(HeapTuple tuple)
{
	TimestampTz at;

	/* It is the first column, and never null. */
	memcpy(&at, (char *) tuple->t_data + tuple->t_data->t_hoff, sizeof(at));
	return at;
}

/*
 * indextable_queue_status
 *		queue_status(fact_table regclass, OUT backlog bigint, OUT oldest
 *		timestamptz, OUT size bigint): returns what is queued, as a new snapshot sees it.
 *
 * The columns are null if a queue table is locked, as a look at it should not have to wait,
 * or another node that has a part of the queue cannot be asked.
 */
Datum
indextable_queue_status(PG_FUNCTION_ARGS)
{
	FactTableRow queue;
	QueueCount	count = {0};
	Datum		values[3];
	bool		isnull[3] = {0};
	bool		known;

	if (!catalog_read_fact(PG_GETARG_OID(0), &queue) || !OidIsValid(queue.queue))
		PG_RETURN_NULL();
	(void) find_queue_tables(&queue, NULL);
	known = place_of(queue.fact_table)->changes->count(&queue, &count);
	values[0] = Int64GetDatum(count.changes);
	values[1] = TimestampTzGetDatum(count.oldest);
	values[2] = Int64GetDatum(count.bytes);
	isnull[0] = isnull[2] = !known;
	isnull[1] = !known || count.changes == 0;
	return row_result(fcinfo, values, isnull);
}

/*
 * count_queue
 *		Counts the changes in both queue tables that a new snapshot sees.  Returns false if
 *		one of the tables is locked.
 */
bool
count_queue(FactTableRow *queue, QueueCount *count)
{
	Oid			tables[2] = {queue->spare, queue->queue};
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	bool		known = true;

	count->oldest = DT_NOEND;
	for (int i = 0; i < 2 && known; i++)
	{
		Relation	rel;
		BlockNumber position = 0;

		known = open_if_free(tables[i], &rel);
		if (rel == NULL)
			continue;
		count->bytes += (int64) RelationGetNumberOfBlocks(rel) * BLCKSZ;
		queue_scan(rel, snapshot, &position, count_row, count);
		relation_close(rel, AccessShareLock);
	}
	UnregisterSnapshot(snapshot);
	return known;
}

/* count_row: counts one row of a queue table; for queue_scan() */
static bool
count_row(HeapTuple tuple, void *arg)
{
	QueueCount *count = arg;

	count->oldest = Min(count->oldest, queue_row_time(tuple));
	count->changes++;
	return true;
}

/*
 * What follows waits until asynchronous index tables have caught up, for indextable.wait() and for
 * look-ups that must not be stale.
 *
 * A snapshot is taken, and then the session waits until every queued key that the
 * snapshot sees was deleted by a transaction that has committed.  The snapshot sees the
 * keys of all changes that were committed before it, in whatever order; the session does
 * not wait for changes that are committed later.  If a transaction is named, the session
 * waits for its end first, and takes the snapshot then.  It is a new snapshot and not
 * that of the transaction, so that the wait ends whatever the isolation level is.
 */

/*
 * indextable_wait
 *		wait(index_table regclass, timeout interval, xid xid8): waits until an index table
 *		has all changes that are committed by now, and those of the transaction xid, if one
 *		is named.  Returns false if timeout is over before that.
 */
Datum
indextable_wait(PG_FUNCTION_ARGS)
{
	int64		timeout;
	TimestampTz until;
	FactTableRow queue;
	const ChangeSource *changes;
	const char *why;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	timeout = interval_arg(fcinfo, 1, "timeout");
	until = timeout < 0 ? DT_NOEND : GetCurrentTimestamp() + timeout;

	if (!queue_of_index_table(PG_GETARG_OID(0), &queue))
		PG_RETURN_BOOL(true);
	if (IsolationUsesXactSnapshot() && IsTransactionBlock())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for an index table in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errdetail("The snapshot of the transaction would not show changes that are applied meanwhile."),
				 errhint("Wait before the transaction begins, or use the isolation level READ COMMITTED.")));
	changes = place_of(queue.fact_table)->changes;
	if (changes->check_wait != NULL)
		changes->check_wait(queue.fact_table);
	if (!PG_ARGISNULL(2) && !wait_for_transaction(PG_GETARG_FULLTRANSACTIONID(2), until))
		PG_RETURN_BOOL(false);
	if ((why = why_nobody_drains()) != NULL && !wait_for_queue(&queue, 0, 0))
		notice_nobody_drains(why);
	PG_RETURN_BOOL(wait_for_queue(&queue, 0, timeout < 0 ? -1 : Max(until - GetCurrentTimestamp(), 0)));
}

/*
 * queue_of_index_table
 *		Returns whether an index table is asynchronous, and sets *queue to the queue of its
 *		fact table.  Raises an error if the user may read neither of the two tables.
 *
 * No lock is kept.  If a session waited with a lock, then DDL would wait for that lock, the
 * drain would wait behind the DDL, and the session for the drain.
 */
bool
queue_of_index_table(Oid index_table, FactTableRow *queue)
{
	IndexDef   *def;
	FactDef    *fact;
	bool		async;

	require_reader(index_table);
	def = definition_of_index_table(index_table);
	if (def == NULL)
		report_not_index_table(index_table);
	fact = def->fact;
	async = def->spec.async;
	require_kept(def);
	if (async && fact->queue.lost)
		queue_lost_error(fact);
	*queue = (FactTableRow)
	{
		fact->relid, fact->queue.current, fact->queue.spare, fact->queue.feed
	};
	UnlockRelationOid(fact->relid, AccessShareLock);
	return async;
}

/*
 * wait_for_transaction
 *		Waits until a transaction has ended and, on a standby, until its end was replayed.
 *		Returns false if that is not so by the time until.
 */
static bool
wait_for_transaction(FullTransactionId xid, TimestampTz until)
{
	long		length = 1;

	if (!FullTransactionIdIsNormal(xid))
		return true;
	if (FullTransactionIdEquals(xid, GetTopFullTransactionIdIfAny()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for the current transaction"),
				 errdetail("Its changes are applied after it has committed.")));
	for (;;)
	{
		FullTransactionId next = ReadNextFullTransactionId();
		bool		future = !FullTransactionIdPrecedes(xid, next);

		if (future && !RecoveryInProgress())
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("transaction ID " UINT64_FORMAT " is in the future",
							U64FromFullTransactionId(xid))));
		if (!future &&
			(U64FromFullTransactionId(next) - U64FromFullTransactionId(xid) > (uint64) PG_INT32_MAX ||
			 !TransactionIdIsInProgress(XidFromFullTransactionId(xid))))
			return true;
		if (!sleep_longer(&length, LOOK_PAUSE, until))
			return false;
	}
}

/*
 * wait_for_queue
 *		Waits until no change is queued any more that was committed before the call, except
 *		for those that are younger than max_lag.  Returns false after timeout.  Both are in
 *		microseconds; a timeout of -1 means that there is none.
 */
bool
wait_for_queue(FactTableRow *queue, int64 max_lag, int64 timeout)
{
	TimestampTz until = timeout < 0 ? DT_NOEND : GetCurrentTimestamp() + timeout;

	return place_of(queue->fact_table)->changes->wait(queue, max_lag, until);
}

/*
 * report_own_changes
 *		Raises the error for waiting for changes that this transaction has made, and perhaps
 *		can drain.
 */
void
report_own_changes(Oid fact_table, bool can_drain)
{
	ereport(ERROR,
			(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
			 errmsg("cannot wait because this transaction has changed table \"%s\" itself", get_rel_name(fact_table)),
			 errdetail("The changes are applied to asynchronous index tables after the transaction has committed."),
			 !can_drain ? errhint("Commit the transaction first.") :
			 errhint("Commit the transaction first, or run %s", told_select("drain", fact_table, ""))));
}
