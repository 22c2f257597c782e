/*-------------------------------------------------------------------------
 *
 * drain_round.c
 *	  Drains one batch of each queue of a database, as a worker does again and again, and
 *	  decides what becomes of a queue whose batch has failed.
 *
 * Such a queue is left alone for a while: see activity.c.  That is half a second at most if
 * the batch has waited in vain for a lock that another session has, such as that of a drain.  If
 * there was an error, it may be mended by DDL: then the server tells this process what has
 * changed, and the queue is tried again at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/foreign/foreign.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "worker.h"

/* So often it is seen whether index tables were created on another node of Citus, in ms. */
#define ADOPT_INTERVAL		10000

/* After an error the batch is not tried again before this time because of DDL, in ms. */
#define NEWS_INTERVAL		1000

/* A queue that the worker drains. */
typedef struct Queue
{
	Oid			fact_table;
	Oid			server;			/* whose feeds they are; InvalidOid: the queue
								 * on this server */
} Queue;

/* What has changed in this database since the process began: these count. */
typedef struct News
{
	uint64		any;			/* of what may mend an error */
	uint64		code;			/* of functions, domains and casts only */
} News;

/* What had changed when a queue was last tried. */
typedef struct Heard
{
	Queue		queue;			/* hash key */
	News		news;
} Heard;

static News news;
static HTAB *heard = NULL;		/* of Heard */
static bool in_trouble = false; /* whether a queue is left alone */
static uint64 news_of_round;	/* news.any when the last round ended */
static char draining[4 * NAMEDATALEN + 8] = ""; /* the fact table whose batch
												 * is being drained */
static const char *synchronous; /* what synchronous_commit was before the
								 * worker has changed it */

/* So many entries must have been added to a table of totals before it is folded. */
#define MIN_ADDED			50

/* So many are replaced in one transaction. */
#define FOLDED_AT_ONCE		50000

/* How many entries had been inserted into a table of totals when it was last folded. */
typedef struct Added
{
	Oid			index_table;	/* hash key */
	int64		inserted;
} Added;

static HTAB *folded = NULL;		/* of Added */

static bool fold_one(Oid index_table);
static void relation_news(Oid relid);
static void object_news(int cache, uint32 hash);
static void catalog_news(Datum arg, int cache, uint32 hash);
static List *read_queues(MemoryContext cxt);
static Heard *heard_of(Queue *queue);
static bool is_left_alone(Queue *queue, Heard *h, const Trouble *trouble, TimestampTz *next_try);
static void drain_one(Queue *queue, Heard *h, bool troubled, bool *more, TimestampTz *next_try);
static void report_draining(Oid fact_table);
static void queue_context(void *arg);
static bool is_worth_logging(ErrorData *error, void *arg);
static pg_noinline bool drain_in_transaction(Queue *queue, bool mended, int64 *changes, bool *again);
static bool drain_feeds(Queue *queue, int64 *changes);

/* round_init: begins to hear what changes; synchronous_commit is what commits did before they became asynchronous */
void
round_init(const char *synchronous_commit)
{
	static ChangeListener listener = {.watched_relation = relation_news,.watched_object = object_news};
	static const int caches[] = {PROCOID, CASTSOURCETARGET, FOREIGNSERVEROID, USERMAPPINGOID};

	synchronous = synchronous_commit;
	heard = new_hash("indextable queues", 16, sizeof(Queue), sizeof(Heard), NULL);
	folded = hash_by_oid("indextable folded", 16, sizeof(Added), NULL);
	listen_to_changes(&listener);
	for (Size i = 0; i < lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], catalog_news, (Datum) 0);
}

/* relation_news: counts a change of a relation that a definition depends on; for listen_to_changes() */
static void
relation_news(Oid relid)
{
	news.any++;
}

/* object_news: counts a change of a function or a domain that a definition depends on; for listen_to_changes() */
static void
object_news(int cache, uint32 hash)
{
	news.any++;
	news.code += hash != 0;
}

/*
 * catalog_news
 *		Counts a change of a function, a cast, a foreign server or a user mapping.  A function
 *		that a definition depends on may call any other.
 */
static void
catalog_news(Datum arg, int cache, uint32 hash)
{
	news.any++;
	news.code += hash != 0 && (cache == PROCOID || cache == CASTSOURCETARGET);
}

/*
 * round_has_news
 *		Returns whether something has changed since the last round that may mend a queue that
 *		is left alone.
 */
bool
round_has_news(void)
{
	if (!in_trouble)
		return false;
	/* That has the server tell. */
	StartTransactionCommand();
	CommitTransactionCommand();
	return news.any != news_of_round;
}

/*
 * find_queues
 *		Sets *queues to the queues (Queue *) of the database; there are none without the
 *		extension.  Returns false if the catalog cannot be read: it may be that of another
 *		version.
 */
