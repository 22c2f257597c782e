/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Waits until asynchronous index tables have caught up, for indextable.wait() and for
 *	  look-ups that must not be stale.
 *
 * A snapshot is taken, and then the session waits until every queued key that the
 * snapshot sees was deleted by a transaction that has committed.  The snapshot sees the
 * keys of all changes that were committed before it, in whatever order; the session does
 * not wait for changes that are committed later.  If a transaction is named, the session
 * waits for its end first, and takes the snapshot then.  It is a new snapshot and not
 * that of the transaction, so that the wait ends whatever the isolation level is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../catalog/named.h"
#include "../definition/cache.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "lost.h"
#include "wait.h"

PG_FUNCTION_INFO_V1(indextable_wait);

static bool wait_for_transaction(FullTransactionId xid, TimestampTz until);

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
	PG_RETURN_BOOL(wait_for_queue(&queue, 0, timeout < 0 ? -1 : Max(until - GetCurrentTimestamp(), 0)));
}

/*
 * queue_of_index_table
 *		Returns whether an index table is asynchronous, and sets *queue to the queue of its
 *		fact table.  Raises an error if the user may not read the index table.
 *
 * No lock is kept.  If a session waited with a lock, then DDL would wait for that lock, the
 * drain would wait behind the DDL, and the session for the drain.
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
	place_report_problem(def->name, def->misplaced);
	if (async && fact->queue_lost)
		queue_lost_error(fact);
	*queue = (FactTableRow)
	{
		fact->relid, fact->queue, fact->spare, fact->feed
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
		if (!sleep_longer(&length, until))
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
	return place_of(queue->fact_table)->changes->wait(queue, max_lag, timeout < 0 ? DT_NOEND : GetCurrentTimestamp() + timeout);
}

/* report_own_changes: raises the error for waiting for changes that this transaction has made, and perhaps can drain */
void
report_own_changes(Oid fact_table, bool can_drain)
{
	ereport(ERROR,
			(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
			 errmsg("cannot wait because this transaction has changed table \"%s\" itself", get_rel_name(fact_table)),
			 errdetail("The changes are applied to asynchronous index tables after the transaction has committed."),
			 !can_drain ? errhint("Commit the transaction first.") :
			 errhint("Commit the transaction first, or run SELECT " IT_SCHEMA ".drain(%s);",
					 quote_literal_cstr(quoted_relation(fact_table)))));
}
