/*-------------------------------------------------------------------------
 *
 * main.c
 *	  Drains the queues of one database in a background worker, and has the functions that
 *	  start and stop such workers by hand.
 *
 * A worker is started by the launcher, or by users if the library is not preloaded.
 *
 * Each batch is a transaction of its own.  Between them the worker holds neither locks nor
 * snapshots, and it never sleeps within a transaction.  It may be ended at any point:
 * whatever it had not committed is still queued.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/lock.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/time_limit.h"
#include "../util/wait_point.h"
#include "../verify/verify.h"
#include "worker.h"

PG_FUNCTION_INFO_V1(indextable_start_workers);
PG_FUNCTION_INFO_V1(indextable_stop_launched);

#define WORKER_TYPE			"indextable worker"

/*
 * The longest that a worker sleeps before it sees whether it is in the way of DROP
 * DATABASE, in ms.  That command waits for 5 s.
 */
#define MAX_SLEEP			1000

/* The time that a worker rests when changes have come while it was at work, in ms. */
#define REST				2

/* If other databases wait for a worker, one that is busy stays for this time at most, in ms. */
#define BUSY_TURN			5000

/* If the catalog cannot be read, it is looked at again after this time, in ms. */
#define LOOK_AGAIN			60000

/* What bgw_extra tells a worker. */
typedef struct Assignment
{
	Oid			database;
	int			slot;			/* -1: started by hand */
	uint64		use;			/* of the slot; see slot_reserve() */
} Assignment;

/* What synchronous_commit was before fix_worker_settings(). */
static const char *synchronous;

PGDLLEXPORT void indextable_worker_main(Datum arg);

static void note_reads(void);
static void fix_worker_settings(void);
static bool is_active(pid_t pid);

/*
 * worker_register
 *		Has the server start a worker in a database, with the slot and its use that were
 *		reserved for it, or -1 if users start it by hand.  Returns false if the server has no
 *		room for another background worker.
 */
bool
worker_register(Oid database, int slot, uint64 use, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;
	Assignment	assignment = {database, slot, use};

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "indextable", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "indextable_worker_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, WORKER_TYPE " of database %u", database);
	strlcpy(worker.bgw_type, WORKER_TYPE, BGW_MAXLEN);
	memcpy(worker.bgw_extra, &assignment, sizeof(assignment));
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

/*
 * indextable_worker_main
 *		The main loop of a worker: drains all queues of the database, makes the periodic
 *		checks, and sleeps until changes are committed or indextable.naptime is over.
 */
void
indextable_worker_main(Datum arg)
{
	Assignment	assignment;
	TimestampTz looked_at = 0;
	MemoryContext cxt;
	uint32		wait_event;
	TimestampTz next_try = DT_NOEND;
	bool		look = true;
	TimestampTz look_again = 0;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	memcpy(&assignment, MyBgworkerEntry->bgw_extra, sizeof(assignment));
	BackgroundWorkerInitializeConnectionByOid(assignment.database, InvalidOid, 0);
	pgstat_report_appname(WORKER_TYPE);
	fix_worker_settings();
	if (assignment.slot >= 0 && !slot_take(assignment.slot, assignment.use))
		proc_exit(0);

	wait_event = new_wait_event("IndextableWorkerMain");
	cxt = AllocSetContextCreate(TopMemoryContext, "indextable worker", ALLOCSET_DEFAULT_SIZES);
	round_init(synchronous);
	for (;;)
	{
		TimestampTz now;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}

		/*
		 * After this worker, another one is asked for; see
		 * slots_free_ended().
		 */
		if (is_database_lock_awaited(MyDatabaseId) || !worker_may_stay(false))
			proc_exit(0);

		now = GetCurrentTimestamp();
		if (now >= look_again &&
			(look || now >= next_try || TimestampDifferenceExceeds(looked_at, now, setting_naptime)))
		{
			FoundWork	found;
			bool		more;

			(void) worker_woken();
			MemoryContextReset(cxt);
			if (!find_queues(cxt, &found))
			{
				look_again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														 found.blocked ? MAX_WAIT : LOOK_AGAIN);
				next_try = found.blocked ? look_again : DT_NOEND;
				continue;
			}
			if (found.totals == NIL && found.queues == NIL)
			{
				more = run_periodic_checks();
				note_reads();
				if (more)
				{
					look = true;
					continue;
				}

				/*
				 * A session that creates the first queue asks for another
				 * worker from now on; one that did so just before is found by
				 * looking once more.
				 */
				worker_note_leaving(true);
				wait_point("worker is leaving");
				if (!find_queues(cxt, &found) || found.queues != NIL || found.totals != NIL)
					worker_note_leaving(false);
				proc_exit(0);
			}

			/*
			 * None of these keeps the others from their turn, however much
			 * there is to do.
			 */
			more = drain_queues(found.queues, &next_try);
			more |= fold_round(found.totals, &next_try);
			more |= run_periodic_checks();
			note_reads();
			looked_at = GetCurrentTimestamp();
			pgstat_report_stat(true);
			pgstat_report_activity(STATE_IDLE, NULL);
			if (more)
			{
				look = true;
				if (worker_is_awaited() &&
					TimestampDifferenceExceeds(MyStartTimestamp, GetCurrentTimestamp(), BUSY_TURN))
					proc_exit(0);
				continue;
			}
		}

		/*
		 * If other databases wait for a worker, this one stays for naptime at
		 * most.
		 */
		if (!worker_may_stay(true) &&
			TimestampDifferenceExceeds(MyStartTimestamp, GetCurrentTimestamp(), setting_naptime))
			proc_exit(0);

		/*
		 * Under load, the worker rests for a moment to find more changes:
		 * larger batches save more than this time.
		 */
		look = worker_woken();
		if (look && GetCurrentTimestamp() >= look_again)
		{
			pg_usleep(REST * 1000);
			continue;
		}

		/*
		 * That the latch was set need not mean that there are changes: a wait
		 * for a lock in a batch may have set it, too.
		 */
		now = GetCurrentTimestamp();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 Min(Min(setting_naptime, MAX_SLEEP),
							 next_try == DT_NOEND ? MAX_SLEEP : TimestampDifferenceMilliseconds(now, next_try)),
						 wait_event);
		look = worker_woken() || round_has_news();
	}
}

