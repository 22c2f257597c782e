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
#include "lib/dshash.h"
#include "storage/block.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

#include "../catalog/catalog.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/memory.h"
#include "../util/settings.h"

/* What a worker does for a table. */
typedef enum WorkKind
{
	WORK_QUEUE,					/* drains the queue of a fact table, or feeds */
	WORK_FOLDING,				/* folds a table of totals */
	WORK_CHECK,					/* checks an index table, and repairs it */
	WORK_NODE					/* tries to reach another node of Citus */
} WorkKind;

/* What a worker is at. */
typedef struct Work
{
	Oid			database;
	Oid			table;			/* the fact table of a queue, else the index
								 * table; of a node, 1 more than the number of
								 * its group, or 0 for all nodes */
	Oid			server;			/* whose feeds they are; InvalidOid: the queue
								 * on this server */
	WorkKind	kind;
} Work;

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
extern int	slot_reserve(Oid database, int wanted, bool *enough, uint64 *use);
extern bool slot_release(int slot, uint64 use);
extern int	slots_free_ended(void (*note_death) (const Work *work));
extern void note_short_of_workers(bool short_of_workers, bool starving, bool no_room);
extern const char *why_no_worker(bool for_good);
extern const char *why_nobody_drains(void);
extern void notice_nobody_drains(const char *why);
extern bool slot_take(int slot, uint64 use);
extern void note_attempt(const Work *work);
extern void forget_attempt(void);
extern void note_survived(const Work *work);
extern TimestampTz attempted_since(const Work *work);
extern bool worker_woken(void);
extern void worker_note_leaving(bool leaving);
extern bool worker_may_stay(bool idle);
extern bool worker_is_awaited(void);

/* If more databases than this ask for a worker at a time, the launcher looks at all of them. */
#define MAX_REQUESTS		64

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
	Work		attempt;		/* what the worker is at ... */
	TimestampTz attempted_at;	/* ... since then; 0: nothing */
} WorkerSlot;

/* What keeps a worker from its work at a table; see trouble.c. */
typedef struct Trouble
{
	TimestampTz since;			/* when the first attempt failed; 0: the last
								 * one has not */
	bool		waiting;		/* other sessions are in the way; otherwise it
								 * is an error */
	int			worker;			/* the process whose attempt has failed last */
	TimestampTz tried_at;		/* when the last one failed */
	TimestampTz next_try;
	int			backoff;		/* the time between these two, in ms */
	int			cost;			/* the time for which the last one has kept
								 * the worker from other work, in ms */
	int			deaths;			/* number of workers that have ended in it */
	TimestampTz logged_at;		/* when the server's log was last told, or the
								 * waiting began */
	uint32		logged;			/* a hash of what it was told; 0: nothing
								 * since the trouble began */
	char		message[256];	/* that of the error */
} Trouble;

/* What workers have done with a queue, or for an index table. */
typedef struct QueueActivity
{
	Work		work;			/* hash key */
	int64		backlog;		/* of feeds, as of the last batch; -1: not
								 * known */
	TimestampTz oldest;			/* when the oldest of that was made */
	TimestampTz asked_at;		/* when the server of the feeds has answered
								 * last; 0: not since this server started */
	int64		applied;		/* number of changes that were applied */
	TimestampTz applied_at;		/* when the last of them were */
	int64		counted;		/* how many of them since ... */
	TimestampTz counted_from;	/* ... the present interval began */
	double		rate;			/* changes per second in the interval before */
	TimestampTz rate_at;		/* when that ended */
	int			limit;			/* number of changes that a batch may take; 0:
								 * as many as the setting says */
	int			suspects;		/* number of changes at the head of the queue
								 * among which is one that is too slow */
	Trouble		trouble;
} QueueActivity;

/* The bytes of shared memory in which activity is kept first; the server adds to them. */
#define ACTIVITY_BYTES		(256 * 1024)

/* Work during which the server has crashed. */
typedef struct CrashedWork
{
	Work		work;
	int			deaths;			/* number of crashes, one after the other; 0:
								 * nothing is here */
} CrashedWork;

/* What is also in a file; see crash_notes.c. */
typedef struct CrashNotes
{
	uint32		magic;			/* of the form of the file; 0: it has not been
								 * read yet */
	bool		any;			/* there was any crashed work */
	Work		attempts[MAX_WORKERS];	/* what each worker is at; table is
										 * InvalidOid: nothing */
	CrashedWork crashed[MAX_WORKERS];
} CrashNotes;

/* All that is in shared memory from the beginning. */
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
	bool		starving;		/* one that has no worker does; in the same
								 * way */
	bool		no_room;		/* the server has had no room for a worker; in
								 * the same way */
	int			nstopped;
	Oid			stopped[MAX_REQUESTS];	/* databases whose workers were
										 * stopped by hand */
	WorkerSlot	workers[MAX_WORKERS];
	CrashNotes	notes;
	dshash_table_handle activity;	/* of QueueActivity; has locks of its own */
	union
	{
		char		bytes[ACTIVITY_BYTES];
		double		aligned;
	}			area;			/* of the hash table */
} Shared;

