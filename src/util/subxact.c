/*-------------------------------------------------------------------------
 *
 * subxact.c
 *	  Runs in a subtransaction what may fail, recovers from an error that ends a
 *	  transaction, and tells whose subtransaction's abort undoes what was noted.
 *
 * One row that cannot have its entries must not keep other rows from theirs, a value that
 * a function of users refuses must not end the statement, and some locks are waited for
 * only for a moment: what may fail is undone alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "subxact.h"

/* Whether run_catching_errors() rolls back its subtransaction at this moment. */
bool		undoing_attempt = false;

/*
 * run_catching_row_errors
 *		Runs a function as run_catching_errors() does, but returns only an error that
 *		may be about one row, and throws any other.
 */
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
 *		Runs a function in a subtransaction; returns the error that has undone it, or
 *		NULL.
 *
 * The error is in the current memory context.  What run() allocates is freed.
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
		undoing_attempt = true;
		RollbackAndReleaseCurrentSubTransaction();
		undoing_attempt = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	MemoryContextDelete(run_cxt);
	CurrentResourceOwner = owner;
	return error;
}

/* is_row_error: returns whether an error may be about one row, so that it makes sense to go on with others */
bool
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

/* note_table: adds to a list of NotedTable * one for the current subtransaction */
void
note_table(List **notes, Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	NotedTable *noted = palloc(sizeof(NotedTable));

	noted->relid = relid;
	noted->sub = GetCurrentSubTransactionId();
	*notes = lappend(*notes, noted);
	MemoryContextSwitchTo(old);
}

/* is_noted_table: returns whether a list of NotedTable * has a table */
bool
is_noted_table(List *notes, Oid relid)
{
	foreach_ptr(NotedTable, noted, notes)
	{
		if (noted->relid == relid)
			return true;
	}
	return false;
}

/*
 * notes_without_undone
 *		Returns a list of NotedTable * without those that the abort of a subtransaction undoes.
 *		They are the last ones of the list.  Nothing is allocated or freed.
 */
List *
notes_without_undone(List *notes, SubTransactionId aborted)
{
	int			n = list_length(notes);

	while (n > 0 && belongs_to(((NotedTable *) list_nth(notes, n - 1))->sub, aborted))
		n--;
	return list_truncate(notes, n);
}

/*
 * push_missing_snapshot
 *		Pushes the transaction's snapshot if there is none; returns whether it has.
 *
 * It is needed to write when no statement runs: when a transaction or a subtransaction
 * commits.
 */
bool
push_missing_snapshot(void)
{
	if (HaveRegisteredOrActiveSnapshot())
		return false;
	PushActiveSnapshot(GetTransactionSnapshot());
	return true;
}

/*
 * is_conflict
 *		Returns whether an error says only that another session was in the way, so that the
 *		same may succeed as soon as that one has ended its transaction.
 */
bool
is_conflict(ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TRANSACTION_ROLLBACK;
}

/*
 * recover_from_error
 *		Aborts the transaction after an error; returns the error, in the memory context
 *		cxt, which is the current one then.  Logs it, unless is_news() is given, and says that
 *		it is none.
 */
ErrorData *
recover_from_error(MemoryContext cxt, bool (*is_news) (ErrorData *error, void *arg), void *arg)
{
	ErrorData  *error;

	HOLD_INTERRUPTS();
	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	if (is_news == NULL || is_news(error, arg))
		EmitErrorReport();
	FlushErrorState();
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(cxt);
	RESUME_INTERRUPTS();
	return error;
}