bool
find_queues(MemoryContext cxt, List **queues)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile bool ok = true;

	*queues = NIL;
	PG_TRY();
	{
		*queues = read_queues(cxt);
	}
	PG_CATCH();
	{
		FreeErrorData(recover_from_error(caller, NULL, NULL));
		ok = false;
	}
	PG_END_TRY();
	return ok;
}

/* read_queues: returns the queues (Queue *) of the database, in a transaction of its own */
static List *
read_queues(MemoryContext cxt)
{
	static TimestampTz adopted_at = 0;
	List	   *result = NIL;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	/* Mostly an event trigger has done it. */
	if (TimestampDifferenceExceeds(adopted_at, GetCurrentTimestamp(), ADOPT_INTERVAL))
	{
		place_with_arguments()->triggers->adopt();
		adopted_at = GetCurrentTimestamp();
	}
	foreach_ptr(FactTableRow, row, catalog_queues(false))
	{
		Oid			fact_table = row->fact_table;
		List	   *servers;
		MemoryContext old;

		/*
		 * The row may be left over from index tables that do not exist any
		 * more, or is being restored.  The session that adopts what was
		 * restored asks for a worker.
		 */
		if (!catalog_fact_in_use(fact_table))
			continue;
		servers = lcons_oid(InvalidOid, feed_servers(fact_table));
		old = MemoryContextSwitchTo(cxt);
		foreach_oid(server, servers)
		{
			Queue	   *queue = palloc(sizeof(Queue));

			*queue = (Queue)
			{
				fact_table, server
			};
			result = lappend(result, queue);
		}
		MemoryContextSwitchTo(old);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return result;
}

/*
 * fold_round
 *		Folds the tables of totals of the database to which enough was added; returns whether there
 *		are any.  Each is folded in a transaction of its own; *more says whether it had more than
 *		one should replace.
 *
 * How often that pays depends on how many entries a reader meets who asks for all groups, and on
 * what folding reads, which is all of them: a tenth is left to be added up.
 */
bool
fold_round(bool *more)
{
	MemoryContext cxt = CurrentMemoryContext;
	List	   *tables;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	MemoryContextSwitchTo(cxt);
	tables = tables_of_totals(InvalidOid);
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(cxt);
	foreach_oid(relid, tables)
	{
		PG_TRY();
		{
			*more |= fold_one(relid);
		}
		PG_CATCH();
		{
			FreeErrorData(recover_from_error(cxt, NULL, NULL));
		}
		PG_END_TRY();
	}
	return tables != NIL;
}

/* fold_one: folds a table of totals, if enough was added since the last time; returns whether there may be more */
static bool
fold_one(Oid index_table)
{
	Added	   *added;
	HeapTuple	tuple;
	int64		inserted;
	double		entries = 0;
	int64		n = 0;
	bool		found;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	inserted = DatumGetInt64(DirectFunctionCall1(pg_stat_get_tuples_inserted, ObjectIdGetDatum(index_table)));
	added = hash_search(folded, &index_table, HASH_ENTER, &found);
	if (!found || inserted < added->inserted)
		added->inserted = 0;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index_table));
	if (HeapTupleIsValid(tuple))
	{
		entries = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	if (HeapTupleIsValid(tuple) && inserted - added->inserted >= Max(MIN_ADDED, entries / 10))
	{
		report_draining(index_table);
		n = fold_if_free(index_table, FOLDED_AT_ONCE);
		if (n < FOLDED_AT_ONCE)
			added->inserted = inserted + n / 2; /* as many it has inserted, at
												 * most */
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	draining[0] = '\0';
	return n >= FOLDED_AT_ONCE;
}

/*
 * drain_queues
 *		Drains one batch of each queue.  Returns whether any has more; *next_try says when one
 *		has to be tried again, because its batch failed, for example: DT_NOEND if none has.
 */
bool
drain_queues(List *queues, TimestampTz *next_try)
{
	bool		more = false;

	*next_try = DT_NOEND;
	in_trouble = false;
	foreach_ptr(Queue, queue, queues)
	{
		Heard	   *h = heard_of(queue);
		Trouble		trouble;
		bool		troubled = trouble_of(queue->fact_table, queue->server, &trouble);

		if (!troubled || !is_left_alone(queue, h, &trouble, next_try))
			drain_one(queue, h, troubled, &more, next_try);
		if (trouble_of(queue->fact_table, queue->server, &trouble))
		{
			in_trouble = true;
			*next_try = Min(*next_try, trouble.next_try);
		}
	}
	news_of_round = news.any;
	return more;
}

/*
 * heard_of
 *		Returns what was heard when a queue was last tried.  What had changed before this
 *		process began is not known, so that the trouble which another one has left counts as
 *		just tried.
 */
static Heard *
heard_of(Queue *queue)
{
	bool		found;
	Heard	   *h = hash_search(heard, queue, HASH_ENTER, &found);

	if (!found)
		h->news = news;
	return h;
}

/*
 * is_left_alone
 *		Returns whether a queue whose batch has failed is not to be tried again yet; sets
 *		*next_try if it will soon be.  What another worker has waited for is no reason: that may
 *		be a batch of this one.
 */
static bool
is_left_alone(Queue *queue, Heard *h, const Trouble *trouble, TimestampTz *next_try)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!trouble->waiting && h->news.any != news.any)
	{
		TimestampTz soon = TimestampTzPlusMilliseconds(trouble->tried_at, NEWS_INTERVAL);

		if (now >= soon)
			return false;
		*next_try = Min(*next_try, soon);
	}
	return now < trouble->next_try && !(trouble->waiting && trouble->worker != MyProcPid);
}

