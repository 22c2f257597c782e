/*-------------------------------------------------------------------------
 *
 * worker_slots.c
 *	  Keeps in shared memory what writers, workers and the launcher know of each other: which
 *	  databases ask for workers, which workers there are, and whom to wake.
 *
 * Without the shared memory only wake_workers(), wake_workers_for_prepared(), why_nobody_drains() and the
 * functions worker_...() may be called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"

#include "../catalog/catalog.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "queue.h"

PG_FUNCTION_INFO_V1(indextable_why_no_worker);

static int	my_slot = -1;		/* -1: this process is no worker with a slot */

static void add_request(Oid database);
static bool has_ended(const WorkerSlot *slot);

/* ---- for writers ---- */

Shared	   *shared = NULL;

static bool wake_running_workers(void);

/*
 * wake_workers
 *		Wakes the workers of this database, after changes have been committed.  If there are
 *		none, the launcher is asked for them.
 */
void
wake_workers(void)
{
	if (shared != NULL && !wake_running_workers())
		request_workers(MyDatabaseId);
}

/*
 * wake_running_workers
 *		Wakes the workers of this database.  Returns false if there are none, not even
 *		starting ones, or if they are all about to exit.
 */
static bool
wake_running_workers(void)
{
	bool		found = false;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		WorkerSlot *slot = &shared->workers[i];

		if (slot->database != MyDatabaseId || slot->leaving)
			continue;
		found = true;
		slot->woken = true;
		if (slot->latch != NULL)
			SetLatch(slot->latch);
	}
	LWLockRelease(shared->lock);
	return found;
}

/*
 * request_workers
 *		Asks the launcher for workers in a database, unless these were stopped by hand.
 */
void
request_workers(Oid database)
{
	int			i;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < shared->nstopped; i++)
		if (shared->stopped[i] == database)
			break;
	if (i == shared->nstopped)
		add_request(database);
	LWLockRelease(shared->lock);
}

/* add_request: adds a request for workers in a database; the lock is held exclusively */
static void
add_request(Oid database)
{
	int			i;

	for (i = 0; i < shared->nrequests && shared->requests[i] != database; i++)
		;
	if (i == MAX_REQUESTS)
		shared->nrequests = -1;
	else if (i == shared->nrequests)
		shared->requests[shared->nrequests++] = database;
	if (shared->launcher != NULL)
		SetLatch(shared->launcher);
}

/* ---- for users who start and stop workers ---- */

/*
 * note_workers_stopped
 *		Notes that a database is to have no workers, or may have them again.  Returns false
 *		if there is no room to note it.  Workers exit when they see it: see worker_may_stay().
 */
bool
note_workers_stopped(Oid database, bool stop)
{
	bool		noted = true;
	int			i;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < shared->nstopped && shared->stopped[i] != database; i++)
		;
	if (stop && i == MAX_REQUESTS)
		noted = false;
	else if (stop && i == shared->nstopped)
		shared->stopped[shared->nstopped++] = database;
	else if (!stop && i < shared->nstopped)
		shared->stopped[i] = shared->stopped[--shared->nstopped];
	LWLockRelease(shared->lock);
	return noted;
}

/*
 * count_workers
 *		Returns how many workers a database has.  With wake they are woken, to see whether
 *		they may stay.
 */
int
count_workers(Oid database, bool wake)
{
	int			n = 0;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (shared->workers[i].database != database || has_ended(&shared->workers[i]))
			continue;
		n++;
		if (wake && shared->workers[i].latch != NULL)
			SetLatch(shared->workers[i].latch);
	}
	LWLockRelease(shared->lock);
	return n;
}

/* is_worker: returns whether a process is a worker that the launcher has started */
bool
is_worker(int pid)
{
	bool		found = false;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_WORKERS; i++)
		found |= shared->workers[i].latch != NULL && shared->workers[i].pid == pid &&
			!has_ended(&shared->workers[i]);
	LWLockRelease(shared->lock);
	return found;
}

/*
 * why_no_worker
 *		Returns why this database has no worker, or NULL if it has one, or will have one as soon as
 *		it needs one.  With for_good, that its turn comes later is no reason.
 */
