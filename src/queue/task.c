/*-------------------------------------------------------------------------
 *
 * task.c
 *	  Runs what a worker does for one table: in a transaction of its own, for a limited time,
 *	  noted in shared memory, and so that nothing of it is left in the session.
 *
 * Filters, fields and indexes on index tables are code of users.  It runs as the owner,
 * restricted, but it may end the process, and that leaves some things that outlive a
 * transaction: advisory locks, and connections of dblink.  Neither the next owner's code
 * should meet them, nor other sessions wait for them.  What else could be left, only a
 * superuser's code can leave: a restricted function cannot change the role of the session or what
 * is set, nor make temporary tables, and postgres_fdw and PL/Perl keep apart what belongs
 * to each role.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "commands/extension.h"
#include "commands/prepare.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "pgstat.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/elog.h"
#include "utils/guc.h"
#include "utils/portal.h"
#include "utils/timestamp.h"

#include "../util/settings.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "queue.h"

static TimestampTz begun_at;	/* when the present task has begun */

static void task_context(void *unused);
static void discard_all(void *unused);
static void close_connections(void *unused);
static void close_named(void *name);
static void close_unnamed(void *unused);
static Datum call_dblink(const char *function, Datum *name, bool *isnull);

/*
 * run_task
 *		Runs a function as run_in_transaction(), for as long as indextable.batch_timeout allows;
 *		returns the error that has ended the transaction, or NULL.
 *
 * While is_news() is called, is_over_time() tells whether the time was over.
 */
ErrorData *
run_task(const Work *work, void (*run) (void *arg), void *arg, bool (*is_news) (ErrorData *error, void *arg))
{
	ErrorData  *error;
	ErrorData  *left;

	begun_at = GetCurrentTimestamp();
	note_attempt(work);
	error = run_limited(run, arg, is_news);
	left = run_in_transaction(discard_all, NULL, NULL);
	if (left != NULL)
		FreeErrorData(left);
	note_survived(work);
	return error;
}

/* run_limited: does the first half of that, where no code of users is called */
ErrorData *
run_limited(void (*run) (void *arg), void *arg, bool (*is_news) (ErrorData *error, void *arg))
{
	ErrorContextCallback context = {.previous = error_context_stack,.callback = task_context};
	ErrorData  *error;

	time_limit_begin(setting_batch_timeout);
	error_context_stack = &context;
	error = run_in_transaction(run, arg, is_news);
	error_context_stack = context.previous;
	time_limit_end();
	return error;
}

/*
 * task_context
 *		Words an error that says that the time was over.  If it is that of a worker that was told
 *		to end, what it is at has not ended it: only a signal sets this cause.
 */
static void
task_context(void *unused)
{
	if (geterrcode() == ERRCODE_QUERY_CANCELED && is_time_over())
		errmsg("canceling transaction of a worker due to indextable.batch_timeout");
	else if (geterrcode() == ERRCODE_ADMIN_SHUTDOWN && pgStatSessionEndCause == DISCONNECT_KILLED)
		forget_attempt();
	time_limit_context(NULL);
}

/* task_ms: returns how long ago the last task has begun, in ms */
int
task_ms(void)
{
	return Min(TimestampDifferenceMilliseconds(begun_at, GetCurrentTimestamp()), PG_INT32_MAX);
}

/*
 * discard_all
 *		Does what DISCARD ALL does, after which the settings are those that the worker has begun with,
 *		and closes connections.  Plans are kept for the next task of the same owner: see owner_may_try().
 */
static void
discard_all(void *unused)
{
	PortalHashTableDeleteAll();
	SetPGVariable("session_authorization", NIL, false);
	ResetAllOptions();
	DropAllPreparedStatements();
	Async_UnlistenAll();
	LockReleaseAll(USER_LOCKMETHOD, true);
	ResetTempTableNamespace();
	ResetSequenceCaches();
	if (OidIsValid(get_extension_oid("dblink", true)))
		(void) run_catching_errors(close_connections, NULL);
}

/*
 * close_connections
 *		Closes the connections of dblink, which belong to the session, not to a role.  No function of SQL
 *		is called for that, which might have been replaced.
 */
static void
close_connections(void *unused)
{
	bool		isnull;
	Datum		array = call_dblink("dblink_get_connections", NULL, &isnull);
	Datum	   *names;
	int			n = 0;

	if (!isnull)
		deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &n);
	for (int i = 0; i < n; i++)
		(void) run_catching_errors(close_named, &names[i]);
	(void) run_catching_errors(close_unnamed, NULL);
}

/* close_named: closes the connection with a name; for run_catching_errors() */
static void
close_named(void *name)
{
	bool		isnull;

	(void) call_dblink("dblink_disconnect", name, &isnull);
}

/*
 * close_unnamed
 *		Closes the connection without a name, or raises an error if there is none; for
 *		run_catching_errors().
 */
static void
close_unnamed(void *unused)
{
	bool		isnull;

	(void) call_dblink("dblink_disconnect", NULL, &isnull);
}

/* call_dblink: calls a C function of dblink with a name, or without arguments if that is NULL */
static Datum
call_dblink(const char *function, Datum *name, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, 1);
	PGFunction	pointer = load_external_function("$libdir/dblink", function, true, NULL);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, NULL, name == NULL ? 0 : 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = name == NULL ? (Datum) 0 : *name;
	fcinfo->args[0].isnull = false;
	result = pointer(fcinfo);
	*isnull = fcinfo->isnull;
	return result;
}
