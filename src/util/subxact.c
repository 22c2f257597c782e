/*-------------------------------------------------------------------------
 *
 * subxact.c
 *	  Runs what may fail because of one row, in a subtransaction.
 *
 * Called by drain.c and reject.c: one row must not keep the others from their
 * entries; by cast.c for what users' types do; and by ddl.c for a lock that is waited for a moment only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "subxact.h"

static bool is_row_error(ErrorData *error);

/* run_catching_row_errors: the same, but an error that is not about rows is thrown */
ErrorData *
run_catching_row_errors(void (*run) (void *arg), void *arg)
{
	ErrorData  *error = run_catching_errors(run, arg);

	if (error != NULL && !is_row_error(error))
		ReThrowError(error);
	return error;
}

/*
 * run_catching_errors
 *		Returns the error that has undone it, in the current memory context, or
 *		NULL.  What run() allocates is freed.
 */
ErrorData *
run_catching_errors(void (*run) (void *arg), void *arg)
{
	MemoryContext cxt = CurrentMemoryContext;
	MemoryContext run_cxt = AllocSetContextCreate(cxt, "indextable attempt", ALLOCSET_DEFAULT_SIZES);
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(run_cxt);
	PG_TRY();
	{
		run(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	MemoryContextDelete(run_cxt);
	CurrentResourceOwner = owner;
	return error;
}

/* is_row_error: whether an error may be about one row, so that others can go on */
static bool
is_row_error(ErrorData *error)
{
	switch (error->sqlerrcode)
	{
		case ERRCODE_DISK_FULL:
		case ERRCODE_TOO_MANY_CONNECTIONS:
		case ERRCODE_LOCK_NOT_AVAILABLE:
		case ERRCODE_OBJECT_IN_USE:
			return false;
	}
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_CONNECTION_EXCEPTION:
		case ERRCODE_INVALID_TRANSACTION_STATE:
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
			return false;
		default:
			return true;
	}
}

/*
 * push_missing_snapshot
 *		The transaction's, unless there is one, for whoever writes when no statement
 *		runs: when a transaction commits, or a subtransaction.  Whether it was pushed.
 */
bool
push_missing_snapshot(void)
{
	if (HaveRegisteredOrActiveSnapshot())
		return false;
	PushActiveSnapshot(GetTransactionSnapshot());
	return true;
}

/* recover_from_error: after an error, which it returns */
ErrorData *
recover_from_error(MemoryContext cxt, bool log)
{
	ErrorData  *error;

	HOLD_INTERRUPTS();
	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	if (log)
		EmitErrorReport();
	FlushErrorState();
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(cxt);
	RESUME_INTERRUPTS();
	return error;
}