const char *
why_no_worker(bool for_good)
{
	bool		stopped = false;

	if (shared == NULL || RecoveryInProgress() || count_workers(MyDatabaseId, false) > 0)
		return NULL;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < shared->nstopped; i++)
		stopped |= shared->stopped[i] == MyDatabaseId;
	LWLockRelease(shared->lock);
	if (stopped)
		return "the workers of this database have been stopped";
	if (setting_max_workers == 0)
		return "indextable.max_workers is 0";
	if (shared->no_room)
		return "max_worker_processes leaves no room for a worker";
	if (shared->starving && !for_good)
		return "all workers that indextable.max_workers allows are in other databases";
	return NULL;
}

/*
 * why_nobody_drains
 *		Returns why this database has no worker, and will have none, for notice_nobody_drains();
 *		NULL if it has one or will have one, or notices are turned off.
 */
const char *
why_nobody_drains(void)
{
	if (!setting_advice)
		return NULL;
	if (shared != NULL)
		return why_no_worker(true);
	if (RecoveryInProgress() || query_as(InvalidOid, "SELECT FROM " IT_SCHEMA ".workers()").n > 0)
		return NULL;
	return "indextable is not in shared_preload_libraries, and start_workers() was not called";
}

/*
 * notice_nobody_drains
 *		Raises a notice that no worker applies queued changes, and what to do, unless why is
 *		NULL.
 */
void
notice_nobody_drains(const char *why)
{
	bool		can_start = shared == NULL || (setting_max_workers > 0 && !shared->no_room);

	if (why == NULL)
		return;
	ereport(NOTICE,
			(errmsg("no worker applies queued changes in this database because %s", why),
			 can_start ?
			 errhint("To have a worker apply them, run SELECT " IT_SCHEMA ".start_workers(); to apply those of now, run SELECT " IT_SCHEMA ".drain(); to turn these notices off, run SET indextable.advice = off;") :
			 errhint("To apply those of now, run SELECT " IT_SCHEMA ".drain(); to turn these notices off, run SET indextable.advice = off;")));
}

/* indextable_why_no_worker: why_no_worker() for the view queues */
Datum
indextable_why_no_worker(PG_FUNCTION_ARGS)
{
	const char *why = why_no_worker(false);

	if (why == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(why));
}

/* ---- for the launcher ---- */

/*
 * register_launcher
 *		Makes this process the launcher, which requests wake.
 *
 * When it ends, its latch stays where it is in shared memory.  Until the next launcher begins,
 * which looks at all databases, requests wake nobody, or another process, which goes back to
 * sleep.  The next one is not told whether workers that have not taken their slots ever will.
 * So it frees these slots; see slot_take().
 */
void
register_launcher(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = MyLatch;
	for (int i = 0; i < MAX_WORKERS; i++)
		if (shared->workers[i].latch == NULL)
			shared->workers[i].database = InvalidOid;
	LWLockRelease(shared->lock);
}

/*
 * take_worker_requests
 *		Moves the databases that ask for workers to an array of MAX_REQUESTS, and returns
 *		how many there are; -1 means that there were too many: look at all databases.
 */
int
take_worker_requests(Oid *databases)
{
	int			n;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	n = shared->nrequests;
	if (n > 0)
		memcpy(databases, shared->requests, sizeof(Oid) * n);
	shared->nrequests = 0;
	LWLockRelease(shared->lock);
	return n;
}

/*
 * slot_reserve
 *		Reserves a slot for a worker of a database, and returns its number, and in *use what
 *		slot_release() needs.  Returns -1 if the database has enough workers, which is in
 *		*enough, or if there are as many workers as there may be.
 */
int
slot_reserve(Oid database, int wanted, bool *enough, uint64 *use)
{
	int			in_database = 0;
	int			total = 0;
	int			slot = -1;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (!OidIsValid(shared->workers[i].database))
			slot = slot < 0 ? i : slot;
		else
			total++;
		in_database += shared->workers[i].database == database && !shared->workers[i].leaving;
	}
	*enough = in_database >= Min(wanted, setting_workers_per_database);
	if (*enough || total >= setting_max_workers)
		slot = -1;
	if (slot >= 0)
	{
		shared->workers[slot].database = database;
		shared->workers[slot].latch = NULL;
		shared->workers[slot].leaving = false;
		*use = ++shared->workers[slot].use;
	}
	LWLockRelease(shared->lock);
	return slot;
}

