/*-------------------------------------------------------------------------
 *
 * drain_round.c
 *	  Drains one batch of each queue of a database, as a worker does again and again, and
 *	  decides what becomes of a queue whose batch has failed.
 *
 * Such a queue is left alone for a while: see trouble.c.  That is half a second at most if
 * the batch has waited in vain for a lock that another session has, such as that of a drain.  If
 * there was an error, it may be mended by DDL: then the server tells this process what has
 * changed, and the queue is tried again at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/role_caches.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "worker.h"

/* So often it is seen whether index tables were created on another node of Citus, in ms. */
#define ADOPT_INTERVAL		10000

/* So often what is kept of tables that have been dropped is forgotten, in ms. */
#define FORGET_INTERVAL		60000

/* For so long one batch after the other is drained before there is other work, in ms. */
#define ROUNDS				1000

/* After an error the batch is not tried again before this time because of DDL, in ms. */
#define NEWS_INTERVAL		1000

/* What has changed in this database since the process began: these count. */
typedef struct News
{
	uint64		any;			/* of what may mend an error */
	uint64		code;			/* of functions, domains and casts only */
} News;

/* What this process knows of a table that it works for. */
typedef struct Heard
{
	Work		work;			/* hash key */
	News		news;			/* what had changed when it was last tried */
	News		tried_with;		/* the same, of the present attempt */
	TimestampTz rests_until;	/* others have their turn until then */
	TimestampTz tried_at;		/* when it was last tried */
	Oid			owner;			/* of the table */
} Heard;

static News news;
static HTAB *heard = NULL;		/* of Heard */
static bool in_trouble = false; /* whether a queue is left alone */
static uint64 news_of_round;	/* news.any when the last round ended */
static char working_at[4 * NAMEDATALEN + 8] = "";	/* the table */
static const char *synchronous; /* what synchronous_commit was before the
								 * worker has changed it */

/* A batch of a queue. */
typedef struct DrainBatch
{
	Work	   *queue;
	int			limit;			/* number of changes that it may take */
	DrainPosition position;
	bool		mended;			/* rejected rows are tried again, because the
								 * code that has failed for them may be
								 * another */
	int64		changes;		/* number of those that were applied */
	bool		more;			/* there may be more */
	FeedBatch	feeds;			/* those that were taken from feeds */
} DrainBatch;

static void relation_news(Oid relid);
static void object_news(int cache, uint32 hash);
static void catalog_news(Datum arg, int cache, uint32 hash);
static void adopt(void *unused);
static void read_queues(void *found);
static void add_work(FoundWork *found, List **list, Oid table, Oid server, WorkKind kind);
static bool is_dropped(const Work *work);
static Heard *heard_of(const Work *work);
static int	compare_turns(const ListCell *a, const ListCell *b);
static bool is_left_alone(Heard *h, const Trouble *trouble, TimestampTz *next_try);
static bool drain_round(List *queues, TimestampTz *next_try);
static void drain_one(Work *queue, bool alone, bool *more, TimestampTz *next_try);
static void queue_context(void *arg);
static bool is_worth_logging(ErrorData *error, void *arg);
static void drain_here(void *batch);
static void drain_feeds(void *batch);
static void acknowledge(void *unused);

/*
 * round_init
 *		Begins to hear what changes; synchronous_commit is what commits did before they became
 *		asynchronous.
 */
void
round_init(const char *synchronous_commit)
{
	static ChangeListener listener = {.watched_relation = relation_news,.watched_object = object_news};
	static const int caches[] = {PROCOID, CASTSOURCETARGET, FOREIGNSERVEROID, USERMAPPINGOID};

	synchronous = synchronous_commit;
	heard = new_hash("indextable queues", 16, sizeof(Work), sizeof(Heard), NULL);
	listen_to_changes(&listener);
	for (Size i = 0; i < lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], catalog_news, (Datum) 0);
}

/*
 * relation_news
 *		Counts a change of a relation that a definition depends on; for listen_to_changes().
 */
static void
relation_news(Oid relid)
{
	news.any++;
}

/*
 * object_news
 *		Counts a change of a function or a domain that a definition depends on; for
 *		listen_to_changes().
 */
