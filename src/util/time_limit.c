/*-------------------------------------------------------------------------
 *
 * time_limit.c
 *	  Limits the time of what a background worker does in one transaction, and drain() for another owner.
 *
 * The timer is that of the server's statement_timeout, which only the main loop of sessions
 * sets otherwise, and which ends a statement by the server's own signal handlers.  That of a session
 * goes on when the limit ends.  It goes
 * off again and again, because code of users may catch the error, and go on.  Whatever goes
 * on in the long run begins a subtransaction each time that it catches one: that is where it
 * is told to end, with the process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "time_limit.h"

/* The time after which the timer goes off again, in ms. */
#define AGAIN				1000

/* The time that code has to end after the limit, before it is ended with the process, in ms. */
#define GRACE				3000

static TimestampTz limit = 0;	/* 0: there is none */
static TimestampTz statement_end = 0;	/* by statement_timeout, or 0 */
static bool is_renewable = false;
static bool is_ending = false;	/* time_limit_check() has the process end */

/*
 * time_limit_begin
 *		Limits the time of what follows to some ms, or not if that is 0; replaces an earlier
 *		limit.
 *
 * If the statement is to end before that, the timer goes off then.  It goes on as well: code that catches
 * this error is not to go on without a limit.
 */
void
time_limit_begin(int ms)
{
	time_limit_end();
	statement_end = get_timeout_active(STATEMENT_TIMEOUT) ? get_timeout_finish_time(STATEMENT_TIMEOUT) : 0;
	if (ms == 0)
		return;
	limit = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
	is_renewable = false;
	enable_timeout_every(STATEMENT_TIMEOUT, statement_end != 0 ? Min(statement_end, limit) : limit, AGAIN);
}

/*
 * time_limit_end
 *		Ends the limit; a cancellation that nobody has seen yet is forgotten.
 *
 * When a process ends without this, the timer may still go off: the server's handler needs
 * nothing but the number of the process.
 */
void
time_limit_end(void)
{
	if (limit == 0)
		return;
	disable_timeout(STATEMENT_TIMEOUT, false);
	QueryCancelPending = false;
	limit = 0;
	if (statement_end != 0)
		enable_timeout_at(STATEMENT_TIMEOUT, statement_end);
}

/*
 * time_limit_suspend, time_limit_resume
 *		Keep the limit from cutting off the wait for synchronous standbys while a transaction
 *		commits.  It goes on for what comes after that.
 */
void
time_limit_suspend(void)
{
	TimestampTz kept = limit;

	time_limit_end();
	limit = kept;
}

void
time_limit_resume(void)
{
	if (limit != 0)
		enable_timeout_every(STATEMENT_TIMEOUT, limit, AGAIN);
}

/*
 * time_limit_make_renewable
 *		Lets time_limit_renew() begin the limit anew: only the drain that has it, and no code of users that
 *		drains something else, divides a batch that takes too long.
 */
void
time_limit_make_renewable(void)
{
	is_renewable = limit != 0;
}

/* time_limit_renew: gives what follows some ms, if the limit may be renewed */
void
time_limit_renew(int ms)
{
	if (limit == 0 || !is_renewable)
		return;
	time_limit_begin(ms);
	is_renewable = true;
}

/* is_time_limited: returns whether there is a limit */
bool
is_time_limited(void)
{
	return limit != 0;
}

/* is_time_over: returns whether there is a limit, and it is over */
bool
is_time_over(void)
{
	return limit != 0 && GetCurrentTimestamp() >= limit;
}

/*
 * is_statement_over
 *		Returns whether the statement_timeout that there was when the last limit began is over.
 *
 * The server forgets why a timer has gone off that goes off again.
 */
bool
is_statement_over(void)
{
	return statement_end != 0 && GetCurrentTimestamp() >= statement_end;
}

/*
 * is_over_time
 *		Returns whether an error says that the time limit, which has not been ended yet, is
 *		over.
 */
bool
is_over_time(ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED && is_time_over();
}

/*
 * time_limit_check
 *		Has the process end if the limit is long over; called when a subtransaction begins.
 *
 * It does so where it looks for interrupts next, as if it was told to.  Nothing may fail here: Citus,
 * which hears of the subtransaction after us, would hear of its end only, and crash.
 */
void
time_limit_check(void)
{
	if (limit == 0 || !TimestampDifferenceExceeds(limit, GetCurrentTimestamp(), GRACE))
		return;
	is_ending = true;
	InterruptPending = true;
	ProcDiePending = true;
}

/* time_limit_context: words the error that ends the process then; for error_context_stack */
void
time_limit_context(void *unused)
{
	if (!is_ending || geterrcode() != ERRCODE_ADMIN_SHUTDOWN)
		return;
	errcode(ERRCODE_QUERY_CANCELED);
	errmsg("terminating process because code goes on after the time limit of a batch");
	errhint("See indextable.batch_timeout.");
}
