/*-------------------------------------------------------------------------
 *
 * shared_memory.c
 *	  Keeps in shared memory what writers, workers and the launcher know of each other, and
 *	  what the views that monitor queues show of the workers' activity.
 *
 * There is no such memory unless the library is preloaded.  Without it workers are started
 * by hand, and wake up by themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/settings.h"
#include "shared_memory.h"

PG_FUNCTION_INFO_V1(indextable_queue_activity);

/* The number of fact tables whose activity is kept; the one that is idle longest makes room. */
#define MAX_QUEUES			256

/* The interval over which changes are counted to get a rate, in ms. */
#define RATE_INTERVAL		5000

/* A worker that the launcher has started, or is about to start. */
typedef struct WorkerSlot
{
	Oid			database;		/* InvalidOid: the slot is free */
	uint64		use;			/* how often the slot was reserved */
	bool		leaving;		/* the worker is about to exit: writers ask
								 * for another one */
	bool		woken;			/* changes were committed since the worker
								 * last began to look for them; see
								 * shared_woken() */
	Latch	   *latch;			/* NULL: the worker has not taken the slot yet */
} WorkerSlot;

/* What the workers of a database have done with the queue of a fact table. */
typedef struct QueueActivity
{
	Oid			database;
	Oid			fact_table;
	int64		applied;		/* how many changes were applied */
	TimestampTz applied_at;		/* when the last of them were */
	int64		counted;		/* how many of them since ... */
	TimestampTz counted_from;	/* ... the present interval began */
	double		rate;			/* changes per second in the interval before */
	TimestampTz rate_at;		/* when that ended */
	TimestampTz error_at;
	char		error[256];		/* empty: the last batch did not fail */
} QueueActivity;

typedef struct Shared
{
	LWLock	   *lock;			/* protects all that follows, but for what is
								 * said otherwise */
	Latch	   *launcher;		/* NULL: it does not run */
	int			nrequests;		/* -1: too many, look at all databases */
	Oid			requests[MAX_REQUESTS]; /* databases that ask for workers */
	bool		short_of_workers;	/* a database waits until another's worker
									 * exits; only the launcher writes it,
									 * without the lock */
	int			nstopped;
	Oid			stopped[MAX_REQUESTS];	/* databases whose workers were
										 * stopped by hand */
	WorkerSlot	workers[MAX_WORKERS];
	QueueActivity queues[MAX_QUEUES];
} Shared;

static Shared *shared = NULL;	/* NULL: the library is not preloaded */
static int	my_slot = -1;		/* -1: this process is no worker with a slot */
static bool finished = false;	/* this worker exits because there is nothing
								 * to do */
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void request_memory(void);
static void attach_memory(void);
static void add_request(Oid database);
static void forget_launcher(int code, Datum arg);
static void leave_slot(int code, Datum arg);
static QueueActivity *get_activity(Oid fact_table);

/* shared_init: sets the hooks that create the memory; called once, when the library is preloaded */
void
shared_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = attach_memory;
}

/* request_memory: tells the server how much shared memory is needed */
static void
request_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
	RequestNamedLWLockTranche("indextable", 1);
}