/*
 * drain_one
 *		Drains one batch of a queue; sets *more if there may be more, and *next_try if it is
 *		to be tried again soon.
 */
static void
drain_one(Queue *queue, Heard *h, bool troubled, bool *more, TimestampTz *next_try)
{
	MemoryContext cxt = CurrentMemoryContext;
	volatile int64 changes = 0;
	volatile bool again = false;
	News		before = news;
	ErrorContextCallback context = {.previous = error_context_stack,.callback = queue_context};

	draining[0] = '\0';
	error_context_stack = &context;
	PG_TRY();
	{
		int64		n = 0;
		bool		soon = false;

		if (drain_in_transaction(queue, h->news.code != before.code, &n, &soon))
			*more = true;
		changes = n;
		again = soon;
	}
	PG_CATCH();
	{
		FreeErrorData(recover_from_error(cxt, is_worth_logging, queue));
		error_context_stack = context.previous;

		/*
		 * What the transaction itself has changed, and taken back, mends
		 * nothing.
		 */
		h->news = news;
		return;
	}
	PG_END_TRY();
	error_context_stack = context.previous;
	activity_count(queue->fact_table, queue->server, changes);
	if (again)
		*next_try = Min(*next_try, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), MIN_BACKOFF));
	h->news = before;
	if (troubled)
		trouble_end(queue->fact_table, queue->server);
}

/* report_draining: shows in pg_stat_activity, and in errors, whose queue is being drained */
static void
report_draining(Oid fact_table)
{
	if (get_rel_name(fact_table) == NULL)
		return;
	strlcpy(draining, quoted_relation(fact_table), sizeof(draining));
	pgstat_report_activity(STATE_RUNNING, psprintf("draining %s", draining));
}

/* queue_context: adds to an error whose queue was being drained */
static void
queue_context(void *arg)
{
	if (draining[0] != '\0')
		errcontext("draining the queue of %s", draining);
}

/* is_worth_logging: notes the error with which a batch has failed; for recover_from_error() */
static bool
is_worth_logging(ErrorData *error, void *arg)
{
	Queue	   *queue = arg;

	return trouble_note_error(queue->fact_table, queue->server, error);
}

/*
 * drain_in_transaction
 *		Drains one batch of a queue in a transaction of its own, and adds its size to
 *		*changes.  Returns whether there may be more; *again says whether to try it again soon.
 *		With mended the rejected rows are tried again, because the code that has failed for
 *		them may be another.
 */
static bool
drain_in_transaction(Queue *queue, bool mended, int64 *changes, bool *again)
{
	Oid			fact_table = queue->fact_table;
	DrainPosition position = {.retry_rejected = mended};
	bool		more;

	if (OidIsValid(queue->server))
		return drain_feeds(queue, changes);
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	report_draining(fact_table);
	more = drain_batch(fact_table, setting_batch_size, &position, changes);
	*again = position.again;
	drain_end(&position);
	PopActiveSnapshot();
	CommitTransactionCommand();
	draining[0] = '\0';
	return more;
}

/*
 * drain_feeds
 *		Drains one batch of the feeds of a server, like drain_in_transaction(), and
 *		acknowledges it in another transaction, once the first has committed.
 *
 * What is acknowledged must be applied on synchronous standbys, too, if commits wait for
 * them, as one of them may take over.
 */
static bool
drain_feeds(Queue *queue, int64 *changes)
{
	FeedBatch	batch = {.server = queue->server,.limit = setting_batch_size,.backlog = -1};

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	set_config_option("synchronous_commit", synchronous, PGC_SUSET, PGC_S_OVERRIDE, GUC_ACTION_LOCAL, true, 0, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	report_draining(queue->fact_table);
	if (feed_take_unlocked(queue->fact_table, &batch, true))
		feed_apply(queue->fact_table, &batch);
	PopActiveSnapshot();
	CommitTransactionCommand();
	activity_note_backlog(queue->fact_table, queue->server, Max(batch.backlog - batch.n, 0), batch.oldest);
	if (batch.n == 0)
		return false;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	(void) feed_ack_applied();
	PopActiveSnapshot();
	CommitTransactionCommand();
	*changes += batch.n;
	return batch.n == batch.limit;
}
