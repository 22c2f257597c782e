/*-------------------------------------------------------------------------
 *
 * queue.h
 *	  Offers the queues of changes: how they are appended to, drained and counted, and what
 *	  workers know of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_QUEUE_H
#define INDEXTABLE_QUEUE_H

#include "access/xact.h"
#include "storage/block.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

#include "../catalog/catalog.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/memory.h"
#include "../util/settings.h"

/*
 * worker_slots.c: keeps in shared memory what writers, workers and the launcher know of each
 * other, and wakes them.
 */
extern void wake_workers(void);
extern void wake_workers_for_prepared(void);
extern void request_workers(Oid database);
extern bool note_workers_stopped(Oid database, bool stop);
extern int	count_workers(Oid database, bool wake);
extern bool is_worker(int pid);
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

/* activity.c: keeps in shared memory what workers have done with each queue */

/* The interval over which changes are counted to get a rate, in ms. */
#define RATE_INTERVAL		5000

extern void activity_count(Oid fact_table, Oid server, int64 changes);
extern void activity_note_backlog(Oid fact_table, Oid server, int64 backlog, TimestampTz oldest);

/*
 * A queue whose batch has failed is left alone for this time, in ms.  Each time that it
 * fails again it is twice as long, up to the maximum; up to the other one while it only
 * waits.
 */
#define MIN_BACKOFF			100
#define MAX_BACKOFF			60000
#define MAX_WAIT			500

extern bool trouble_of(Oid fact_table, Oid server, Trouble *trouble);
extern bool trouble_note_error(Oid fact_table, Oid server, ErrorData *error);
extern void trouble_end(Oid fact_table, Oid server);

/* task.c: runs what a worker does for one table */
extern ErrorData *run_task(void (*run) (void *arg), void *arg, bool (*is_news) (ErrorData *error, void *arg));

/* adopt_restored.c: adopts the index tables that a restore has brought from a dump */
extern void adopt_restored(Oid altered);
extern void adopt_all(void);

/*
 * append.c: collects the primary keys of changed rows, and appends them to the queue before
 * the transaction commits.
 */
extern void queue_init(void);
extern void queue_before_commit(void);
extern void queue_at_end(bool committed);
extern void queue_at_abort_of(SubTransactionId sub);
extern void queue_before_subcommit(void);
extern void queue_at_commit_to(SubTransactionId parent);
extern void queue_collect(FactDef *def, Leaf *leaf, TupleTableSlot *row);
extern void queue_collect_key(FactDef *def, Leaf *leaf, Datum *key);
extern bool queue_append(FactDef *def, Oid queue, HeapTuple *rows, int n);
extern void queue_write(void);
extern bool queue_pending(Oid fact);
extern void queue_wake_at_commit(void);

/*
 * backlog.c: counts what is queued, and how fast that grows, and warns writers or slows them
 * down when it is too much.
 */

/* Where the queue tables of a fact table ended at some time. */
typedef struct QueueEnds
{
	Oid			relid[2];		/* InvalidOid: not known */
	int64		bytes[2];
} QueueEnds;

/* What is queued for a fact table. */
typedef struct QueueCount
{
	int64		changes;
	TimestampTz oldest;			/* when the oldest change was made; DT_NOEND:
								 * there is none */
	int64		bytes;			/* the size of the queue tables */
} QueueCount;

extern TimestampTz queue_row_time(HeapTuple tuple);
extern void backlog_check(FactDef *def, Relation queue, HeapTuple last);
extern bool count_queue(FactTableRow *queue, QueueCount *count);
extern int64 queue_growth(Oid fact_table, QueueEnds *ends);
extern bool queue_of_index_table(Oid index_table, FactTableRow *queue);
extern void report_own_changes(Oid fact_table, bool can_drain);
extern bool wait_for_queue(FactTableRow *queue, int64 max_lag, int64 timeout);

/* batch_keys.c: reads the keys of a batch from the queue, sorts them, and deletes them */

/* The keys of a batch, and where in the queue they are. */
typedef struct Keys
{
	FactDef    *def;
	int			limit;			/* at most this many are read */
	Snapshot	start;			/* keys that it sees are old; NULL: it does
								 * not matter */
	bool		old;			/* at least one of them is old */
	int			n;
	Datum	   *values;			/* n * npk */
	ItemPointerData *tids;
	int			nspare;			/* the first nspare of them are in the spare
								 * table, the others in the one in use */
} Keys;

/*
 * Where in the two queue tables the next batch of a transaction goes on, and what is
 * known after the last one.
 */
typedef struct DrainPosition
{
	Snapshot	start;			/* batches go on until what it sees is
								 * applied; NULL: until the caller stops */
	Snapshot	reading;		/* keys and rows are read with this one; NULL:
								 * with a new one in each batch */
	bool		caught_up;		/* no such change is left in the queue */
	bool		again;			/* the queue is to be tried again soon */
	bool		retry_rejected; /* rejected rows are tried again, although
								 * they are not due */
	Oid			relid[2];		/* the queue tables */
	BlockNumber block[2];		/* where to go on in them */
} DrainPosition;

