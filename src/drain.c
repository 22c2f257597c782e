/*-------------------------------------------------------------------------
 *
 * drain.c
 *	  Applies what is queued: indextable.drain(), and a batch at a time for the
 *	  worker.
 *
 * Why index tables converge, whatever the interleaving.  A queue is drained by
 * one transaction at a time, which holds the drain lock until it ends.  Under the
 * lock it takes a snapshot, and with this one snapshot it reads both the queued
 * keys and the fact rows they name.  A change and its key were committed
 * together, so the snapshot sees both or neither: a key that it consumes is of a
 * change that it sees, and the key of a change that it does not see stays.  It
 * reads the entries that the drain before it left, as nobody else writes them,
 * and makes them what the rows ask for.  So after each drain the entries of a row
 * are those of its newest version but for the changes still queued, and no older
 * state can come back.  The order of the queue does not matter, nor how often a
 * key is in it.  A crash or an error takes back the entries and the consumption
 * together.
 *
 * What is cached (definitions, partitions, their columns and indexes) is as new as
 * the snapshot, too, or a key of a partition that was attached just now would be
 * taken for that of a row that is gone, and consumed: see tree_snapshot().
 *
 * Keys are consumed by deleting them: there is no mark to move, which a
 * transaction that commits late could fall behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(indextable_drain);

/* Queued keys, and where they are. */
typedef struct Keys
{
	FactDef    *def;
	int			limit;
	Snapshot	start;			/* what it sees is old; NULL: no matter */
	bool		old;			/* there are old ones */
	int			n;
	Datum	   *values;			/* n * npk */
	ItemPointerData *tids;
	int			nspare;			/* the first of them are in the spare table */
} Keys;

static void check_drainable(void *arg);
static int	compare_queues(const ListCell *a, const ListCell *b);
static void drain_locked(FactDef *def, Relation fact, void *arg);
static bool lock_queue(Oid fact_table, DrainLock lock, Relation *fact, FactDef **def);
static void write_entries(void *arg);
static void isolate(Reconciliation *r);
static void read_keys(Keys *keys, Snapshot snapshot, DrainPosition *position);
static bool read_table(Oid relid, Keys *keys, Snapshot snapshot, DrainPosition *position);
static bool any_left(FactDef *def, Snapshot now, Snapshot start);
static bool add_key(HeapTuple tuple, void *arg);
static void delete_keys(Keys *keys);
static int	sort_keys(Keys *keys);

/*
 * indextable_drain
 *		drain(fact_table regclass, batch_size integer): everything in one
 *		transaction, the caller's.
 */
Datum
indextable_drain(PG_FUNCTION_ARGS)
{
	bool		all = PG_ARGISNULL(0);
	Oid			wanted = all ? InvalidOid : PG_GETARG_OID(0);
	int			limit = PG_ARGISNULL(1) ? setting_batch_size : PG_GETARG_INT32(1);
	int64		changes = 0;
	bool		found = false;
	List	   *queues;
	ListCell   *cell;

	if (limit < 1 || limit > MAX_BATCH_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_size must be between 1 and %d", MAX_BATCH_SIZE)));
	if (!all && get_rel_name(wanted) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", wanted)));
	PreventCommandIfReadOnly("drain()");
	PreventCommandIfParallelMode("drain()");
	if (!all && !owns_relation(wanted, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(wanted));

	/* In the same order whoever drains: each keeps its locks. */
	queues = catalog_queues();
	list_sort(queues, compare_queues);
	foreach(cell, queues)
	{
		Oid			fact_table = ((FactTableRow *) lfirst(cell))->fact_table;
		DrainPosition position = {0};
		ErrorData  *error;

		if (!all ? fact_table != wanted :
			get_rel_name(fact_table) == NULL || !owns_relation(fact_table, GetUserId()) || !catalog_fact_in_use(fact_table))
			continue;
		found = true;
		if (all && (error = attempt(check_drainable, &fact_table)) != NULL)
		{
			/* The others' changes are not held up by that. */
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("could not drain table \"%s\": %s", get_rel_name(fact_table), error->message),
					 error->detail ? errdetail_internal("%s", error->detail) : 0,
					 error->hint ? errhint("%s", error->hint) : 0));
			FreeErrorData(error);
			continue;
		}
		position.start = RegisterSnapshot(GetLatestSnapshot());
		while (drain_batch(fact_table, limit, DRAIN_WAIT, &position, &changes))
			CommandCounterIncrement();
		UnregisterSnapshot(position.start);
	}
	if (!all && !found)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has no asynchronous index tables", get_rel_name(wanted)),
				 errhint("The view indextable.index_tables lists the index tables.")));
	PG_RETURN_INT64(changes);
}

