/*-------------------------------------------------------------------------
 *
 * worker_slots.h
 *	  Keeps in shared memory what writers, workers and the launcher know of each other, and
 *	  wakes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WORKER_SLOTS_H
#define INDEXTABLE_WORKER_SLOTS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

#include "../util/memory.h"
#include "../util/settings.h"

extern void wake_workers(void);
extern void wake_workers_for_prepared(void);
extern void request_workers(Oid database);
extern bool note_workers_stopped(Oid database, bool stop);
extern int	count_workers(Oid database, bool wake);
extern bool only_workers(List *pids);
extern void register_launcher(void);
extern int	take_worker_requests(Oid *databases);
extern int	slot_reserve(Oid database, bool *enough, uint64 *use);
extern bool slot_release(int slot, uint64 use);
extern int	slots_free_ended(void);
extern void note_short_of_workers(bool short_of_workers);
extern bool slot_take(int slot, uint64 use);
extern bool worker_woken(void);
extern void worker_note_leaving(bool leaving);
extern bool worker_may_stay(bool idle);

/* If more databases than this ask for a worker at a time, the launcher looks at all of them. */
#define MAX_REQUESTS		64

/* The number of fact tables whose activity is kept; the one that is idle longest makes room. */
#define MAX_QUEUES			256

/* A worker that the launcher has started, or is about to start. */
typedef struct WorkerSlot
{
	Oid			database;		/* InvalidOid: the slot is free */
	uint64		use;			/* how often the slot was reserved */
	bool		leaving;		/* the worker is about to exit: writers ask
								 * for another one */
	bool		woken;			/* changes were committed since the worker
								 * last began to look for them; see
								 * worker_woken() */
	int			pid;			/* of the worker, once it has taken the slot */
	Latch	   *latch;			/* NULL: the worker has not taken the slot yet */
} WorkerSlot;

/* What keeps the batches of a queue from being applied; see activity.c. */
typedef struct Trouble
{
	TimestampTz since;			/* when the first of them failed; 0: the last
								 * one has not */
	bool		waiting;		/* other sessions are in the way; otherwise it
								 * is an error */
	Oid			queue_table;	/* the one that they have locked, if that is
								 * why */
	int			worker;			/* the process whose batch has failed last */
	TimestampTz tried_at;		/* when the last one failed */
	TimestampTz next_try;
	int			backoff;		/* the time between these two, in ms */
	TimestampTz logged_at;		/* when the server's log was last told, or the
								 * waiting began */
	uint32		logged;			/* a hash of what it was told; 0: nothing
								 * since the trouble began */
	char		message[256];	/* that of the error */
} Trouble;

/* What the workers of a database have done with the queue of a fact table. */
typedef struct QueueActivity
{
	Oid			database;
	Oid			fact_table;
	Oid			server;			/* whose feeds they are; InvalidOid: the queue
								 * here */
	int64		backlog;		/* of feeds, as of the last batch; -1: not
								 * known */
	TimestampTz oldest;			/* when the oldest of that was made */
	TimestampTz asked_at;		/* when the server of the feeds has answered
								 * last; 0: not since this server started */
	int64		applied;		/* how many changes were applied */
	TimestampTz applied_at;		/* when the last of them were */
	int64		counted;		/* how many of them since ... */
	TimestampTz counted_from;	/* ... the present interval began */
	double		rate;			/* changes per second in the interval before */
	TimestampTz rate_at;		/* when that ended */
	Trouble		trouble;
} QueueActivity;

/* All of it. */
typedef struct Shared
{
	LWLock	   *lock;			/* protects all that follows, but for what is
								 * said otherwise */
	Latch	   *launcher;		/* NULL: none has run yet */
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

/* NULL: the library is not preloaded. */
extern Shared *shared;

extern const SharedPart workers_shared;
extern bool shared_exists(void);

#endif							/* INDEXTABLE_WORKER_SLOTS_H */
