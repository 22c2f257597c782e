/*-------------------------------------------------------------------------
 *
 * attempt.c
 *	  Runs what may fail because of one row, in a subtransaction.
 *
 * Called by drain.c and reject.c: one row must not keep the others from their
 * entries; by cast.c for what users' types do; and by ddl.c for a lock that is waited for a moment only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "indextable.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

static bool of_one_row(ErrorData *error);

/* attempt: the same, but an error that is not about rows is thrown */
ErrorData *
attempt(void (*run) (void *arg), void *arg)
{
	ErrorData  *error = attempt_all(run, arg);

	if (error != NULL && !of_one_row(error))
		ReThrowError(error);
	return error;
}

/*
 * attempt_all
 *		Returns the error that has undone it, in the current memory context, or
 *		NULL.  What run() allocates is freed.
 */
ErrorData *
attempt_all(void (*run) (void *arg), void *arg)
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

/* of_one_row: whether an error may be about one row, so that others can go on */
static bool
of_one_row(ErrorData *error)
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