/* check_drainable: raises an error for a fact table whose definitions do not fit any more */
static void
check_drainable(void *arg)
{
	Oid			fact_table = *(Oid *) arg;
	Relation	fact = try_relation_open(fact_table, AccessShareLock);

	if (fact == NULL)
		return;
	check_row_indexes(definition_of_fact(fact, fact_table));
	relation_close(fact, NoLock);
}

static int
compare_queues(const ListCell *a, const ListCell *b)
{
	Oid			x = ((FactTableRow *) lfirst(a))->fact_table;
	Oid			y = ((FactTableRow *) lfirst(b))->fact_table;

	return x < y ? -1 : x > y ? 1 : 0;
}

/*
 * with_queue_locked
 *		Does some work on a fact table whose queue nobody else drains meanwhile,
 *		under fixed settings.  False if there is none, or somebody else has it.
 */
bool
with_queue_locked(Oid fact_table, DrainLock lock,
				  void (*work) (FactDef *def, Relation fact, void *arg), void *arg)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable drain",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Relation	fact;
	FactDef    *def;
	int			nestlevel = NewGUCNestLevel();
	bool		locked;

	fix_settings();
	locked = lock_queue(fact_table, lock, &fact, &def);
	if (locked)
	{
		PG_TRY();
		{
			work(def, fact, arg);
		}
		PG_CATCH();
		{
			definition_unpin(def);
			PG_RE_THROW();
		}
		PG_END_TRY();
		definition_unpin(def);
		relation_close(fact, NoLock);
	}
	AtEOXact_GUC(false, nestlevel);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return locked;
}

typedef struct BatchArgs
{
	int			limit;
	DrainPosition *position;
	int			n;
} BatchArgs;

/*
 * drain_batch
 *		Applies up to limit changes of a fact table, and adds their number to
 *		*changes.  Whether there may be more.  In *position, zeroed at first, is
 *		where the next batch of the same transaction goes on.
 */
bool
drain_batch(Oid fact_table, int limit, DrainLock lock, DrainPosition *position, int64 *changes)
{
	BatchArgs	batch = {.limit = limit,.position = position};

	position->locked = !with_queue_locked(fact_table, lock, drain_locked, &batch) &&
		lock == DRAIN_TRY;
	*changes += batch.n;
	return batch.n == limit && (position->start == NULL || !position->caught_up);
}

/* drain_queue: in this transaction, until at most a few changes are left, or none */
void
drain_queue(Oid fact_table, int few)
{
	DrainPosition position = {0};
	int64		before;
	int64		changes = 0;

	do
	{
		before = changes;
		drain_batch(fact_table, setting_batch_size, DRAIN_WAIT, &position, &changes);
		CommandCounterIncrement();
	} while (changes - before > few);
}