static void
object_news(int cache, uint32 hash)
{
	if (role_caches_forgets())
		return;
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
 *		Finds the queues (Work *) and the tables of totals of the database; there are none without
 *		the extension.  Returns false if the catalog cannot be read: another session may have it
 *		locked, or it may be that of another version.
 */
bool
find_queues(MemoryContext cxt, FoundWork *found)
{
	static TimestampTz adopted_at = 0;
	static TimestampTz forgot_at = 0;
	ErrorData  *error;

	/*
	 * Mostly an event trigger has done it.  What keeps us from it does not
	 * keep us from the queues.
	 */
	if (TimestampDifferenceExceeds(adopted_at, GetCurrentTimestamp(), ADOPT_INTERVAL))
	{
		error = run_limited(adopt, NULL, is_no_conflict);
		if (error != NULL)
			FreeErrorData(error);
		adopted_at = GetCurrentTimestamp();
	}
	*found = (FoundWork)
	{
		.cxt = cxt,
			.forget = TimestampDifferenceExceeds(forgot_at, GetCurrentTimestamp(), FORGET_INTERVAL)
	};
	error = run_limited(read_queues, found, is_no_conflict);
	if (error == NULL)
	{
		if (found->forget)
			forgot_at = GetCurrentTimestamp();
		return true;
	}
	found->blocked = is_conflict(error);
	FreeErrorData(error);
	return false;
}

/* adopt: registers what triggers on other nodes say; for run_limited() */
static void
adopt(void *unused)
{
	place_adopt();
}

/* read_queues: does the work of find_queues(); for run_limited() */
static void
read_queues(void *arg)
{
	FoundWork  *found = arg;

	owners_search();
	foreach_ptr(FactTableRow, row, catalog_queues(false))
	{
		Oid			fact_table = row->fact_table;

		/*
		 * The row may be left over from index tables that do not exist any
		 * more, or is being restored.  The session that adopts what was
		 * restored asks for a worker.
		 */
		if (!catalog_fact_in_use(fact_table))
			continue;
		foreach_oid(server, lcons_oid(InvalidOid, elsewhere->feeds->of(fact_table)))
			add_work(found, &found->queues, fact_table, server, WORK_QUEUE);
	}
	foreach_oid(index_table, tables_of_totals(InvalidOid))
		add_work(found, &found->totals, index_table, InvalidOid, WORK_FOLDING);
	if (found->forget)
		activity_forget(is_dropped);
}

/* add_work: adds what there is to do for a table to a list, and notes the owner of the table */
static void
add_work(FoundWork *found, List **list, Oid table, Oid server, WorkKind kind)
{
	MemoryContext old = MemoryContextSwitchTo(found->cxt);
	Work	   *work = palloc(sizeof(Work));
	Oid			owner = table_owner(table);

	*work = (Work)
	{
		MyDatabaseId, table, server, kind
	};
	*list = lappend(*list, work);
	heard_of(work)->owner = owner;
	owners_found(owner);
	MemoryContextSwitchTo(old);
}

/*
 * is_dropped
 *		Returns whether some work is for a table of this database that does not exist any more;
 *		for activity_forget().
 */
static bool
is_dropped(const Work *work)
{
	return work->kind != WORK_NODE && work->database == MyDatabaseId && get_rel_name(work->table) == NULL;
}

/*
 * drain_queues
 *		Drains one batch of each queue, and again, for a while.  Returns whether any has more;
 *		*next_try says when one has to be tried again, because its batch failed, for example:
 *		DT_NOEND if none has.
 */
bool
drain_queues(List *queues, TimestampTz *next_try)
{
	TimestampTz begun_at = GetCurrentTimestamp();
	bool		more;

	do
	{
		CHECK_FOR_INTERRUPTS();
		more = drain_round(queues, next_try);
	} while (more && !ConfigReloadPending && !TimestampDifferenceExceeds(begun_at, GetCurrentTimestamp(), ROUNDS));
	return more;
}

/*
 * drain_round
 *		Drains one batch of each queue.
 *
 * Those that have failed come last.  One of them may end this process, and then the next one
 * begins with the others, too.
 */
static bool
drain_round(List *queues, TimestampTz *next_try)
{
	bool		alone = list_length(queues) == 1;
	bool		more = false;
	List	   *failed = NIL;

	*next_try = DT_NOEND;
	in_trouble = false;
	owners_begin_round();
	put_in_turn(queues);
	foreach_ptr(Work, queue, queues)
	{
		Trouble		trouble;

		if (trouble_of(queue, &trouble))
			failed = lappend(failed, queue);
		else
			drain_one(queue, alone, &more, next_try);
	}
	foreach_ptr(Work, queue, failed)
		drain_one(queue, alone, &more, next_try);
	list_free(failed);
	news_of_round = news.any;
	return more;
}

/*
 * heard_of
 *		Returns what is known of some work.  What had changed before this process began is not,
 *		so that the trouble which another one has left counts as just tried.
 */
static Heard *
heard_of(const Work *work)
{
	bool		found;
	Heard	   *h = hash_search(heard, work, HASH_ENTER, &found);

	if (!found)
	{
		h->news = news;
		h->rests_until = 0;
		h->tried_at = 0;
		h->owner = InvalidOid;
	}
	return h;
}

/*
 * put_in_turn
 *		Sorts work (Work *) by when it was last tried, as that of an owner whose turn is over is left for the
 *		next round.
 */
void
put_in_turn(List *works)
{
	list_sort(works, compare_turns);
}

static int
compare_turns(const ListCell *a, const ListCell *b)
{
	TimestampTz x = heard_of(lfirst(a))->tried_at;
	TimestampTz y = heard_of(lfirst(b))->tried_at;

	return x == y ? 0 : x < y ? -1 : 1;
}

/*
 * is_left_alone
 *		Returns whether something that has failed is not to be tried again yet; sets *next_try if
 *		it will soon be.  What another worker has waited for is no reason: that may be a batch of
 *		this one.
 *
 * News do not give it more than its share: others have as much time as the last attempt took.
 */
static bool
is_left_alone(Heard *h, const Trouble *trouble, TimestampTz *next_try)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!trouble->waiting && h->news.any != news.any)
	{
		TimestampTz soon = TimestampTzPlusMilliseconds(trouble->tried_at, Max(NEWS_INTERVAL, trouble->cost));

		if (now >= soon)
			return false;
		*next_try = Min(*next_try, soon);
	}
	return now < trouble->next_try &&
		!(trouble->waiting && trouble->worker != MyProcPid && trouble->cost <= turn_ms());
}

