/*-------------------------------------------------------------------------
 *
 * task.c
 *	  Runs what a worker does for one table: in a transaction of its own, for a limited time,
 *	  and so that nothing of it is left in the session.
 *
 * Filters, fields and indexes on index tables are code of users.  It runs as the owner,
 * restricted, but that leaves some things that outlive a transaction: advisory locks, and
 * connections of dblink.  Neither the next owner's code should meet them, nor other sessions
 * wait for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/discard.h"
#include "utils/elog.h"

#include "../util/settings.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "queue.h"

static void discard_all(void *unused);

/*
 * run_task
 *		Runs a function as run_in_transaction(), for as long as indextable.batch_timeout allows;
 *		returns the error that has ended the transaction, or NULL.
 *
 * While is_news() is called, is_over_time() tells whether the time was over.
 */
ErrorData *
run_task(void (*run) (void *arg), void *arg, bool (*is_news) (ErrorData *error, void *arg))
{
	ErrorData  *error;
	ErrorData  *left;

	time_limit_begin(setting_batch_timeout);
	error = run_in_transaction(run, arg, is_news);
	time_limit_end();
	left = run_in_transaction(discard_all, NULL, NULL);
	if (left != NULL)
		FreeErrorData(left);
	return error;
}

/* discard_all: runs DISCARD ALL, after which the settings are those that the worker has begun with */
static void
discard_all(void *unused)
{
	DiscardStmt *stmt = makeNode(DiscardStmt);

	stmt->target = DISCARD_ALL;
	DiscardCommand(stmt, true);
}
