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

/* What fold_one() folds, and how many entries it has replaced. */
typedef struct Folding
{
	Oid			index_table;
	int64		n;
} Folding;

/* A batch of a queue. */
typedef struct Batch
{
	Queue	   *queue;
	bool		mended;			/* rejected rows are tried again, because the
								 * code that has failed for them may be
								 * another */
	int64		changes;		/* so many were applied */
	bool		more;			/* there may be more */
	bool		again;			/* it is to be tried again soon */
	FeedBatch	feeds;			/* those that were taken from feeds */
} Batch;

static void fold_one(void *folding);
static void relation_news(Oid relid);
static void object_news(int cache, uint32 hash);
static void catalog_news(Datum arg, int cache, uint32 hash);
static void read_queues(void *found);
static Heard *heard_of(Queue *queue);
static bool is_left_alone(Queue *queue, Heard *h, const Trouble *trouble, TimestampTz *next_try);
static void drain_one(Queue *queue, Heard *h, bool troubled, bool *more, TimestampTz *next_try);
static void report_draining(Oid fact_table);
static void queue_context(void *arg);
static bool is_worth_logging(ErrorData *error, void *arg);
static void drain_here(void *batch);
static void drain_feeds(void *batch);
static void acknowledge(void *unused);

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
 *		Finds the queues (Queue *) and the tables of totals of the database; there are none without
 *		the extension.  Returns false if the catalog cannot be read: it may be that of another
 *		version.
 */
bool
find_queues(MemoryContext cxt, Found *found)
{
	ErrorData  *error;

	*found = (Found)
	{
		.cxt = cxt
	};
	error = run_in_transaction(read_queues, found, NULL);
	if (error != NULL)
		FreeErrorData(error);
	return error == NULL;
}

/* read_queues: finds them; for run_in_transaction() */
static void
read_queues(void *arg)
{
	static TimestampTz adopted_at = 0;
	Found	   *found = arg;
	MemoryContext old;

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

		/*
		 * The row may be left over from index tables that do not exist any
		 * more, or is being restored.  The session that adopts what was
		 * restored asks for a worker.
		 */
		if (!catalog_fact_in_use(fact_table))
			continue;
		servers = lcons_oid(InvalidOid, feed_servers(fact_table));
		old = MemoryContextSwitchTo(found->cxt);
		foreach_oid(server, servers)
		{
			Queue	   *queue = palloc(sizeof(Queue));

			*queue = (Queue)
			{
				fact_table, server
			};
			found->queues = lappend(found->queues, queue);
		}
		MemoryContextSwitchTo(old);
	}
	old = MemoryContextSwitchTo(found->cxt);
	found->totals = tables_of_totals(InvalidOid);
	MemoryContextSwitchTo(old);
}

/*
 * fold_round
 *		Folds the tables of totals to which enough was added, each in a transaction of its own;
 *		returns whether one had more than that should replace.
 *
 * How often that pays depends on how many entries a reader meets who asks for all groups, and on
 * what folding reads, which is all of them: a tenth is left to be added up.
 */
bool
fold_round(List *tables)
{
	bool		more = false;

	foreach_oid(relid, tables)
	{
		Folding		folding = {.index_table = relid};
		ErrorData  *error = run_task(fold_one, &folding, NULL);

		if (error != NULL)
			FreeErrorData(error);
		more |= error == NULL && folding.n >= FOLDED_AT_ONCE;
		draining[0] = '\0';
	}
	return more;
}

/* fold_one: folds a table of totals, if enough was added since the last time; for run_in_transaction() */
static void
fold_one(void *arg)
{
	Folding    *folding = arg;
	Oid			index_table = folding->index_table;
	Added	   *added;
	HeapTuple	tuple;
	int64		inserted;
	double		entries = 0;
	bool		found;

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
		folding->n = fold_if_free(index_table, FOLDED_AT_ONCE);
		if (folding->n < FOLDED_AT_ONCE)
			added->inserted = inserted + folding->n / 2;	/* as many it has
															 * inserted, at most */
	}
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
	News		before = news;
	Batch		batch = {.queue = queue,.mended = h->news.code != before.code};
	ErrorContextCallback context = {.previous = error_context_stack,.callback = queue_context};
	ErrorData  *error;

	error_context_stack = &context;
	error = run_task(OidIsValid(queue->server) ? drain_feeds : drain_here, &batch, is_worth_logging);
	if (error == NULL && OidIsValid(queue->server))
	{
		activity_note_backlog(queue->fact_table, queue->server, Max(batch.feeds.backlog - batch.changes, 0), batch.feeds.oldest);
		if (batch.changes > 0)
			error = run_task(acknowledge, &batch, is_worth_logging);
	}
	error_context_stack = context.previous;
	draining[0] = '\0';
	if (error != NULL)
	{
		FreeErrorData(error);

		/*
		 * What the transaction itself has changed, and taken back, mends
		 * nothing.
		 */
		h->news = news;
		return;
	}
	activity_count(queue->fact_table, queue->server, batch.changes);
	*more |= batch.more;
	if (batch.again)
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

/* is_worth_logging: notes the error with which a batch has failed; for run_in_transaction() */
static bool
is_worth_logging(ErrorData *error, void *arg)
{
	Queue	   *queue = ((Batch *) arg)->queue;

	return trouble_note_error(queue->fact_table, queue->server, error);
}

/* drain_here: drains one batch of a queue on this server; for run_in_transaction() */
static void
drain_here(void *arg)
{
	Batch	   *batch = arg;
	DrainPosition position = {.retry_rejected = batch->mended};

	report_draining(batch->queue->fact_table);
	batch->more = drain_batch(batch->queue->fact_table, setting_batch_size, &position, &batch->changes);
	batch->again = position.again;
	drain_end(&position);
}

/*
 * drain_feeds
 *		Drains one batch of the feeds of a server; for run_in_transaction().  When it has
 *		committed, the batch is acknowledged in another transaction.
 *
 * What is acknowledged must be applied on synchronous standbys, too, if commits wait for
 * them, as one of them may take over.
 */
static void
drain_feeds(void *arg)
{
	Batch	   *batch = arg;
	FeedBatch  *feeds = &batch->feeds;

	*feeds = (FeedBatch)
	{
		.server = batch->queue->server,.limit = setting_batch_size,.backlog = -1
	};
	set_config_option("synchronous_commit", synchronous, PGC_SUSET, PGC_S_OVERRIDE, GUC_ACTION_LOCAL, true, 0, false);
	report_draining(batch->queue->fact_table);
	if (feed_take_unlocked(batch->queue->fact_table, feeds, true))
		feed_apply(batch->queue->fact_table, feeds);
	batch->changes = feeds->n;
	batch->more = feeds->n == feeds->limit;
}

static void
acknowledge(void *unused)
{
	(void) feed_ack_applied();
}