/*
 * may_try
 *		Returns whether it is the turn of some work; if not, and that comes soon, sets *next_try.
 *		After it, tried() says what has become of it.
 */
bool
may_try(const Work *work, TimestampTz *next_try)
{
	Heard	   *h = heard_of(work);
	Trouble		trouble;
	bool		troubled = trouble_of(work, &trouble);

	if (troubled && is_left_alone(h, &trouble, next_try))
	{
		in_trouble = true;
		*next_try = Min(*next_try, trouble.next_try);
		return false;
	}
	if (GetCurrentTimestamp() < h->rests_until)
	{
		*next_try = Min(*next_try, h->rests_until);
		return false;
	}
	if (!owner_may_try(h->owner, next_try))
		return false;
	h->tried_at = GetCurrentTimestamp();
	h->tried_with = news;
	return true;
}

/*
 * tried
 *		Notes what has become of some work, an error or NULL, and how long that took, in ms.  After a long turn
 *		others have as much time, unless it is alone.
 */
void
tried(const Work *work, const ErrorData *error, int ms, bool alone, TimestampTz *next_try)
{
	Heard	   *h = heard_of(work);
	Trouble		trouble;

	owner_took(h->owner, ms);
	if (error == NULL)
	{
		h->news = h->tried_with;
		trouble_end(work);
		if (ms > turn_ms() && !alone)
			h->rests_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
		return;
	}

	/*
	 * What the transaction itself has changed, and taken back, mends nothing.
	 */
	h->news = news;
	if (trouble_of(work, &trouble))
	{
		in_trouble = true;
		*next_try = Min(*next_try, trouble.next_try);
	}
}

