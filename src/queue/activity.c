/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Keeps in shared memory what workers have done for each table: how many changes they have
 *	  applied, and what keeps them from it.
 *
 * The memory grows with the number of tables that there is something to keep of, and what is
 * kept of a table is kept as long as the table exists.  So nobody, by having many tables that
 * fail, has what belongs to others forgotten: when they are to be tried again, above all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/dshash.h"
#include "miscadmin.h"
#include "utils/dsa.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/memory.h"
#include "queue.h"

/* Without the shared memory each process has its own. */
static HTAB *own = NULL;

static dshash_parameters parameters(void);
static dshash_table *shared_activity(void);

const SharedPart workers_shared = {"indextable", sizeof(Shared), &shared, activity_init};

/* parameters: returns those of the hash table */
static dshash_parameters
parameters(void)
{
	return (dshash_parameters) DSHASH_PARAMETERS(sizeof(Work), sizeof(QueueActivity), shared->lock->tranche);
}

/* activity_init: makes the hash table, when the server starts */
void
activity_init(void)
{
	dshash_parameters made = parameters();
	dsa_area   *area = dsa_create_in_place(&shared->area, ACTIVITY_BYTES, made.tranche_id, NULL);
	dshash_table *table;

	Assert(dsa_minimum_size() <= ACTIVITY_BYTES);
	dsa_pin(area);
	/* The postmaster cannot make more shared memory. */
	dsa_set_size_limit(area, ACTIVITY_BYTES);
	table = dshash_create(area, &made, NULL);
	shared->activity = dshash_get_hash_table_handle(table);
	dsa_set_size_limit(area, (size_t) -1);
	dshash_detach(table);
	dsa_detach(area);
}

/* shared_activity: returns the hash table */
static dshash_table *
shared_activity(void)
{
	static dshash_table *table = NULL;

	if (table == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
		dshash_parameters made = parameters();
		dsa_area   *area = dsa_attach_in_place(&shared->area, NULL);

		dsa_pin_mapping(area);
		table = dshash_attach(area, &made, shared->activity, NULL);
		MemoryContextSwitchTo(old);
	}
	return table;
}

/*
 * activity_find
 *		Returns what is kept of some work, locked until activity_release().  If nothing is, it is
 *		new, or NULL unless it is to be made.
 */
QueueActivity *
activity_find(const Work *work, bool make)
{
	QueueActivity *activity;
	bool		found = true;

	if (shared != NULL)
		activity = make ? dshash_find_or_insert(shared_activity(), work, &found) :
			dshash_find(shared_activity(), work, true);
	else
	{
		if (own == NULL)
			own = new_hash("indextable activity", 16, sizeof(Work), sizeof(QueueActivity), NULL);
		activity = hash_search(own, work, make ? HASH_ENTER : HASH_FIND, &found);
	}
	if (make && !found)
	{
		memset(activity, 0, sizeof(QueueActivity));
		activity->work = *work;
		activity->backlog = -1;
	}
	return activity;
}

/* activity_release: ends that; NULL is nothing */
void
activity_release(QueueActivity *activity)
{
	if (shared != NULL && activity != NULL)
		dshash_release_lock(shared_activity(), activity);
}

/*
 * activity_forget
 *		Forgets what is kept of tables that are gone, as a function tells, which may read the
 *		catalog.
 */
void
activity_forget(bool (*is_gone) (const Work *work))
{
	dshash_seq_status status;
	QueueActivity *activity;
	List	   *all = NIL;

	if (shared == NULL)
		return;
	/* No lock is held while the function runs. */
	dshash_seq_init(&status, shared_activity(), false);
	while ((activity = dshash_seq_next(&status)) != NULL)
	{
		Work	   *work = palloc(sizeof(Work));

		*work = activity->work;
		all = lappend(all, work);
	}
	dshash_seq_term(&status);
	foreach_ptr(Work, work, all)
	{
		if (is_gone(work))
			(void) dshash_delete_key(shared_activity(), work);
	}
	list_free_deep(all);
}

/* activity_count: counts changes of a fact table that were applied */
void
activity_count(const Work *work, int64 changes)
{
	TimestampTz now = GetCurrentTimestamp();
	QueueActivity *queue;

	if (changes == 0)
		return;
	queue = activity_find(work, true);
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
	activity_release(queue);
}

/*
 * activity_note_backlog
 *		Keeps how many changes are in the feeds of a server after a batch, and when the oldest
 *		of them was made.
 */
void
activity_note_backlog(const Work *work, int64 backlog, TimestampTz oldest)
{
	QueueActivity *queue = activity_find(work, true);

	queue->backlog = backlog;
	queue->oldest = oldest;
	queue->asked_at = GetCurrentTimestamp();
	activity_release(queue);
}
