/*-------------------------------------------------------------------------
 *
 * drain.c
 *	  Applies what is queued to asynchronous index tables, one batch at a time.
 *
 * Why index tables converge, whatever the interleaving.  A queue is drained by one
 * transaction at a time, which holds the drain lock until it ends.  Under the lock it
 * takes a snapshot, and with this one snapshot it reads both the queued keys and the
 * fact rows that they name.  A change and its key were committed together, so the
 * snapshot sees both or neither: a key that the drain consumes belongs to a change that
 * it sees, and the key of a change that it does not see stays in the queue.  The drain
 * reads the entries as the drain before it has left them, because no other session
 * writes them, and changes them to those that the rows should have.  So after each
 * drain the entries of a row are those of its newest version, except for changes that
 * are still queued, and no older state can come back.  Neither the order of the queue
 * matters, nor how often a key is in it.  A crash or an error undoes both the changes
 * of entries and the consumption of keys, as one transaction has made both.
 *
 * Rows on other servers are as of snapshots that those servers have taken when this
 * transaction first read from them, and that is after it has read the keys.  So all
 * batches of a transaction read the keys as of the first one: a change that was queued
 * here later may not be in the rows over there.  No caller has used the other servers in
 * its transaction before.  What is written over there is queued over there: see
 * feed_client.c.
 *
 * What is cached (definitions, partitions, their columns and indexes) has to be as new as
 * the snapshot, too.  Otherwise the key of a row in a partition that was attached just
 * now would be taken for the key of a row that does not exist any more, and would be
 * consumed: see tree_snapshot().
 *
 * Rows that fail do not hold up the others.  A batch that fails is halved until the row
 * is found, and that row is rejected: see apply_keys() and rejections.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/lock.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "../util/while_set.h"
#include "../util/wait_point.h"
#include "queue.h"

static bool is_draining = false;

static void drain_locked(FactDef *def, Relation fact, void *arg);
static bool lock_queue(Oid fact_table, Relation *fact, FactDef **def);
static ErrorData *try_to_write(Reconciliation *r);
static void write_entries(void *arg);
static void write_some(Reconciliation *r);
static void apply_failing_row(Reconciliation *r, ErrorData *error);

/*
 * with_queue_locked
 *		Calls work() with a fact table whose queue no other session drains meanwhile, as the
 *		owner of the fact table.  Returns false, without calling it, if there is nothing to
 *		drain.
 */
bool
with_queue_locked(Oid fact_table, void (*work) (FactDef *def, Relation fact, void *arg), void *arg)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable drain",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Relation	fact;
	FactDef    *def;
	bool		locked;

	/* One that takes too long would take the time of the other. */
	if (is_draining && is_time_limited())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot drain table \"%s\" in code that another drain evaluates", get_rel_name(fact_table))));

	/*
	 * Tables are opened, and indexes and expressions evaluated, with the
	 * owner's rights.
	 */
	AS_OWNER(table_owner(fact_table));
	{
		locked = lock_queue(fact_table, &fact, &def);
		if (locked)
		{
			WHILE_SET(is_draining, true, work(def, fact, arg));
			relation_close(fact, NoLock);
		}
	}
	END_AS_OWNER();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return locked;
}

/*
 * drain_batch
 *		Applies up to limit changes of a fact table, adds their number to *changes, and
 *		returns whether there may be more.  *position, which is zeroed for the first batch of
 *		a transaction, says where the next batch of the same transaction goes on.
 */
bool
drain_batch(Oid fact_table, int limit, DrainPosition *position, int64 *changes)
{
	Drain		drain = {.limit = limit,.arg = position};

	drain_from(fact_table, &drain);
	position->again = drain.again;
	*changes += drain.n;
	return drain.n == limit && (position->start == NULL || !position->caught_up);
}

/* drain_from: drains a batch from where it says */
void
drain_from(Oid fact_table, Drain *drain)
{
	(void) with_queue_locked(fact_table, drain_locked, drain);
}

/* drain_end: releases what *position has kept from batch to batch */
void
drain_end(DrainPosition *position)
{
	if (position->reading != NULL)
		UnregisterSnapshot(position->reading);
	position->reading = NULL;
}

/*
 * drain_queue
 *		Applies the changes of a fact table in this transaction, batch by batch, until a
 *		batch has found no more than few of them.
 */
void
drain_queue(Oid fact_table, int few)
{
	DrainPosition position = {0};
	int64		before;
	int64		changes = 0;

	do
	{
		before = changes;
		drain_batch(fact_table, setting_batch_size, &position, &changes);
		CommandCounterIncrement();
	} while (changes - before > few);
	drain_end(&position);
}

