/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  Starts workers in the databases that need them.
 *
 * The launcher is a background worker of its own.  It runs from the end of recovery on, if
 * indextable is in shared_preload_libraries.  When the server starts, it starts workers in
 * each database, as changes may be queued from before; later, writers ask for them.  A
 * worker whose database has no queues exits.
 *
 * If there are more databases with queues than there may be workers, they take turns: a
 * worker that is idle, or has been there for a while, exits, and asks for another one, which
 * comes after those that wait already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_database.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/lock.h"
#include "../util/settings.h"
#include "worker.h"

/* Workers of a database are not started again before this time, in ms. */
#define RETRY_INTERVAL		1000

/* Workers look at every database at least this often, in ms: a dump may have been restored. */
#define VISIT_INTERVAL		600000

/* A worker that was started. */
typedef struct Started
{
	Oid			database;
	int			slot;			/* the slot reserved for it; see
								 * slot_reserve() */
	uint64		use;			/* which use of the slot that is */
	TimestampTz at;
	bool		ended;
	BackgroundWorkerHandle *handle;
} Started;

static List *waiting = NIL;		/* databases that need a worker */
static List *started = NIL;		/* of Started * */
static List *existing = NIL;	/* all databases, as of the last look */

PGDLLEXPORT void indextable_launcher_main(Datum arg);

static int	visit_interval(void);
static void take_requests(void);
static void add_all_databases(void);
static bool is_of_dropped_database(const Work *work);
static bool start_workers(void);
static void add_waiting(Oid database);
static bool started_lately(Oid database);
static bool start_worker(Oid database, int slot, uint64 use);
static bool forget_ended_workers(void);
static bool accepts_connections(Oid database);

/* launcher_init: has the server start the launcher; called once, when the library is preloaded */
void
launcher_init(void)
{
	BackgroundWorker worker;

	if (IsBinaryUpgrade)
		return;
	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "indextable", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "indextable_launcher_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "indextable launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "indextable launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

/* indextable_launcher_main: the main loop of the launcher */
void
indextable_launcher_main(Datum arg)
{
	uint32		wait_event;
	TimestampTz visited_at;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pgstat_report_appname("indextable launcher");
	register_launcher();
	crash_notes_read(trouble_note_deaths);

	wait_event = new_wait_event("IndextableLauncherMain");
	add_all_databases();
	visited_at = GetCurrentTimestamp();
	for (;;)
	{
		bool		none_waits;
		bool		told;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			add_all_databases();	/* more workers may be allowed now */
		}
		told = forget_ended_workers();
		take_requests();
		if (TimestampDifferenceExceeds(visited_at, GetCurrentTimestamp(), visit_interval()))
		{
			add_all_databases();
			visited_at = GetCurrentTimestamp();
		}
		none_waits = start_workers();
		WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
				  none_waits && told ? visit_interval() : RETRY_INTERVAL, wait_event);
	}
}

/*
 * visit_interval
 *		Returns how often a worker looks at every database, in ms.  It is no longer than
 *		indextable.check_interval: a database without queues has no worker, but may have
 *		index tables to be checked.
 */
static int
visit_interval(void)
{
	return setting_check_interval == 0 || setting_check_interval > VISIT_INTERVAL / 1000 ?
		VISIT_INTERVAL : setting_check_interval * 1000;
}

/* take_requests: adds the databases that have asked for workers to those that wait */
static void
take_requests(void)
{
	Oid			databases[MAX_REQUESTS];
	int			n = take_worker_requests(databases);

	for (int i = 0; i < n; i++)
		add_waiting(databases[i]);
	if (n < 0)
		add_all_databases();
}

/*
 * add_all_databases
 *		Adds all databases that accept connections to those that wait; forgets what is kept of
 *		dropped ones.
 */
static void
add_all_databases(void)
{
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;
	MemoryContext old;

	list_free(existing);
	existing = NIL;
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);

		if (form->datallowconn && !form->datistemplate)
			add_waiting(form->oid);
		old = MemoryContextSwitchTo(TopMemoryContext);
		existing = lappend_oid(existing, form->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	activity_forget(is_of_dropped_database);
}

/*
 * is_of_dropped_database
 *		Returns whether something is of a database that does not exist any more; for
 *		activity_forget().
 */