/*
 * slot_release
 *		Frees the slot of a worker that has ended, or was not started, without taking it.
 *		Returns false if the worker had taken it, and so has freed it itself.
 */
bool
slot_release(int slot, uint64 use)
{
	WorkerSlot *w = &shared->workers[slot];
	bool		unused;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	unused = OidIsValid(w->database) && w->use == use && w->latch == NULL;
	if (unused)
		w->database = InvalidOid;
	LWLockRelease(shared->lock);
	return unused;
}

/*
 * has_ended
 *		Returns whether the process that has taken a slot has ended.  By the latch another
 *		process that has got its number is told from it.
 */
static bool
has_ended(const WorkerSlot *slot)
{
	PGPROC	   *proc = slot->latch == NULL ? NULL : BackendPidGetProc(slot->pid);

	return slot->latch != NULL && (proc == NULL || slot->latch != &proc->procLatch);
}

/*
 * slots_free_ended
 *		Frees the slots of workers that have ended, and asks for other workers in their
 *		databases if there may still be something to do.  Calls a function with what they were at,
 *		which has ended them as far as anybody can tell.  Returns how many slots are in use.
 *
 * The launcher frees the slots, not the workers, because these may be ended at any point: a
 * process that ends should need nothing in shared memory.  Until then writers take such a
 * worker for a running one, and so what they have queued meanwhile needs the other worker.
 */
int
slots_free_ended(void (*note_death) (const Work *work))
{
	int			used = 0;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		WorkerSlot *slot = &shared->workers[i];
		Oid			database = InvalidOid;
		Work		attempt = {0};

		LWLockAcquire(shared->lock, LW_EXCLUSIVE);
		if (OidIsValid(slot->database) && has_ended(slot))
		{
			database = slot->leaving ? InvalidOid : slot->database;
			if (slot->attempted_at != 0)
				attempt = slot->attempt;
			slot->database = InvalidOid;
			slot->latch = NULL;
			crash_note_attempt(i, NULL);
		}
		used += OidIsValid(slot->database);
		LWLockRelease(shared->lock);
		if (OidIsValid(attempt.table))
			note_death(&attempt);
		if (OidIsValid(database))
			request_workers(database);
	}
	return used;
}

/*
 * note_short_of_workers
 *		Notes whether a database waits until another's worker exits, whether one has none at all,
 *		and whether the server has had no room for a background worker.
 */
void
note_short_of_workers(bool short_of_workers, bool starving, bool no_room)
{
	shared->short_of_workers = short_of_workers;
	shared->starving = starving;
	shared->no_room = no_room;
}

/* ---- for workers ---- */

/*
 * slot_take
 *		Takes the slot that the launcher has reserved for this worker, until it ends; see
 *		slots_free_ended().  Returns false if another launcher, which starts workers of its own,
 *		has freed it.
 */
bool
slot_take(int slot, uint64 use)
{
	WorkerSlot *w = &shared->workers[slot];
	bool		reserved;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	reserved = OidIsValid(w->database) && w->use == use;
	if (reserved)
	{
		w->pid = MyProcPid;
		w->latch = MyLatch;
		w->attempted_at = 0;
		my_slot = slot;
	}
	LWLockRelease(shared->lock);
	return reserved;
}

/*
 * note_attempt
 *		Notes what this worker is at from now on, which is to be left alone if it ends the
 *		worker.
 */