/* drain_locked: drains one batch, under the drain lock; for with_queue_locked() */
static void
drain_locked(FactDef *def, Relation fact, void *arg)
{
	Drain	   *drain = arg;
	const ChangeSource *source = drain->source != NULL ? drain->source : def->place->changes;
	Reconciliation *r = &drain->rows;
	Datum	   *keys;

	/*
	 * A parallel restore may have created the triggers before it filled the
	 * catalog.
	 */
	if (def->restored)
		adopt_restored(def->relid);
	if (def->queue.lost)
		queue_note_lost(def);
	if (!OidIsValid(def->queue.current) && drain->source == NULL)
	{
		/* It raises an error if there is something to write. */
		queue_write();
		return;
	}
	check_row_indexes(def);
	*r = (Reconciliation)
	{
		.def = def,.fact = fact,.from = def->nsync,.to = def->ndefs
	};
	if (!source->begin(drain))
		return;
	wait_point("drain has its snapshot");
	PushActiveSnapshot(r->snapshot);
	source->take(drain);
	r->alone = r->n == 1;
	keys = r->keys;
	for (int64 left = r->n; left > 0; left -= r->n)
	{
		r->keys = keys;
		r->n = Min(drain->limit, left);
		apply_keys(r);
		keys += (Size) r->n * def->layout.npk;
	}
	PopActiveSnapshot();
	UnregisterSnapshot(r->snapshot);
	if (source->end != NULL)
		source->end(drain);
}

/*
 * lock_queue
 *		Opens the fact table, locks the queue against other drains and the asynchronous
 *		index tables against DDL, in the order in which writers lock them, and pins the
 *		definition.  Returns false if there is nothing to drain.  The fact table is not locked
 *		while another session that drains the queue is waited for.
 */
static bool
lock_queue(Oid fact_table, Relation *fact, FactDef **def)
{
	Oid			locked = InvalidOid;

	/*
	 * This is the lock that writers take.  create() waits for it, so that no
	 * change is consumed that the new index table lacks.
	 */
	*fact = try_relation_open(fact_table, RowExclusiveLock);
	if (*fact == NULL)
		return false;
	for (;;)
	{
		Oid			queue;
		Oid			spare;
		bool		more_locks;

		*def = definition_of_fact(*fact, fact_table);

		/*
		 * Of the two tables the drain lock is always on the one with the
		 * smaller OID, whichever of them is in use.  If both are lost, nobody
		 * has anything to drain.
		 */
		queue = OidIsValid((*def)->queue.spare) ? Min((*def)->queue.current, (*def)->queue.spare) :
			(*def)->queue.current;
		spare = OidIsValid((*def)->queue.spare) ? Max((*def)->queue.current, (*def)->queue.spare) : InvalidOid;
		if (!OidIsValid(queue) && !(*def)->queue.lost)
			break;

		/*
		 * A queue in parts stays as long as there are index tables: what is
		 * left in it is taken, and not applied.
		 */
		if ((*def)->nsync == (*def)->ndefs && !place_has_parts(fact_table))
			break;
		if (!OidIsValid(queue))
			 /* there is nothing to lock */ ;
		else if (!ConditionalLockRelationOid(queue, ShareUpdateExclusiveLock))
		{
			TableLock	locks[] = {
				{queue, ShareUpdateExclusiveLock, false},
				{fact_table, RowExclusiveLock, false}
			};

			/*
			 * The holder of the drain lock, for example alter(), may be
			 * waiting for the fact table. So we release our lock on it before
			 * we wait.
			 */
			relation_close(*fact, RowExclusiveLock);
			lock_all_in_turns(locks, lengthof(locks));
			*fact = try_relation_open(fact_table, NoLock);
			if (*fact == NULL)
				return false;
			continue;
		}
		if (OidIsValid(spare))
			LockRelationOid(spare, RowExclusiveLock);
		more_locks = locked != queue;
		locked = queue;
		more_locks |= definition_lock(*def, (*def)->nsync, (*def)->ndefs);
		if (definition_settled(*def, more_locks))
		{
			definition_hold(*def, CurrentMemoryContext);
			return true;
		}
	}

	/*
	 * The session that dropped the last asynchronous index table may have had
	 * to leave the queue because it was locked, as by a prepared transaction.
	 */
	if (OidIsValid((*def)->queue.current) && (*def)->nsync == (*def)->ndefs)
		(void) queues_drop(fact_table, false);
	relation_close(*fact, NoLock);
	return false;
}

/*
 * check_row_indexes
 *		Raises an error if an asynchronous index table lacks the index by which the entries
 *		of a row are found, or if rows or entries cannot be read, as they are in tables of
 *		Citus.
 *
 * This is checked before any row is applied, because the rows would be rejected for it,
 * although they are not what is wrong.
 */