static bool
is_of_dropped_database(const Work *work)
{
	return !list_member_oid(existing, work->database);
}

/*
 * start_workers
 *		Starts workers for the databases that wait, as many as may be, one for each before any gets
 *		another.  Returns whether no database is left that waits.
 */
static bool
start_workers(void)
{
	List	   *wanting = waiting;
	bool		full = false;
	bool		starving = false;
	bool		no_room = false;

	waiting = NIL;
	for (int n = 1; wanting != NIL; n++)
	{
		List	   *more = NIL;

		foreach_oid(database, wanting)
		{
			bool		now = !started_lately(database) && !is_database_lock_awaited(database);
			bool		enough = false;
			bool		waits;
			uint64		use;
			int			slot = -1;

			if (now && !accepts_connections(database))
				continue;
			if (now && !no_room)
			{
				slot = slot_reserve(database, n, &enough, &use);
				no_room = slot >= 0 && !start_worker(database, slot, use);
			}
			waits = !now || (!enough && (slot < 0 || no_room));
			full |= now && waits;
			starving |= now && waits && n == 1;
			if (waits)
				add_waiting(database);
			else if (n < setting_workers_per_database)
				more = lappend_oid(more, database);
		}
		list_free(wanting);
		wanting = more;
	}
	note_short_of_workers(full, starving, no_room);
	return waiting == NIL;
}

/*
 * add_waiting
 *		Adds a database to those that wait for workers, at the end, unless it waits already.
 */
static void
add_waiting(Oid database)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	waiting = list_append_unique_oid(waiting, database);
	MemoryContextSwitchTo(old);
}

/*
 * started_lately
 *		Returns whether a worker of a database was started so lately, and has ended again, that
 *		something may be wrong with it.
 */
static bool
started_lately(Oid database)
{
	TimestampTz now = GetCurrentTimestamp();

	foreach_ptr(Started, s, started)
	{
		if (s->database == database && s->ended &&
			!TimestampDifferenceExceeds(s->at, now, RETRY_INTERVAL))
			return true;
	}
	return false;
}

/*
 * start_worker
 *		Starts a worker with a reserved slot; returns false if the server has no room for it.
 */
static bool
start_worker(Oid database, int slot, uint64 use)
{
	static bool told = false;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Started    *s = palloc0(sizeof(Started));
	bool		registered;

	s->database = database;
	s->slot = slot;
	s->use = use;
	s->at = GetCurrentTimestamp();
	registered = worker_register(database, slot, use, &s->handle);
	if (registered)
		started = lappend(started, s);
	else
	{
		slot_release(slot, use);
		pfree(s);
		if (!told)
			ereport(LOG,
					(errmsg("out of background worker slots for indextable"),
					 errhint("You might need to increase max_worker_processes.")));
		told = true;
	}
	MemoryContextSwitchTo(old);
	return registered;
}

/*
 * forget_ended_workers
 *		Frees the slots of workers that have ended, and forgets these workers, once
 *		RETRY_INTERVAL is over.  If one has ended before it took its slot, its database waits
 *		for another one.  Returns whether the server tells this process when a worker ends: not
 *		of workers that another launcher has started.
 */
static bool
forget_ended_workers(void)
{
	TimestampTz now = GetCurrentTimestamp();
	int			running = 0;

	foreach_ptr(Started, s, started)
	{
		pid_t		pid;

		if (!s->ended && GetBackgroundWorkerPid(s->handle, &pid) == BGWH_STOPPED)
		{
			s->ended = true;
			if (slot_release(s->slot, s->use))
				add_waiting(s->database);
		}
		running += !s->ended;
		if (s->ended && TimestampDifferenceExceeds(s->at, now, RETRY_INTERVAL))
		{
			started = foreach_delete_current(started, s);
			pfree(s->handle);
			pfree(s);
		}
	}
	return slots_free_ended(trouble_note_death) <= running;
}

/* accepts_connections: returns whether a database still exists, and allows connections */
static bool
accepts_connections(Oid database)
{
	HeapTuple	tuple;
	bool		result;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	result = HeapTupleIsValid(tuple) && ((Form_pg_database) GETSTRUCT(tuple))->datallowconn;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	CommitTransactionCommand();
	return result;
}