void
note_attempt(const Work *work)
{
	if (my_slot < 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->workers[my_slot].attempt = *work;
	shared->workers[my_slot].attempted_at = GetCurrentTimestamp();
	crash_note_attempt(my_slot, work);
	LWLockRelease(shared->lock);
}

/*
 * forget_attempt
 *		Notes that this worker has ended that, or will, and not because of it; needs no lock.
 */
void
forget_attempt(void)
{
	if (my_slot < 0)
		return;
	shared->workers[my_slot].attempted_at = 0;
	crash_note_attempt(my_slot, NULL);
}

/* note_survived: notes that an attempt at some work has ended without ending this worker */
void
note_survived(const Work *work)
{
	forget_attempt();
	if (shared != NULL)
		crash_forget(work);
}

/* attempted_since: returns since when a worker is at some work; 0: none is */
TimestampTz
attempted_since(const Work *work)
{
	TimestampTz since = 0;

	if (shared == NULL)
		return 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_WORKERS && since == 0; i++)
	{
		WorkerSlot *slot = &shared->workers[i];

		if (OidIsValid(slot->database) && !has_ended(slot) && memcmp(&slot->attempt, work, sizeof(Work)) == 0)
			since = slot->attempted_at;
	}
	LWLockRelease(shared->lock);
	return since;
}

/*
 * worker_woken
 *		Returns whether changes were committed since the last call.  The latch does not tell,
 *		because any code that waits while a batch is applied resets it.
 *
 * No lock is needed.  A worker calls this before it looks for changes, and the barrier has
 * it look after the flag is cleared.  A commit that sets the flag just before it is cleared
 * is found by that look.  When a worker calls this only to decide whether to sleep, it is
 * woken by its latch, which is set after the flag.
 */
bool
worker_woken(void)
{
	bool		woken;

	if (my_slot < 0)
		return false;
	woken = shared->workers[my_slot].woken;
	shared->workers[my_slot].woken = false;
	pg_memory_barrier();
	return woken;
}

/*
 * worker_note_leaving
 *		Notes that this worker is about to exit because there is nothing to do, or that there
 *		is something to do for it or its successor.
 *
 * While it is leaving, writers ask for another worker.  A writer that has still counted on
 * this one has committed before, so the worker has to look for changes once more.
 */
void
worker_note_leaving(bool leaving)
{
	if (my_slot < 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->workers[my_slot].leaving = leaving;
	LWLockRelease(shared->lock);
}

/*
 * worker_may_stay
 *		Returns false if this worker should exit: it was stopped by hand, there are more
 *		workers than there may be, or it is idle, or not the only one of its database, and another
 *		database waits for a worker.
 *
 * Only the slots before its own are counted, so that of too many workers only the last
 * ones exit.
 */
bool
worker_may_stay(bool idle)
{
	int			total = 0;
	int			in_database = 0;
	bool		stay = true;

	if (my_slot < 0)
		return true;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < shared->nstopped; i++)
		stay &= shared->stopped[i] != MyDatabaseId;
	for (int i = 0; i < my_slot; i++)
	{
		total += OidIsValid(shared->workers[i].database);
		in_database += shared->workers[i].database == MyDatabaseId && !shared->workers[i].leaving;
	}
	LWLockRelease(shared->lock);
	return stay && total < setting_max_workers && in_database < setting_workers_per_database &&
		!(idle && shared->short_of_workers) && !(in_database > 0 && shared->starving);
}

/*
 * worker_is_awaited
 *		Returns whether another database has to wait until a worker such as this one exits.
 */
bool
worker_is_awaited(void)
{
	return my_slot >= 0 && shared->starving;
}

/*
 * wake_workers_for_prepared
 *		Wakes workers after COMMIT PREPARED, if the library is preloaded, so that they can be woken.
 *
 * The session that runs it has changed nothing itself, so any transaction may have queued
 * something.  By now others see that, and its locks are released.
 */
void
wake_workers_for_prepared(void)
{
	volatile bool any = false;
	ErrorData  *error;

	if (shared == NULL || wake_running_workers())
		return;

	/*
	 * The transaction is committed: an error in reading the catalog must not
	 * make it look as if it were not.
	 */
	CATCHING_ERRORS(error, any = catalog_queues(false) != NIL);
	if (error == NULL && any)
		request_workers(MyDatabaseId);
}

/* shared_exists: returns whether there is shared memory, because the library is preloaded */
bool
shared_exists(void)
{
	return shared != NULL;
}