void
check_row_indexes(FactDef *def)
{
	for (int i = def->nsync; i < def->ndefs; i++)
	{
		require_kept(def->defs[i]);
		if (!OidIsValid(def->defs[i]->layout.row_index))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" has no index on the primary key of \"%s\"",
							def->defs[i]->name, def->name),
					 errdetail("Changes of a row cannot be applied without an index that finds its entries."),
					 errhint("Run %s", told_call("repair", def->defs[i]->relid))));
	}
}

/*
 * apply_keys
 *		Makes the entries of rows what they should be.  What fails is halved until the row
 *		is found that makes it fail.
 */
void
apply_keys(Reconciliation *r)
{
	ErrorData  *error = try_to_write(r);
	Reconciliation half = *r;

	if (error == NULL)
		return;
	if (r->n == 1)
	{
		apply_failing_row(r, error);
		return;
	}
	FreeErrorData(error);
	half.n = r->n / 2;
	apply_keys(&half);
	half.keys = r->keys + (Size) half.n * r->def->layout.npk;
	half.tids = r->tids == NULL ? NULL : r->tids + half.n;
	half.n = r->n - half.n;
	apply_keys(&half);
}

/*
 * try_to_write
 *		Makes the entries of rows what they should be; returns the error that has prevented it, which may be
 *		about one row, or NULL.  If a row that is alone in its transaction takes more time than a batch
 *		may, that is about the row.
 */
static ErrorData *
try_to_write(Reconciliation *r)
{
	ErrorData  *error = run_catching_errors(write_entries, r);

	if (error != NULL && r->def->place->entries->undone != NULL && r->def->place->entries->undone(error))
		ReThrowError(error);
	if (error != NULL && !is_row_error(error) && !(r->alone && is_over_time(error)))
		ReThrowError(error);
	return error;
}

/*
 * write_entries
 *		Makes the entries of rows what they should be, and notes which rows are rejected and
 *		which are not any more; for run_catching_errors().
 */
static void
write_entries(void *arg)
{
	Reconciliation *r = arg;
	Reconciliation some = *r;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable entries", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);

	for (int left = r->n; left > 0; left -= some.n)
	{
		some.n = left;
		write_some(&some);
		some.keys += (Size) some.n * r->def->layout.npk;
		if (some.tids != NULL)
			some.tids += some.n;
		MemoryContextReset(cxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

/* write_some: writes the entries of the first r->n rows */
static void
write_some(Reconciliation *r)
{
	FactDef    *def = r->def;

	r->rejected = NIL;
	reconcile_rows(r);
	for (int i = r->from; i < r->to; i++)
	{
		if (r->lists[i - r->from].n > 0)
			def->place->entries->apply(def->defs[i], &r->lists[i - r->from]);
	}
	for (int i = r->from; i < r->to; i++)
	{
		if (r->lists[i - r->from].skipped > 0)
			catalog_count_skipped(def->defs[i]->relid, r->lists[i - r->from].skipped);
		if (def->place->entries->not_planned == NULL)
			record_lacking(def->defs[i], r->lists[i - r->from].lacking);
		if (!r->withhold)
			rejections_delete_resolved(def, i, r->keys, r->n, r->rejected);
	}
	reject_rows(def, r->rejected);
}

/*
 * apply_failing_row
 *		Gives a row that fails by itself, with an error, its entries in each index table that takes
 *		them, and none in the others, which reject it.
 *
 * If it has failed because it takes too long, all that is tried after that together has as much
 * time again.
 */
static void
apply_failing_row(Reconciliation *r, ErrorData *error)
{
	List	   *failed = NIL;
	Reconciliation one = *r;
	bool		slow = is_over_time(error);
	bool		only = r->to - r->from == 1;

	for (one.from = r->from; one.from < r->to; one.from++)
	{
		RejectedRow *rejected;

		one.to = one.from + 1;
		one.withhold = false;
		if (slow && !only)
			time_limit_renew(Max(setting_batch_timeout / (r->to - r->from), 1));
		if (!only || !slow)
			error = try_to_write(&one);
		if (error == NULL)
			continue;
		slow = slow || is_over_time(error);
		rejected = palloc(sizeof(RejectedRow));
		rejected->defno = one.from;
		rejected->key = r->keys;
		rejected->retry = !is_over_time(error);
		rejected->why.sqlstate = error->sqlerrcode;
		rejected->why.message = is_over_time(error) ? "row takes longer than indextable.batch_timeout allows" :
			error->detail == NULL ? error->message : psprintf("%s: %s", error->message, error->detail);
		failed = lappend(failed, rejected);

		/*
		 * The entries that the row had before are wrong now, and with a
		 * unique key they may be in the way of other rows' entries.
		 */
		if (slow)
			time_limit_renew(setting_batch_timeout);
		one.withhold = true;
		error = try_to_write(&one);
		if (error != NULL)
			ReThrowError(error);
	}
	reject_rows(r->def, failed);
}
