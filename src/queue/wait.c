/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Waits until asynchronous index tables have caught up: indextable.wait(), and
 *	  for look-ups that must not be stale.
 *
 * Called by users and by lookup.c.
 *
 * A snapshot is taken, and what is waited for is that every queued key it sees
 * is deleted by a transaction that has committed.  It sees the keys of all
 * changes that were committed before, in whatever order; what is committed later
 * is not waited for.  Where a transaction is named, its end comes first.  The
 * snapshot is not the transaction's, so that this ends whatever its isolation
 * level is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include <limits.h>
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../definition/cache.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/sleep.h"
#include "append.h"
#include "backlog.h"
#include "lost.h"
#include "scan.h"
#include "wait.h"

PG_FUNCTION_INFO_V1(indextable_wait);

typedef struct Search
{
	TimestampTz before;			/* changes as old as this count */
	bool		found;
	bool		own;			/* one of this transaction */
} Search;

static bool wait_for_transaction(FullTransactionId xid, TimestampTz until);
static bool find_row(HeapTuple tuple, void *arg);
static void own_changes(Oid fact_table);

/*
 * indextable_wait
 *		wait(index_table regclass, timeout interval, xid xid8)
 */
Datum
indextable_wait(PG_FUNCTION_ARGS)
{
	int64		timeout;
	TimestampTz until;
	FactTableRow queue;

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
	if (!PG_ARGISNULL(2) && !wait_for_transaction(PG_GETARG_FULLTRANSACTIONID(2), until))
		PG_RETURN_BOOL(false);
	PG_RETURN_BOOL(wait_for_queue(&queue, 0, timeout < 0 ? -1 : Max(until - GetCurrentTimestamp(), 0)));
}

/*
 * queue_of_index_table
 *		Whether an index table that the caller may read is asynchronous, and its
 *		queue.  No lock is kept: whoever waits with one would hold up DDL, behind
 *		which the drain would have to wait.
 */
bool
queue_of_index_table(Oid index_table, FactTableRow *queue)
{
	FactDef    *fact;
	IndexDef   *def = definition_of_index_table(index_table, &fact);
	AclResult	result;
	bool		async;

	if (def == NULL)
		report_not_index_table(index_table);
	result = pg_class_aclcheck(def->relid, GetUserId(), ACL_SELECT);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, def->name);
	async = def->async;
	if (async && fact->queue_lost)
		queue_lost_error(fact);
	*queue = (FactTableRow)
	{
		fact->relid, fact->queue, fact->spare
	};
	UnlockRelationOid(fact->relid, AccessShareLock);
	return async;
}

/* wait_for_transaction: until it has ended; on a standby, until that is known here */
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
		if (!sleep_longer(&length, until))
			return false;
	}
}

/*
 * wait_for_queue
 *		Until no change is queued that was committed before, but for those younger
 *		than max_lag; false after timeout, both in microseconds.  A timeout of -1
 *		is none.
 */
bool
wait_for_queue(FactTableRow *queue, int64 max_lag, int64 timeout)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz until = timeout < 0 ? DT_NOEND : now + timeout;
	Search		search = {.before = max_lag > 0 ? now - max_lag : DT_NOEND};
	Oid			tables[2] = {queue->spare, queue->queue};
	BlockNumber positions[2] = {0};
	long		length = 1;
	Snapshot	snapshot;

	if (max_lag == 0 && queue_pending(queue->fact_table))
		own_changes(queue->fact_table);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	for (;;)
	{
		int			i;

		search.found = false;
		for (i = 0; i < 2 && !search.found; i++)
		{
			Relation	rel;

			/* Locked: to be emptied, or who knows why.  We'll see. */
			if (!queue_open_to_read(tables[i], &rel))
				search.found = true;
			if (rel == NULL)
				continue;
			queue_scan(rel, snapshot, &positions[i], find_row, &search);
			relation_close(rel, AccessShareLock);
		}
		if (search.own)
			own_changes(queue->fact_table);
		if (!search.found || !sleep_longer(&length, until))
			break;
	}
	UnregisterSnapshot(snapshot);
	return !search.found;
}

static bool
find_row(HeapTuple tuple, void *arg)
{
	Search	   *search = arg;

	if (queue_row_time(tuple) > search->before)
		return true;
	search->found = true;
	search->own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	return false;
}

static void
own_changes(Oid fact_table)
{
	ereport(ERROR,
			(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
			 errmsg("cannot wait because this transaction has changed table \"%s\" itself", get_rel_name(fact_table)),
			 errdetail("The changes are applied to asynchronous index tables after the transaction has committed."),
			 errhint("Commit the transaction first, or call indextable.drain().")));
}