/*
 * drain_one
 *		Drains one batch of a queue, if it is its turn; sets *more if there may be more, and
 *		*next_try if it is to be tried again soon.
 */
static void
drain_one(Work *queue, bool alone, bool *more, TimestampTz *next_try)
{
	DrainBatch	batch = {.queue = queue};
	ErrorContextCallback context = {.previous = error_context_stack,.callback = queue_context};
	ErrorData  *error;
	int			ms;

	if (!may_try(queue, next_try))
		return;
	batch.mended = heard_of(queue)->news.code != news.code;
	batch.limit = batch_limit(queue, setting_batch_size, &batch.position.one_row);
	working_at[0] = '\0';
	error_context_stack = &context;
	error = run_task(queue, OidIsValid(queue->server) ? drain_feeds : drain_here, &batch, is_worth_logging);
	ms = task_ms();
	if (error == NULL && OidIsValid(queue->server))
	{
		activity_note_backlog(queue, Max(batch.feeds.backlog - batch.changes, 0), batch.feeds.oldest);
		if (batch.changes > 0)
		{
			error = run_task(queue, acknowledge, &batch, is_worth_logging);
			ms += task_ms();
		}
	}
	error_context_stack = context.previous;
	tried(queue, error, ms, alone, next_try);
	if (error != NULL)
	{
		FreeErrorData(error);
		return;
	}
	activity_count(queue, batch.changes);
	batch_took(queue, batch.changes, ms, turn_ms());
	*more |= batch.more;
	if (batch.position.again)
		*next_try = Min(*next_try, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), batch.position.again));
}

/* report_working: shows in pg_stat_activity, and in errors, at which table this process is */
void
report_working(Oid table)
{
	if (get_rel_name(table) == NULL)
		return;
	strlcpy(working_at, quoted_relation(table), sizeof(working_at));
	pgstat_report_activity(STATE_RUNNING, psprintf("draining %s", working_at));
}

/* queue_context: adds to an error whose queue was being drained */
static void
queue_context(void *arg)
{
	if (working_at[0] != '\0')
		errcontext("draining the queue of %s", working_at);
}

/* is_worth_logging: notes the error with which a batch has failed; for run_task() */
static bool
is_worth_logging(ErrorData *error, void *arg)
{
	DrainBatch *batch = arg;

	if (is_over_time(error))
		batch_was_cut(batch->queue, batch->position.taken);
	return trouble_note_error(batch->queue, error);
}

/* drain_here: drains one batch of a queue on this server; for run_task() */
static void
drain_here(void *arg)
{
	DrainBatch *batch = arg;

	time_limit_make_renewable();
	batch->position.retry_rejected = batch->mended;
	report_working(batch->queue->table);
	batch->more = drain_batch(batch->queue->table, batch->limit, &batch->position, &batch->changes);
	batch->more |= batch->position.one_row && batch->changes > 0;
	drain_end(&batch->position);
}

/*
 * drain_feeds
 *		Drains one batch of the feeds of a server; for run_task().  When it has
 *		committed, the batch is acknowledged in another transaction.
 *
 * What is acknowledged must be applied on synchronous standbys, too, if commits wait for
 * them, as one of them may take over.
 */
static void
drain_feeds(void *arg)
{
	DrainBatch *batch = arg;
	FeedBatch  *feeds = &batch->feeds;

	time_limit_make_renewable();
	*feeds = (FeedBatch)
	{
		.server = batch->queue->server,.limit = batch->limit,.backlog = -1
	};
	set_config_option("synchronous_commit", synchronous, PGC_SUSET, PGC_S_OVERRIDE, GUC_ACTION_LOCAL, true, 0,
					  false);
	report_working(batch->queue->table);
	if (elsewhere->feeds->take_unlocked(batch->queue->table, feeds, true))
	{
		batch->position.taken = feeds->n;
		elsewhere->feeds->apply(batch->queue->table, feeds, queue_rows_of_partition);
	}
	batch->changes = feeds->n;
	batch->more = feeds->n == feeds->limit;
}

static void
acknowledge(void *unused)
{
	(void) elsewhere->feeds->ack_applied();
}