/* attach_memory: finds the shared memory; the first process creates it */
static void
attach_memory(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("indextable", sizeof(Shared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(Shared));
		shared->lock = &GetNamedLWLockTranche("indextable")->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/* shared_exists: returns whether there is shared memory, because the library is preloaded */
bool
shared_exists(void)
{
	return shared != NULL;
}

/* ---- for writers ---- */

/*
 * wake_workers
 *		Wakes the workers of this database, after changes have been committed.  If there are
 *		none, the launcher is asked for them.
 */
void
wake_workers(void)
{
	if (shared != NULL && !wake_running_workers())
		shared_request(MyDatabaseId);
}

/*
 * wake_running_workers
 *		Wakes the workers of this database.  Returns false if there are none, not even
 *		starting ones, or if they are all about to exit.
 */
bool
wake_running_workers(void)
{
	bool		found = false;
	int			i;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < MAX_WORKERS; i++)
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

/* shared_request: asks the launcher for workers in a database, unless these were stopped by hand */
void
shared_request(Oid database)
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

/* add_request: does that, with the lock held exclusively */
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
 * shared_stop
 *		Notes that a database is to have no workers, or may have them again.  Returns false
 *		if there is no room to note it.  Workers exit when they see it: see shared_may_stay().
 */
bool
shared_stop(Oid database, bool stop)
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
 * shared_count_workers
 *		Returns how many workers a database has.  With wake they are woken, to see whether
 *		they may stay.
 */
int
shared_count_workers(Oid database, bool wake)
{
	int			n = 0;
	int			i;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < MAX_WORKERS; i++)
	{
		if (shared->workers[i].database != database)
			continue;
		n++;
		if (wake && shared->workers[i].latch != NULL)
			SetLatch(shared->workers[i].latch);
	}
	LWLockRelease(shared->lock);
	return n;
}

/* ---- for the launcher ---- */

/* shared_set_launcher: makes this process the launcher, which requests wake, until it exits */
void
shared_set_launcher(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = MyLatch;
	LWLockRelease(shared->lock);
	on_shmem_exit(forget_launcher, (Datum) 0);
}

/* forget_launcher: notes that there is no launcher any more; for on_shmem_exit() */
static void
forget_launcher(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = NULL;
	LWLockRelease(shared->lock);
}

/*
 * shared_take_requests
 *		Moves the databases that ask for workers to an array of MAX_REQUESTS, and returns
 *		how many there are; -1 means that there were too many: look at all databases.
 */
int
shared_take_requests(Oid *databases)
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
 * shared_reserve
 *		Reserves a slot for a worker of a database, and returns its number, and in *use what
 *		shared_release() needs.  Returns -1 if the database has enough workers, which is in
 *		*enough, or if there are as many workers as there may be.
 */
int
shared_reserve(Oid database, bool *enough, uint64 *use)
{
	int			in_database = 0;
	int			total = 0;
	int			slot = -1;
	int			i;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < MAX_WORKERS; i++)
	{
		if (!OidIsValid(shared->workers[i].database))
			slot = slot < 0 ? i : slot;
		else
			total++;
		in_database += shared->workers[i].database == database;
	}
	*enough = in_database >= setting_workers_per_database;
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
 * shared_release
 *		Frees the slot of a worker that has ended, or was not started, without taking it.
 *		Returns false if the worker had taken it, and so has freed it itself.
 */
bool
shared_release(int slot, uint64 use)
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

/* shared_set_short: notes whether a database waits until another's worker exits */
void
shared_set_short(bool short_of_workers)
{
	shared->short_of_workers = short_of_workers;
}

/* ---- for workers ---- */

/* shared_take_slot: takes the slot that the launcher has reserved for this worker, until it exits */
void
shared_take_slot(int slot)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->workers[slot].latch = MyLatch;
	LWLockRelease(shared->lock);
	my_slot = slot;
	on_shmem_exit(leave_slot, (Datum) 0);
}

/*
 * leave_slot
 *		Frees the slot of this worker, and asks for another worker if there may still be
 *		something to do; for on_shmem_exit().
 */
static void
leave_slot(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->workers[my_slot].database = InvalidOid;
	shared->workers[my_slot].latch = NULL;
	LWLockRelease(shared->lock);
	if (!finished)
		shared_request(MyDatabaseId);
}

/*
 * shared_woken
 *		Returns whether changes were committed since the last call.  The latch does not tell,
 *		because any code that waits while a batch is applied resets it.
 *
 * No lock is needed.  A worker calls this before it looks for changes, and the barrier has
 * it look after the flag is cleared.  A commit that sets the flag just before it is cleared
 * is found by that look.  When a worker calls this only to decide whether to sleep, it is
 * woken by its latch, which is set after the flag.
 */
bool
shared_woken(void)
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
 * shared_begin_leaving
 *		Notes that this worker is about to exit because there is nothing to do.
 *
 * From now on writers ask for another worker.  A writer that has still counted on this one
 * has committed before, so the worker has to look for changes once more.
 */
void
shared_begin_leaving(void)
{
	finished = true;
	if (my_slot < 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->workers[my_slot].leaving = true;
	LWLockRelease(shared->lock);
}

/*
 * shared_may_stay
 *		Returns false if this worker should exit: it was stopped by hand, there are more
 *		workers than there may be, or it is idle and another database waits for a worker.
 *
 * Only the slots before its own are counted, so that of too many workers only the last
 * ones exit.
 */
bool
shared_may_stay(bool idle)
{
	int			total = 0;
	int			in_database = 0;
	bool		stay = true;
	int			i;

	if (my_slot < 0)
		return true;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < shared->nstopped; i++)
		stay &= shared->stopped[i] != MyDatabaseId;
	for (i = 0; i < my_slot; i++)
	{
		total += OidIsValid(shared->workers[i].database);
		in_database += shared->workers[i].database == MyDatabaseId;
	}
	LWLockRelease(shared->lock);
	return stay && total < setting_max_workers && in_database < setting_workers_per_database &&
		!(idle && shared->short_of_workers);
}