/* note_reads: counts which index tables have been read, as far as that can be done in time */
static void
note_reads(void)
{
	time_limit_begin(setting_batch_timeout);
	usage_note_reads();
	time_limit_end();
}

/*
 * fix_worker_settings
 *		Sets what a worker relies on, whatever ALTER DATABASE or the configuration says.
 *
 * Where postgres_fdw cannot be interrupted while it connects, libpq has it give up.  Feeds refuse
 * servers whose own connect_timeout is longer.
 */
static void
fix_worker_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"session_replication_role", "origin"},
		{"synchronous_commit", "off"},	/* what a crash undoes is still queued */
		{"statement_timeout", "0"},
		{"lock_timeout", "200ms"},	/* other queues are not held up for longer */
		{"idle_in_transaction_session_timeout", "0"},
#if PG_VERSION_NUM >= 170000
		{"transaction_timeout", "0"},
#endif
		{"jit", "off"},
	};

	if (FDW_BLOCKS_TO_CONNECT)
		setenv("PGCONNECT_TIMEOUT", "10", 0);
	synchronous = MemoryContextStrdup(TopMemoryContext, GetConfigOption("synchronous_commit", false, false));
	for (Size i = 0; i < lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * indextable_start_workers
 *		start_workers(): asks the launcher for workers in the current database or, if there
 *		is no launcher, starts one worker.
 */
Datum
indextable_start_workers(PG_FUNCTION_ARGS)
{
	BackgroundWorkerHandle *handle;
	pid_t		pid;

	PreventCommandDuringRecovery("start_workers()");
	if (shared_exists())
	{
		const char *why;

		note_workers_stopped(MyDatabaseId, false);
		request_workers(MyDatabaseId);
		why = why_no_worker(true);
		if (why != NULL)
			ereport(NOTICE,
					(errmsg("no worker is started because %s", why)));
		PG_RETURN_VOID();
	}
	if (catalog_queues(false) == NIL)
	{
		ereport(NOTICE,
				(errmsg("no worker is started because this database has no asynchronous index tables")));
		PG_RETURN_VOID();
	}
	if (!worker_register(MyDatabaseId, -1, 0, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("out of background worker slots"),
				 errhint("You might need to increase max_worker_processes.")));

	/*
	 * Wait until pg_stat_activity shows it, where stop_workers() looks for
	 * it.
	 */
	do
	{
		if (WaitForBackgroundWorkerStartup(handle, &pid) != BGWH_STARTED)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("could not start worker"),
					 errhint("More details may be available in the server log.")));
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 5,
				  new_wait_event("IndextableStart"));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	} while (!is_active(pid));
	PG_RETURN_VOID();
}

/* is_active: returns whether workers() shows a process, which it does by pg_stat_activity */
static bool
is_active(pid_t pid)
{
	pgstat_clear_snapshot();
	return query_as(InvalidOid, "SELECT FROM " IT_SCHEMA ".workers() WHERE pid OPERATOR(pg_catalog.=) %d",
					(int) pid).n > 0;
}

/*
 * indextable_stop_launched
 *		stop_launched(): stops the workers of the current database that the launcher has
 *		started, and has it start no others.  Returns how many there were, or null if there is
 *		no launcher.
 */
Datum
indextable_stop_launched(PG_FUNCTION_ARGS)
{
	int			n;

	/* It would hold after promotion, and could not be undone before. */
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", "stop_workers()"),
				 errdetail("A standby has no workers."),
				 errhint("To have none after promotion either, set indextable.max_workers to 0.")));
	if (!shared_exists())
		PG_RETURN_NULL();
	if (!note_workers_stopped(MyDatabaseId, true))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot stop the workers of any more databases"),
				 errhint("Set indextable.max_workers to 0 to stop all workers.")));
	n = count_workers(MyDatabaseId, true);
	while (count_workers(MyDatabaseId, false) > 0)
	{
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10,
				  new_wait_event("IndextableStop"));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_INT32(n);
}
