/*-------------------------------------------------------------------------
 *
 * drain_all.c
 *	  Applies all that is queued here for a fact table and in the feeds of other servers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "maintain.h"

/* What take_all() works on. */
typedef struct TakeAll
{
	Oid			fact_table;
	MemoryContext cxt;
	List	   *batches;		/* of FeedBatch * */
} TakeAll;

static void take_all(void *arg);

/*
 * warn_not_drained
 *		Warns that an error has kept the changes of one fact table from being applied.
 */
void
warn_not_drained(Oid fact_table, ErrorData *error)
{
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("could not drain table \"%s\": %s", get_rel_name(fact_table), error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0,
			 error->hint ? errhint("%s", error->hint) : 0));
	FreeErrorData(error);
}

/*
 * take_all
 *		Acknowledges what this session has applied before, and takes all changes from the
 *		feeds of a fact table.
 */
static void
take_all(void *arg)
{
	TakeAll    *take = arg;

	elsewhere->snapshots->check_unused(take->fact_table, "drain()");
	(void) elsewhere->feeds->ack_applied();
	foreach_oid(server, elsewhere->feeds->of(take->fact_table))
	{
		MemoryContext old = MemoryContextSwitchTo(take->cxt);
		FeedBatch  *batch = palloc0(sizeof(FeedBatch));

		batch->server = server;
		batch->limit = PG_INT64_MAX;
		(void) elsewhere->feeds->take_unlocked(take->fact_table, batch, false);
		take->batches = lappend(take->batches, batch);
		MemoryContextSwitchTo(old);
	}
}

/*
 * drain_local_queue
 *		Applies all that was committed by now, in this transaction: what is queued here for a
 *		fact table, and what was taken from feeds.
 *
 * The changes that are queued here are read first, and those in feeds have been taken:
 * once a server was read from, it does not show later changes any more.  When all rows of
 * a partition are queued because any of them may have changed, that is read once more.
 */
void
drain_local_queue(Oid fact_table, DrainCall *call)
{
	DrainPosition position = {0};
	TakeAll		take = {fact_table, CurrentMemoryContext, NIL};
	bool		whole = false;

	/* From the first one on the other tables may have used the same servers. */
	if (!call->reading)
		elsewhere->snapshots->check_unused(fact_table, "drain()");
	if (elsewhere->leaves(fact_table) != NIL)
	{
		ErrorData  *error = NULL;

		if (!call->all)
			take_all(&take);
		else if ((error = run_catching_failures(take_all, &take)) != NULL)
		{
			warn_not_drained(fact_table, error);
			return;
		}
		call->reading = true;
	}
	position.start = RegisterSnapshot(GetLatestSnapshot());
	while (drain_batch(fact_table, call->limit, &position, &call->changes))
		CommandCounterIncrement();
	foreach_ptr(FeedBatch, batch, take.batches)
	{
		elsewhere->feeds->apply(fact_table, batch, queue_rows_of_partition);
		call->changes += batch->n;
		whole |= batch->whole != NIL;
	}
	if (whole)
	{
		position.block[0] = position.block[1] = 0;
		position.caught_up = false;
		while (drain_batch(fact_table, call->limit, &position, &call->changes))
			CommandCounterIncrement();
	}
	drain_end(&position);
	UnregisterSnapshot(position.start);
}