/* ---- activity ---- */

/*
 * get_activity
 *		Returns the activity of a fact table of this database; it is new if none was kept.
 *		The caller holds the lock exclusively.
 */
static QueueActivity *
get_activity(Oid fact_table)
{
	QueueActivity *oldest = NULL;
	int			i;

	for (i = 0; i < MAX_QUEUES; i++)
	{
		QueueActivity *queue = &shared->queues[i];

		if (queue->fact_table == fact_table && queue->database == MyDatabaseId)
			return queue;
		if (oldest == NULL ||
			Max(queue->applied_at, queue->error_at) < Max(oldest->applied_at, oldest->error_at))
			oldest = queue;
	}
	memset(oldest, 0, sizeof(QueueActivity));
	oldest->database = MyDatabaseId;
	oldest->fact_table = fact_table;
	return oldest;
}

/* shared_count: counts changes of a fact table that were applied */
void
shared_count(Oid fact_table, int64 changes)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *queue;

	if (shared == NULL || changes == 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table);
	if (TimestampDifferenceExceeds(queue->counted_from, now, RATE_INTERVAL))
	{
		if (queue->counted > 0)
		{
			queue->rate = queue->counted * 1000000.0 / (now - queue->counted_from);
			queue->rate_at = now;
		}
		queue->counted = 0;
		queue->counted_from = now;
	}
	queue->counted += changes;
	queue->applied += changes;
	queue->applied_at = now;
	LWLockRelease(shared->lock);
}

/* shared_note_success: forgets the error of a fact table: a batch of it has succeeded */
void
shared_note_success(Oid fact_table)
{
	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	get_activity(fact_table)->error[0] = '\0';
	LWLockRelease(shared->lock);
}

/* shared_note_error: keeps the message of an error with which a whole batch of a fact table failed */
void
shared_note_error(Oid fact_table, const char *message)
{
	QueueActivity *queue;

	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = get_activity(fact_table);
	queue->error_at = GetCurrentTimestamp();
	strlcpy(queue->error, message, sizeof(queue->error));
	LWLockRelease(shared->lock);
}

/*
 * indextable_queue_activity
 *		queue_activity(fact_table regclass, OUT applied bigint, OUT rate float8,
 *		OUT applied_at timestamptz, OUT error text, OUT error_at timestamptz): returns what
 *		workers have done with a queue since the server was started, or null without the
 *		shared memory.
 */
Datum
indextable_queue_activity(PG_FUNCTION_ARGS)
{
	Oid			fact_table = PG_GETARG_OID(0);
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity queue = {0};
	TupleDesc	desc;
	Datum		values[5];
	bool		isnull[5] = {0};
	int			i;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (shared == NULL)
		PG_RETURN_NULL();
	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < MAX_QUEUES; i++)
		if (shared->queues[i].fact_table == fact_table &&
			shared->queues[i].database == MyDatabaseId)
			queue = shared->queues[i];
	LWLockRelease(shared->lock);

	/*
	 * The rate is that of the interval before, unless the present one is long
	 * enough, or is the first.
	 */
	if (now - queue.counted_from > RATE_INTERVAL * INT64CONST(1000) || queue.rate_at == 0)
		queue.rate = queue.counted * 1000000.0 / Max(now - queue.counted_from, 1000000);
	values[0] = Int64GetDatum(queue.applied);
	values[1] = Float8GetDatum(queue.rate);
	values[2] = TimestampTzGetDatum(queue.applied_at);
	isnull[2] = queue.applied_at == 0;
	values[3] = CStringGetTextDatum(queue.error);
	isnull[3] = isnull[4] = queue.error[0] == '\0';
	values[4] = TimestampTzGetDatum(queue.error_at);
	/* The message may quote rows. */
	if (!isnull[3] && !owns_relation(fact_table, GetUserId()))
		values[3] = CStringGetTextDatum("<insufficient privilege>");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull)));
}