extern bool any_left(FactDef *def, Snapshot now, Snapshot start);
extern void copy_key(Keys *keys, Datum *row);
extern void delete_keys(Keys *keys);
extern void read_keys(Keys *keys, Snapshot snapshot, DrainPosition *position);
extern int	sort_keys(FactDef *def, Datum *values, int nvalues);

/* reconcile.c: finds what has to be written for the entries of rows to be what they should be */

/* A row that is rejected by an index table. */
typedef struct RejectedRow
{
	int			defno;			/* of the index table in def->defs */
	Datum	   *key;
	Rejection	why;
	bool		retry;			/* is tried again after a while, even if the
								 * row does not change */
} RejectedRow;

/* Rows, given by their primary keys, and what has to be written for them. */
typedef struct Reconciliation
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;		/* the rows are read as it sees them */
	int			from;			/* the index tables are defs[from] ... */
	int			to;				/* ... to defs[to - 1] */
	bool		withhold;		/* the rows are to have no entries */
	Datum	   *keys;			/* n * npk, in the order of the primary key */
	ItemPointerData *tids;		/* where the rows are, or NULL if that is not
								 * known */
	Relation	part;			/* with tids: the table that they are in,
								 * which is the fact table or one of its
								 * partitions */
	/* The table with the row of a key; NULL: that of its partition. */
	Oid			(*leaf_of) (void *reconciliation, Datum *key);
	void	   *leaves;			/* for leaf_of() */
	bool		fresh;			/* the rows have no entries yet */
	int			n;				/* rows */
	OpList	   *lists;			/* result: what to write, by defno - from */
	List	   *rejected;		/* result: of RejectedRow * */
} Reconciliation;

extern void reconcile_rows(Reconciliation *r);
extern bool have_no_entries(Reconciliation *r, int defno);

/* drain.c: applies what is queued to asynchronous index tables, and locks a queue against drains */

/* A batch that is drained under the drain lock. */
typedef struct Drain
{
	const ChangeSource *source; /* NULL: the queue of the fact table */
	void	   *arg;			/* of the source */
	int64		limit;			/* so many rows are reconciled at once, and so
								 * many changes taken from the queue */
	Reconciliation rows;
	int64		n;				/* so many changes were taken */
	bool		again;			/* it is to be tried again soon */
} Drain;

/* A call of indextable.drain(). */
typedef struct DrainCall
{
	bool		all;			/* an error of one table is a warning */
	int			limit;			/* the size of batches */
	bool		reading;		/* other servers have been read from */
	int64		changes;		/* so many were applied */
} DrainCall;

/*
 * Before writers are kept out to drain the rest of a queue, it is drained until at most
 * this many changes are left, if that can be reached.
 */
#define FEW_CHANGES			1000

extern bool with_queue_locked(Oid fact_table, void (*work) (FactDef *def, Relation fact, void *arg), void *arg);
extern void drain_from(Oid fact_table, Drain *drain);
extern void drain_end(DrainPosition *position);
extern void drain_queue(Oid fact_table, int few);
extern void check_row_indexes(FactDef *def);
extern void apply_keys(Reconciliation *r);
extern bool drain_batch(Oid fact_table, int limit, DrainPosition *position, int64 *changes);

/*
 * rejections.c: keeps the rows that have no entries in an asynchronous index table because of
 * an error.
 */
extern void reject_rows(FactDef *def, List *rejected);
extern void rejections_delete_resolved(FactDef *def, int defno, Datum *keys, int n, List *rejected);
extern List *rejections_due(FactDef *def);
extern void rejections_retry_now(Oid index_table, bool values);
extern char *rejection_of(FactDef *def, Oid index_table, Datum *key);

/* scan.c: reads queue tables, and skips what cannot hold anything any more */

/* Is called for a row of a queue table; returns false to stop the scan. */
typedef bool (*queue_visitor) (HeapTuple tuple, void *arg);

extern bool queue_scan(Relation rel, Snapshot snapshot, BlockNumber *position,
					   queue_visitor visit, void *arg);
extern BlockNumber queue_count_pending_blocks(Relation rel);
extern bool queue_is_removable(Relation rel);

/* tables.c: creates, adopts, drops and empties the queue tables of a fact table */
extern void refuse_feed_over_foreign(Oid fact);
extern void queue_belongs_to(FactDef *def, Oid queue);
extern void queues_create(FactDef *def, bool feed);
extern void queues_adopt(Oid fact);
extern bool queues_drop(Oid fact, bool wait);
extern void queues_make_anew(FactDef *def);
extern List *queues_used_last(Oid fact, Oid index_table);
extern void queues_rotate(FactDef *def);
extern void queues_restore(Oid fact);
extern void refuse_queue_over_foreign(Oid fact);

#endif							/* INDEXTABLE_QUEUE_H */