static void
drain_locked(FactDef *def, Relation fact, void *arg)
{
	BatchArgs  *batch = arg;
	DrainPosition *position = batch->position;
	int			limit = batch->limit;
	Keys		keys = {.def = def,.limit = limit,.start = position->start};
	Reconciliation r = {.def = def,.fact = fact};

	/* A parallel restore may have made the triggers before it filled the catalog. */
	if (def->restored)
		adopt_restored(def->relid);
	if (def->queue_lost)
		queue_note_lost(def);
	if (!OidIsValid(def->queue))
	{
		queue_write();			/* which is an error, if there is something to write */
		return;
	}
	check_row_indexes(def);
	rejections_retry(def);
	queue_write();
	/* Keys that this transaction has queued are seen by a later command only. */
	CommandCounterIncrement();
	/* Partitions are known as of the snapshot: a key of one that was not would be of no row. */
	r.snapshot = tree_snapshot(fact);
	wait_point("drain has its snapshot");
	PushActiveSnapshot(r.snapshot);
	read_keys(&keys, r.snapshot, position);
	/* Others may queue as fast as we drain. */
	if (position->start != NULL && keys.n == limit && !keys.old)
		position->caught_up = !any_left(def, r.snapshot, position->start);
	if (keys.n > 0)
	{
		delete_keys(&keys);
		r.from = def->nsync;
		r.to = def->ndefs;
		r.keys = keys.values;
		r.n = sort_keys(&keys);
		apply_keys(&r);
	}
	PopActiveSnapshot();
	UnregisterSnapshot(r.snapshot);
	/* What is emptied is locked: not until the end of somebody's long transaction. */
	if (keys.n < limit && !def->stale && !def->queue_lost && !IsTransactionBlock())
		queues_rotate(def);
	batch->n = keys.n;
}

/*
 * lock_queue
 *		Opens the fact table, locks the queue against other drains and the
 *		asynchronous index tables against DDL, in the order in which writers do;
 *		pins the definition.  False if there is nothing to do, or somebody else is
 *		doing it.
 */
static bool
lock_queue(Oid fact_table, DrainLock lock, Relation *fact, FactDef **def)
{
	Oid			locked = InvalidOid;

	/* Like writers: create() waits, so that no change is consumed that its index table lacks. */
	*fact = try_relation_open(fact_table, RowExclusiveLock);
	if (*fact == NULL)
		return false;
	for (;;)
	{
		Oid			queue;
		Oid			spare;
		bool		more_locks;

		*def = definition_of_fact(*fact, fact_table);
		/* Always the same of the two, whichever is in use; without both, nobody has anything to drain. */
		queue = OidIsValid((*def)->spare) ? Min((*def)->queue, (*def)->spare) : (*def)->queue;
		spare = OidIsValid((*def)->spare) ? Max((*def)->queue, (*def)->spare) : InvalidOid;
		if ((!OidIsValid(queue) && !(*def)->queue_lost) || (*def)->nsync == (*def)->ndefs)
			break;
		if (!OidIsValid(queue))
			 /* no lock */ ;
		else if (lock == DRAIN_WAIT)
			LockRelationOid(queue, ShareUpdateExclusiveLock);
		else if (!ConditionalLockRelationOid(queue, ShareUpdateExclusiveLock))
			break;
		if (OidIsValid(spare))
			LockRelationOid(spare, RowExclusiveLock);
		more_locks = locked != queue;
		locked = queue;
		more_locks |= definition_lock(*def, (*def)->nsync, (*def)->ndefs);
		if (definition_settled(*def, more_locks))
		{
			definition_pin(*def);
			return true;
		}
	}
	/* Whoever dropped the last asynchronous index table may have had to leave the queue, locked by a prepared transaction. */
	if (OidIsValid((*def)->queue) && (*def)->nsync == (*def)->ndefs)
		(void) queues_drop(fact_table, false);
	relation_close(*fact, NoLock);
	return false;
}

/* check_row_indexes: without them a row's entries cannot be found; it is not the rows that fail */
void
check_row_indexes(FactDef *def)
{
	int			i;

	for (i = def->nsync; i < def->ndefs; i++)
		if (!OidIsValid(def->defs[i]->row_index))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" has no index on the primary key of \"%s\"",
							def->defs[i]->name, def->name),
					 errdetail("Changes of a row cannot be applied without an index that finds its entries."),
					 errhint("Create the index again, or drop the index table.")));
}

/* apply_keys: halves what fails until it has the row that makes it fail */
void
apply_keys(Reconciliation *r)
{
	ErrorData  *error = attempt(write_entries, r);
	Reconciliation half = *r;

	if (error == NULL)
		return;
	FreeErrorData(error);
	if (r->n == 1)
	{
		isolate(r);
		return;
	}
	half.n = r->n / 2;
	apply_keys(&half);
	half.keys = r->keys + (Size) half.n * r->def->npk;
	half.tids = r->tids == NULL ? NULL : r->tids + half.n;
	half.n = r->n - half.n;
	apply_keys(&half);
}

