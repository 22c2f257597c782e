/*-------------------------------------------------------------------------
 *
 * shared_memory.c
 *	  What workers, their launcher and writers know of each other: shared memory.
 *
 * Called by queue.c at commit, by launcher.c and worker.c, and by the views that
 * monitor queues.  There is none unless the library is preloaded; then workers
 * are started by hand and wake up by themselves.
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

/* Fact tables whose activity is kept; the longest idle one makes room. */
#define MAX_QUEUES			256

/* The rate is that of so many ms. */
#define RATE_INTERVAL		5000

typedef struct WorkerSlot
{
	Oid			database;		/* InvalidOid: free */
	uint64		use;			/* counts who has had the slot */
	bool		leaving;		/* is not to be counted on */
	bool		woken;			/* since it last began to look for changes */
	Latch	   *latch;			/* NULL: starting */
} WorkerSlot;

typedef struct QueueActivity
{
	Oid			database;
	Oid			fact_table;
	int64		applied;		/* changes */
	TimestampTz applied_at;		/* last */
	int64		counted;		/* of these, in the interval ... */
	TimestampTz counted_from;	/* ... that began here */
	double		rate;			/* in the interval before */
	TimestampTz rate_at;		/* when that ended */
	TimestampTz error_at;
	char		error[256];
} QueueActivity;

typedef struct Shared
{
	LWLock	   *lock;
	Latch	   *launcher;
	int			nrequests;		/* -1: too many, look at all databases */
	Oid			requests[MAX_REQUESTS];
	bool		short_of_workers;	/* some database waits for one */
	int			nstopped;
	Oid			stopped[MAX_REQUESTS];	/* by hand */
	WorkerSlot	workers[MAX_WORKERS];
	QueueActivity queues[MAX_QUEUES];
} Shared;

static Shared *shared = NULL;
static int	my_slot = -1;
static bool finished = false;	/* this worker leaves because there is nothing
								 * to do */
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

/* ---- writers ---- */

/* ---- by hand ---- */

/* ---- the launcher ---- */

/* ---- workers ---- */

/* ---- activity ---- */

static void request_memory(void);
static void attach_memory(void);
static void add_request(Oid database);
static void forget_launcher(int code, Datum arg);
static void leave_slot(int code, Datum arg);
static QueueActivity *activity(Oid fact_table);

/* shared_init: called once, when the library is preloaded */
void
shared_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = attach_memory;
}

static void
request_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
	RequestNamedLWLockTranche("indextable", 1);
}

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

/* shared_exists: whether the library was preloaded */
bool
shared_exists(void)
{
	return shared != NULL;
}

/*
 * wake_workers
 *		Changes of this database have been committed.  If no worker is there, the
 *		launcher is asked for one.
 */
void
wake_workers(void)
{
	if (shared != NULL && !wake_running_workers())
		shared_request(MyDatabaseId);
}

/* wake_running_workers: false if no worker is */
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

/* shared_request: asks the launcher for workers in a database, unless they were stopped by hand */
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

/* shared_stop: has a database's workers leave, and no new ones come; false if there is no room to note it */
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

/* shared_count_workers: in a database, and wakes them, to see whether they may stay */
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

void
shared_set_launcher(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = MyLatch;
	LWLockRelease(shared->lock);
	on_shmem_exit(forget_launcher, (Datum) 0);
}

static void
forget_launcher(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = NULL;
	LWLockRelease(shared->lock);
}

/* shared_take_requests: into an array of MAX_REQUESTS; -1: look at all databases */
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

/* shared_reserve: a slot for a worker of a database; -1 if it has enough or there is none */
int
shared_reserve(Oid database, bool *enough, uint64 *use)
{
	int			here = 0;
	int			all = 0;
	int			slot = -1;
	int			i;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < MAX_WORKERS; i++)
	{
		if (!OidIsValid(shared->workers[i].database))
			slot = slot < 0 ? i : slot;
		else
			all++;
		here += shared->workers[i].database == database;
	}
	*enough = here >= setting_workers_per_database;
	if (*enough || all >= setting_max_workers)
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

/* shared_release: the slot of a worker that has gone without taking it; false if it had */
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

void
shared_set_short(bool short_of_workers)
{
	shared->short_of_workers = short_of_workers;
}

/* shared_take_slot: takes the slot that the launcher has reserved */
void
shared_take_slot(int slot)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->workers[slot].latch = MyLatch;
	LWLockRelease(shared->lock);
	my_slot = slot;
	on_shmem_exit(leave_slot, (Datum) 0);
}

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
 *		Whether changes were committed since the last call.  The latch does not
 *		tell: whatever waits while a batch is applied resets it.
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

/* shared_begin_leaving: from now on writers do not count on this worker; it must look for changes once more */
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

/* shared_may_stay: false if this worker should go, as it was stopped, is one too many, or others wait */
bool
shared_may_stay(bool idle)
{
	int			all = 0;
	int			here = 0;
	bool		stay = true;
	int			i;

	if (my_slot < 0)
		return true;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < shared->nstopped; i++)
		stay &= shared->stopped[i] != MyDatabaseId;
	for (i = 0; i < my_slot; i++)
	{
		all += OidIsValid(shared->workers[i].database);
		here += shared->workers[i].database == MyDatabaseId;
	}
	LWLockRelease(shared->lock);
	return stay && all < setting_max_workers && here < setting_workers_per_database &&
		!(idle && shared->short_of_workers);
}

/* activity: of a fact table of this database; the caller holds the lock exclusively */
static QueueActivity *
activity(Oid fact_table)
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

/* shared_count: changes of a fact table were applied */
void
shared_count(Oid fact_table, int64 changes)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *queue;

	if (shared == NULL || changes == 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = activity(fact_table);
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

/* shared_note_success: a fact table whose batches failed gets on */
void
shared_note_success(Oid fact_table)
{
	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	activity(fact_table)->error[0] = '\0';
	LWLockRelease(shared->lock);
}

/* shared_note_error: a batch of a fact table failed as a whole */
void
shared_note_error(Oid fact_table, const char *message)
{
	QueueActivity *queue;

	if (shared == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = activity(fact_table);
	queue->error_at = GetCurrentTimestamp();
	strlcpy(queue->error, message, sizeof(queue->error));
	LWLockRelease(shared->lock);
}

/*
 * indextable_queue_activity
 *		queue_activity(fact_table regclass, OUT applied bigint, OUT rate float8,
 *		OUT applied_at timestamptz, OUT error text, OUT error_at timestamptz)
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
	 * the interval under way, once it is long enough to tell, or the one
	 * before
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
	/* It may quote rows. */
	if (!isnull[3] && !owns_relation(fact_table, GetUserId()))
		values[3] = CStringGetTextDatum("<insufficient privilege>");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull)));
}