/* NULL: the library is not preloaded. */
extern Shared *shared;

extern bool shared_exists(void);

/* crash_notes.c: keeps in a file what workers are at, for the time after a crash of the server */
extern void crash_note_attempt(int slot, const Work *work);
extern void crash_forget(const Work *work);
extern void crash_notes_read(void (*note_deaths) (const Work *work, int deaths));

/* activity.c: keeps in shared memory what workers have done for each table */

extern const SharedPart workers_shared;

/* The interval over which changes are counted to get a rate, in ms. */
#define RATE_INTERVAL		5000

extern void activity_init(void);
extern QueueActivity *activity_find(const Work *work, bool make);
extern void activity_release(QueueActivity *activity);
extern void activity_count(const Work *work, int64 changes);
extern void activity_note_backlog(const Work *work, int64 backlog, TimestampTz oldest);
extern void activity_forget(bool (*is_gone) (const Work *work));

/* trouble.c: keeps what keeps a worker from its work, and how much of it is tried at a time */

/*
 * A queue whose batch has failed is left alone for this time, in ms.  Each time that it
 * fails again it is twice as long, up to the maximum; up to the other one while it only
 * waits.
 */
#define MIN_BACKOFF			100
#define MAX_BACKOFF			60000
#define MAX_WAIT			500

extern bool trouble_of(const Work *work, Trouble *trouble);
extern bool trouble_of_attempt(const Work *work, Trouble *trouble);
extern bool trouble_note_error(const Work *work, ErrorData *error);
extern bool trouble_note(const Work *work, const char *message, int rest, int max_backoff);
extern void trouble_note_death(const Work *work);
extern void trouble_note_deaths(const Work *work, int more);
extern void trouble_end(const Work *work);
extern int	turn_ms(void);
extern int	batch_limit(const Work *work, int most, bool *one_row);
extern void batch_took(const Work *work, int64 changes, int ms, int turn);
extern void batch_was_cut(const Work *work, int64 changes);

/* task.c: runs what a worker does for one table */
extern ErrorData *run_task(const Work *work, void (*run) (void *arg), void *arg,
						   bool (*is_news) (ErrorData *error, void *arg));
extern ErrorData *run_limited(void (*run) (void *arg), void *arg, bool (*is_news) (ErrorData *error, void *arg));
extern int	task_ms(void);

/* owner_turns.c: shares the time of a worker among the owners of the tables that it works for */
extern void owners_search(void);
extern void owners_found(Oid owner);
extern void owners_begin_round(void);
extern bool owner_may_try(Oid owner, TimestampTz *next_try);
extern void owner_took(Oid owner, int ms);

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
	bool		one_row;		/* only those of the row of the first one */
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
	int			again;			/* the time after which the queue is to be
								 * tried again, in ms; 0: it need not be */
	bool		retry_rejected; /* rejected rows are tried again, although
								 * they are not due */
	bool		one_row;		/* a batch takes all changes of one row */
	int64		taken;			/* number of changes that the last batch has
								 * taken, also if it fails */
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
	bool		alone;			/* it is the only row of the transaction */
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
	int64		limit;			/* number of rows that are reconciled at once,
								 * and of changes taken from the queue */
	Reconciliation rows;
	int64		n;				/* number of changes taken */
	int			again;			/* as in DrainPosition */
} Drain;

/* A call of indextable.drain(). */
typedef struct DrainCall
{
	bool		all;			/* an error of one table is a warning */
	int			limit;			/* the size of batches */
	bool		reading;		/* other servers have been read from */
	int64		changes;		/* number of changes applied */
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

/* lost_queue.c: queue tables that were dropped */
extern void queue_note_lost(FactDef *def);
pg_noreturn extern void queue_lost_error(FactDef *def);

/*
 * rejections.c: keeps the rows that have no entries in an asynchronous index table because of
 * an error.
 */
extern void reject_rows(FactDef *def, List *rejected);
extern void rejections_delete_resolved(FactDef *def, int defno, Datum *keys, int n, List *rejected);
extern List *rejections_due(FactDef *def);
extern void rejections_retry_now(Oid index_table, bool values);
extern char *rejection_of(FactDef *def, Oid index_table, Datum *key);

/* queue_scan.c: reads queue tables, and skips what cannot hold anything any more */

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
extern bool queue_is_damaged(FactDef *def);
extern void queues_restore(Oid fact);
extern void refuse_queue_over_foreign(Oid fact);

#endif							/* INDEXTABLE_QUEUE_H */