/* write_entries: makes rows' entries what they should be; see attempt() */
static void
write_entries(void *arg)
{
	Reconciliation *r = arg;
	FactDef    *def = r->def;
	Caller		caller;
	int			i;

	/* Expressions of indexes and of definitions are the owner's code. */
	become_owner(&caller, def->owner);
	r->rejected = NIL;
	reconcile_rows(r);
	for (i = r->from; i < r->to; i++)
	{
		OpList	   *list = &r->lists[i - r->from];

		if (list->n > 0)
			apply_ops(def->defs[i], list, false);
	}
	become_caller(&caller);

	for (i = r->from; i < r->to; i++)
	{
		if (r->lists[i - r->from].skipped > 0)
			catalog_count_skipped(def->defs[i]->relid, r->lists[i - r->from].skipped);
		if (!r->withhold)
			rejections_resolved(def, i, r->keys, r->n, r->rejected);
	}
	reject_rows(def, r->rejected);
}

/*
 * isolate
 *		A row that fails alone: gives it its entries in each index table that takes
 *		them, and none in the others, where it is written down.
 */
static void
isolate(Reconciliation *r)
{
	List	   *failed = NIL;
	Reconciliation one = *r;

	for (one.from = r->from; one.from < r->to; one.from++)
	{
		ErrorData  *error;
		RejectedRow *rejected;

		one.to = one.from + 1;
		one.withhold = false;
		error = attempt(write_entries, &one);
		if (error == NULL)
			continue;
		rejected = palloc(sizeof(RejectedRow));
		rejected->defno = one.from;
		rejected->key = r->keys;
		rejected->retry = true;
		rejected->why.sqlstate = error->sqlerrcode;
		rejected->why.message = error->detail == NULL ? error->message :
			psprintf("%s: %s", error->message, error->detail);
		failed = lappend(failed, rejected);

		/* The entries of the row as it was are wrong, and may be in others' way. */
		one.withhold = true;
		error = attempt(write_entries, &one);
		if (error != NULL)
			ReThrowError(error);
	}
	reject_rows(r->def, failed);
}

/* read_keys: up to the limit; spare table first, as it is to be emptied */
static void
read_keys(Keys *keys, Snapshot snapshot, DrainPosition *position)
{
	FactDef    *def = keys->def;

	keys->values = palloc_extended(sizeof(Datum) * def->npk * keys->limit, MCXT_ALLOC_HUGE);
	keys->tids = palloc_extended(sizeof(ItemPointerData) * keys->limit, MCXT_ALLOC_HUGE);
	if (read_table(def->spare, keys, snapshot, position))
	{
		keys->nspare = keys->n;
		read_table(def->queue, keys, snapshot, position);
	}
	else
		keys->nspare = keys->n;
}

static bool
read_table(Oid relid, Keys *keys, Snapshot snapshot, DrainPosition *position)
{
	Relation	rel;
	int			i = position->relid[0] == relid || position->relid[0] == InvalidOid ? 0 : 1;
	bool		all;

	if (!OidIsValid(relid))
		return true;
	rel = relation_open(relid, RowExclusiveLock);
	position->relid[i] = relid;
	all = segment_scan(rel, snapshot, &position->block[i], add_key, keys);
	relation_close(rel, NoLock);
	return all;
}

/* is_old: whether a row of the queue was there when drain() was called */
static bool
is_old(HeapTuple tuple, Snapshot start)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	return TransactionIdIsCurrentTransactionId(xmin) || !XidInMVCCSnapshot(xmin, start);
}

typedef struct Rest
{
	Snapshot	start;
	bool		any;
} Rest;

static bool
find_old(HeapTuple tuple, void *arg)
{
	Rest	   *rest = arg;

	rest->any = is_old(tuple, rest->start);
	return !rest->any;
}

