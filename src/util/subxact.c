/*-------------------------------------------------------------------------
 *
 * subxact.c
 *	  Runs in a subtransaction, or in a transaction of its own, what may fail, and tells whose
 *	  subtransaction's abort undoes what was noted.
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

/* What note_table() has noted, in the memory of the subtransaction that was under way. */
typedef struct NotedTable
{
	List	  **notes;
	Oid			relid;
	MemoryContextCallback callback;
} NotedTable;

static void forget_table(void *arg);
static void set_null(void *pointer);
static Size used_bytes(MemoryContext cxt, Size *nblocks);

/* Whether CATCHING_ERRORS() rolls back its subtransaction at this moment. */
bool		undoing_attempt = false;

/*
 * run_catching_errors, run_catching_row_errors, run_catching_failures
 *		Run a function as CATCHING_ERRORS(), CATCHING_ROW_ERRORS() and CATCHING_FAILURES() do.
 */
ErrorData *
run_catching_errors(void (*run) (void *arg), void *arg)
{
	ErrorData  *error;

	CATCHING_ERRORS(error, run(arg));
	return error;
}

ErrorData *
run_catching_row_errors(void (*run) (void *arg), void *arg)
{
	ErrorData  *error;

	CATCHING_ROW_ERRORS(error, run(arg));
	return error;
}

ErrorData *
run_catching_failures(void (*run) (void *arg), void *arg)
{
	ErrorData  *error;

	CATCHING_FAILURES(error, run(arg));
	return error;
}

/*
 * run_catching_errors_at_commit
 *		Runs a function as CATCHING_ERRORS() does, while a transaction is about to commit.
 *
 * That makes a subtransaction, and it is put into another one: the server copes with a subtransaction
 * that fails directly under a transaction that is about to commit, but does not expect that.
 */
ErrorData *
run_catching_errors_at_commit(void (*run) (void *arg), void *arg)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *error;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	error = run_catching_errors(run, arg);
	ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	return error;
}

/* begin_attempt: begins a subtransaction for CATCHING_ERRORS() */
void
begin_attempt(AttemptState *attempt)
{
	attempt->cxt = CurrentMemoryContext;
	attempt->run_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable attempt", ALLOCSET_DEFAULT_SIZES);
	attempt->owner = CurrentResourceOwner;
	attempt->error = NULL;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(attempt->run_cxt);
}

/* undo_attempt: rolls it back after an error */
void
undo_attempt(AttemptState *attempt)
{
	MemoryContextSwitchTo(attempt->cxt);
	attempt->error = CopyErrorData();
	FlushErrorState();
	undoing_attempt = true;
	RollbackAndReleaseCurrentSubTransaction();
	undoing_attempt = false;
}

/*
 * end_attempt
 *		Gives back what the subtransaction had instead, and returns the error that has undone
 *		it, or NULL.
 */
ErrorData *
end_attempt(AttemptState *attempt)
{
	MemoryContextSwitchTo(attempt->cxt);
	MemoryContextDelete(attempt->run_cxt);
	CurrentResourceOwner = attempt->owner;
	return attempt->error;
}

/*
 * is_row_error
 *		Returns whether an error may be about one row, so that it makes sense to go on with
 *		others.
 */
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

/*
 * is_interruption
 *		Returns whether an error says that this session is interrupted, as by a cancellation, which is not
 *		meant for what has happened to be under way only.
 *
 * A function of users, or another server, may raise an error of the same class, so what counts is which
 * function of the server has raised it.
 */
bool
is_interruption(ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION &&
		error->funcname != NULL && strcmp(error->funcname, "ProcessInterrupts") == 0;
}

/*
 * note_table
 *		Adds a table to a list of OIDs.  It is removed from the list when the transaction ends, and
 *		when the subtransaction is rolled back that is under way now, or one around that.
 *
 * At just these moments the server frees the memory of a subtransaction.
 */
void
note_table(List **notes, Oid relid)
{
	NotedTable *noted = MemoryContextAlloc(CurTransactionContext, sizeof(NotedTable));
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	*notes = lappend_oid(*notes, relid);
	MemoryContextSwitchTo(old);
	noted->notes = notes;
	noted->relid = relid;
	noted->callback.func = forget_table;
	noted->callback.arg = noted;
	MemoryContextRegisterResetCallback(CurTransactionContext, &noted->callback);
}

static void
forget_table(void *arg)
{
	NotedTable *noted = arg;

	*noted->notes = list_delete_oid(*noted->notes, noted->relid);
}

/*
 * forget_at_end
 *		Sets a pointer to memory of the transaction to NULL when the transaction has ended.
 */
void
forget_at_end(void *pointer)
{
	MemoryContextCallback *callback = MemoryContextAlloc(TopTransactionContext, sizeof(MemoryContextCallback));

	callback->func = set_null;
	callback->arg = pointer;
	MemoryContextRegisterResetCallback(TopTransactionContext, callback);
}

static void
set_null(void *pointer)
{
	*(void **) pointer = NULL;
}

/*
 * used_bytes
 *		Returns how much of a context's memory is not free; sets *nblocks to the number of its
 *		blocks.
 */
static Size
used_bytes(MemoryContext cxt, Size *nblocks)
{
	MemoryContextCounters counters = {0};

	cxt->methods->stats(cxt, NULL, NULL, &counters, false);
	*nblocks = counters.nblocks;
	return counters.totalspace - counters.freespace;
}

/*
 * release_empty_context
 *		Resets the memory of the subtransaction that commits, if nothing is in it, so that the server
 *		frees it.
 *
 * For a table with a statement trigger the server allocates in that memory, and frees it when the
 * statement ends.  But a block of 8 kB would stay until the transaction ends: for each savepoint
 * that is released.
 */
void
release_empty_context(void)
{
	static Size empty = 0;		/* used bytes of a context without anything in
								 * it */
	Size		nblocks;

	if (empty == 0)
	{
		MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable empty",
												  ALLOCSET_DEFAULT_SIZES);

		empty = used_bytes(cxt, &nblocks);
		MemoryContextDelete(cxt);
	}
	if (!CurTransactionContext->isReset && CurTransactionContext->firstchild == NULL &&
		CurTransactionContext->reset_cbs == NULL && used_bytes(CurTransactionContext, &nblocks) == empty &&
		nblocks == 1)
		MemoryContextReset(CurTransactionContext);
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
 *		same may succeed as soon as that one has ended its transaction; or that it has dropped a
 *		table just before the table was locked.
 */
bool
is_conflict(ErrorData *error)
{
	static const char *const dropped[] = {"could not open relation with OID %u", "cache lookup failed for relation %u",
	"relation with OID %u does not exist"};

	for (Size i = 0; i < lengthof(dropped) && error->message_id != NULL; i++)
		if (strcmp(error->message_id, dropped[i]) == 0)
			return true;
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TRANSACTION_ROLLBACK;
}

/*
 * is_no_conflict
 *		Returns whether an error is none of those that pass with another session; for
 *		run_in_transaction().
 */
bool
is_no_conflict(ErrorData *error, void *arg)
{
	return !is_conflict(error);
}

/*
 * run_in_transaction
 *		Runs a function in a transaction of its own, with a snapshot, as background workers do;
 *		returns the error that has ended the transaction, or NULL.
 *
 * The error is in the current memory context.  It is logged, unless is_news() is given, and says
 * that it is none.
 */
ErrorData *
run_in_transaction(void (*run) (void *arg), void *arg, bool (*is_news) (ErrorData *error, void *arg))
{
	MemoryContext cxt = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		run(arg);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (is_news == NULL || is_news(error, arg))
			EmitErrorReport();
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	return error;
}