/* any_left: whether there are changes that were queued when drain() was called */
static bool
any_left(FactDef *def, Snapshot now, Snapshot start)
{
	Oid			tables[2] = {def->spare, def->queue};
	Rest		rest = {start, false};
	int			i;

	for (i = 0; i < 2 && !rest.any; i++)
	{
		Relation	rel;
		BlockNumber position = 0;

		if (!OidIsValid(tables[i]))
			continue;
		rel = relation_open(tables[i], RowExclusiveLock);
		segment_scan(rel, now, &position, find_old, &rest);
		relation_close(rel, NoLock);
	}
	return rest.any;
}

/* add_key: visits a row of the queue */
static bool
add_key(HeapTuple tuple, void *arg)
{
	Keys	   *keys = arg;
	FactDef    *def = keys->def;
	Datum		values[INDEX_MAX_KEYS + 1];
	bool		isnull[INDEX_MAX_KEYS + 1];
	int			i;

	if (keys->n == keys->limit)
		return false;
	keys->old |= keys->start != NULL && is_old(tuple, keys->start);
	heap_deform_tuple(tuple, def->queue_desc, values, isnull);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i);
		Datum		value = values[QUEUE_KEY - 1 + i];

		keys->values[(Size) keys->n * def->npk + i] = att->attbyval ? value :
			att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
			datumCopy(value, false, att->attlen);
	}
	keys->tids[keys->n++] = tuple->t_self;
	return true;
}

static void
delete_keys(Keys *keys)
{
	CommandId	cid = GetCurrentCommandId(true);
	Relation	rel = NULL;
	int			i;

	for (i = 0; i < keys->n; i++)
	{
		TM_FailureData failure;
		TM_Result	result;

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL || i == keys->nspare)
		{
			if (rel != NULL)
				relation_close(rel, NoLock);
			rel = relation_open(i < keys->nspare ? keys->def->spare : keys->def->queue, NoLock);
		}
		result = heap_delete_compat(rel, &keys->tids[i], cid, true, &failure);
		if (result != TM_Ok)
			elog(ERROR, "unexpected result %d of deleting a row of queue table \"%s\"",
				 (int) result, RelationGetRelationName(rel));
	}
	relation_close(rel, NoLock);
}

typedef struct KeyOrder
{
	int			n;
	TupleDesc	desc;
	SortSupport sort;
} KeyOrder;

static int
compare_keys(const void *a, const void *b, void *arg)
{
	KeyOrder   *order = arg;
	const Datum *x = a;
	const Datum *y = b;
	int			i;
	int			c = 0;

	for (i = 0; i < order->n && c == 0; i++)
		c = ApplySortComparator(x[i], false, y[i], false, &order->sort[i]);
	return c;
}

/* same_key: whether two keys have the same bytes; 1.0 and 1.00 may be written down as rejected */
static bool
same_key(const Datum *a, const Datum *b, KeyOrder *order)
{
	int			i;

	for (i = 0; i < order->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(order->desc, QUEUE_KEY - 1 + i);

		if (!datumIsEqual(a[i], b[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/* sort_keys: in the order of the primary key, each once; returns how many */
static int
sort_keys(Keys *keys)
{
	FactDef    *def = keys->def;
	Size		size = sizeof(Datum) * def->npk;
	char	   *at = (char *) keys->values;
	KeyOrder	order = {def->npk, def->queue_desc, palloc0(sizeof(SortSupportData) * def->npk)};
	int			n = 1;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i);

		order.sort[i].ssup_cxt = CurrentMemoryContext;
		order.sort[i].ssup_collation = att->attcollation;
		PrepareSortSupportFromOrderingOp(lookup_type_cache(att->atttypid, TYPECACHE_LT_OPR)->lt_opr,
										 &order.sort[i]);
	}
	qsort_arg(keys->values, keys->n, size, compare_keys, &order);
	for (i = 1; i < keys->n; i++)
		if (!same_key((Datum *) (at + (n - 1) * size), (Datum *) (at + i * size), &order))
			memmove(at + n++ * size, at + i * size, size);
	return n;
}
