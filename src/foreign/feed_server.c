/*-------------------------------------------------------------------------
 *
 * feed_server.c
 *	  Hands out what is queued in one, and deletes what was acknowledged.
 *
 * A feed is a queue whose changes are applied on another server, which has the table as
 * a foreign partition of a fact table.  That server takes changes, reads the rows, writes
 * their entries, and commits.  Only then it acknowledges what it has taken.  Taking
 * consumes nothing: what is not acknowledged, for whatever reason, is taken again.
 *
 * A change is named by an item: the queue table, the place of the row in it, and the
 * transaction that has put it there.  The place alone will not do, because a queue table
 * is emptied and filled again: an acknowledgement that comes late, or twice, would delete
 * another change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/as_owner.h"
#include "../util/fixed_settings.h"
#include "../util/lock.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/sql.h"

PG_FUNCTION_INFO_V1(indextable_feed_take);
PG_FUNCTION_INFO_V1(indextable_feed_ack);
PG_FUNCTION_INFO_V1(indextable_feed_status);

#define ITEM_FORMAT			"%u:%u:%u:%u"

/* What take_row() works on. */
typedef struct Take
{
	FactDef    *def;
	Relation	queue;
	int64		limit;
	int64		n;
	HeapTuple  *rows;			/* copies of them */
	int			max;
} Take;

/* What status_row() works on. */
typedef struct Status
{
	int64		changes;
	TimestampTz oldest;
	bool		stop;			/* at the first pending one */
	bool		pending;		/* a change is in the queue that counts */
	Datum		as_of;			/* a pg_snapshot: only changes that it sees
								 * count */
	bool		any_time;		/* there is no such snapshot */
	TimestampTz before;			/* only changes made until then count */
	FullTransactionId next;
	TransactionId last;			/* what as_of says of this transaction ... */
	bool		last_visible;	/* ... is this */
} Status;

/* An item that was acknowledged. */
typedef struct FeedItem
{
	Oid			queue;
	ItemPointerData tid;
	TransactionId xmin;
} FeedItem;

static FactDef *open_feed(Oid relid, bool missing_ok, Relation *fact);
static List *order_columns(FactDef *def, List *names);
static Datum in_order(ArrayType *texts, List *order);
static bool take_row(HeapTuple tuple, void *arg);
static bool status_row(HeapTuple tuple, void *arg);
static bool visible_in(Status *status, TransactionId xmin);
static int	read_items(ArrayType *array, FactDef *def, FeedItem **items);
static int	compare_items(const void *a, const void *b);
static bool is_there(Relation queue, FeedItem *item, Snapshot snapshot);

/*
 * open_feed
 *		Opens a table that has a feed, locks it as its writers do, and returns its definition, held
 *		in the current memory context.  The role that takes changes has to own the table, because
 *		keys of rows are shown, and changes that are acknowledged are lost to all others.
 */
static FactDef *
open_feed(Oid relid, bool missing_ok, Relation *fact)
{
	FactDef    *def;

	require_owner(relid);
	*fact = try_relation_open(relid, AccessShareLock);
	if (*fact == NULL)
		report_dropped(relid);
	require_owner(relid);		/* it may be another's since */
	def = (*fact)->rd_rel->relkind == RELKIND_RELATION || (*fact)->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
		definition_of_fact(*fact, relid) : NULL;
	if (def != NULL && def->queue.feed)
	{
		definition_hold(def, CurrentMemoryContext);
		return def;
	}
	if (!missing_ok)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no feed", get_rel_name(relid)),
				 errhint("Run %s", told_select("create_feed", relid, ""))));
	relation_close(*fact, NoLock);
	return NULL;
}

/*
 * indextable_feed_take
 *		take(fact_table regclass, n bigint, columns name[]): returns up to n changes of a table that are in
 *		its feed, each with an item to acknowledge it by and the primary key of the row; the
 *		key is null if any row may have changed, as after TRUNCATE.  columns are those of the
 *		primary key, in the order that is wanted: that of another server may be another.
 */
Datum
indextable_feed_take(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			nestlevel = NewGUCNestLevel();
	Relation	fact;
	FactDef    *def;
	Take		take = {.limit = PG_GETARG_INT64(1)};
	Oid			tables[2];
	Snapshot	snapshot;
	List	   *order;

	fix_gucs();
	InitMaterializedSRF(fcinfo, 0);
	def = take.def = open_feed(PG_GETARG_OID(0), false, &fact);
	order = order_columns(def, array_strings(PG_GETARG_DATUM(2), NAMEOID));
	if (def->queue.lost)
		queue_lost_error(def);
	tables[0] = def->queue.spare;
	tables[1] = def->queue.current;
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	for (int t = 0; t < 2 && take.n < take.limit; t++)
	{
		BlockNumber position = 0;
		int64		from = take.n;

		/* An empty table that is being truncated has nothing to take. */
		if (!open_if_free(tables[t], &take.queue) || take.queue == NULL)
			continue;
		queue_scan(take.queue, snapshot, &position, take_row, &take);
		relation_close(take.queue, AccessShareLock);
		for (int64 i = from; i < take.n; i++)
		{
			HeapTuple	row = take.rows[i];
			Datum		stored[INDEX_MAX_KEYS + 1];
			bool		stored_null[INDEX_MAX_KEYS + 1];
			Datum		values[2];
			bool		isnull[2] = {false};

			CHECK_FOR_INTERRUPTS();
			heap_deform_tuple(row, def->queue.desc, stored, stored_null);
			values[0] = CStringGetTextDatum(psprintf(ITEM_FORMAT, tables[t],
													 ItemPointerGetBlockNumber(&row->t_self),
													 ItemPointerGetOffsetNumber(&row->t_self),
													 HeapTupleHeaderGetRawXmin(row->t_data)));
			isnull[1] = stored_null[QUEUE_KEY - 1];
			AS_OWNER(def->owner);
			{
				if (!isnull[1])
					values[1] = in_order(DatumGetArrayTypeP(key_texts(def, &stored[QUEUE_KEY - 1])), order);
			}
			END_AS_OWNER();
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
		}
	}
	UnregisterSnapshot(snapshot);
	relation_close(fact, NoLock);
	AtEOXact_GUC(false, nestlevel);
	return (Datum) 0;
}

/*
 * order_columns
 *		Returns the number in the primary key of each column named; raises an error if others
 *		are named.
 */
static List *
order_columns(FactDef *def, List *names)
{
	List	   *order = NIL;

	foreach_ptr(char, name, names)
	{
		for (int i = 0; i < def->layout.npk; i++)
			if (strcmp(name, get_attname(def->relid, def->layout.pk_attno[i], false)) == 0)
				order = list_append_unique_int(order, i);
	}
	if (list_length(order) != def->layout.npk || list_length(names) != def->layout.npk)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the primary key of table \"%s\" is not the one by which its changes are wanted", def->name),
				 errdetail("It has the columns %s.", column_list(def->relid, def->layout.pk_attno, def->layout.npk))));
	return order;
}

/* in_order: returns the texts of a primary key in another order of its columns */
static Datum
in_order(ArrayType *texts, List *order)
{
	Datum	   *elems;
	Datum		sorted[INDEX_MAX_KEYS];
	int			n;

	deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &elems, NULL, &n);
	for (int i = 0; i < n; i++)
		sorted[i] = elems[list_nth_int(order, i)];
	return PointerGetDatum(construct_array(sorted, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* take_row: keeps a copy of one row of a queue table, unless there are enough; for queue_scan() */
static bool
take_row(HeapTuple tuple, void *arg)
{
	Take	   *take = arg;

	if (take->n == take->limit)
		return false;
	if (take->n == take->max)
		take->rows = grow_array(take->rows, &take->max, 64, sizeof(HeapTuple), CurrentMemoryContext);
	take->rows[take->n++] = heap_copytuple(tuple);
	return true;
}

/*
 * indextable_feed_ack
 *		ack(fact_table regclass, items text[]): deletes the changes that these items name
 *		from the feed of a table, and returns how many there were.  An item that was
 *		acknowledged before names no change any more.
 *
 * No other session deletes changes or empties a queue table under the drain lock.  So
 * what is found to be the change that was taken still is when it is deleted.
 */
Datum
indextable_feed_ack(PG_FUNCTION_ARGS)
{
	Relation	fact;
	FactDef    *def = open_feed(PG_GETARG_OID(0), false, &fact);
	CommandId	cid = GetCurrentCommandId(true);
	Relation	queue = NULL;
	Snapshot	snapshot;
	FeedItem   *items;
	int			n = read_items(PG_GETARG_ARRAYTYPE_P(1), def, &items);
	int64		deleted = 0;

	PreventCommandIfReadOnly("ack()");
	if (def->queue.lost)
		queue_lost_error(def);
	LockRelationOid(Min(def->queue.current, def->queue.spare), ShareUpdateExclusiveLock);
	LockRelationOid(Max(def->queue.current, def->queue.spare), RowExclusiveLock);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	for (int i = 0; i < n; i++)
	{
		TM_FailureData failure;
		TM_Result	result;

		CHECK_FOR_INTERRUPTS();
		if (queue == NULL || items[i].queue != RelationGetRelid(queue))
		{
			if (queue != NULL)
				relation_close(queue, NoLock);
			queue = relation_open(items[i].queue, NoLock);
		}
		if ((i > 0 && compare_items(&items[i - 1], &items[i]) == 0) || !is_there(queue, &items[i], snapshot))
			continue;
		result = heap_delete_compat(queue, &items[i].tid, cid, true, &failure);
		/* A statement may call this function twice. */
		if (result == TM_SelfModified)
			continue;
		if (result != TM_Ok)
			elog(ERROR, "unexpected result %d of deleting a row of queue table \"%s\"",
				 (int) result, RelationGetRelationName(queue));
		deleted++;
	}
	if (queue != NULL)
		relation_close(queue, NoLock);
	UnregisterSnapshot(snapshot);
	if (!def->run.stale && !IsTransactionBlock())
		queues_rotate(def);
	relation_close(fact, NoLock);
	PG_RETURN_INT64(deleted);
}

/*
 * read_items
 *		Reads the items that are in the queue tables of a feed, in the order of their places,
 *		and returns how many they are.  Others are those of a feed that was created anew.
 */
static int
read_items(ArrayType *array, FactDef *def, FeedItem **items)
{
	Datum	   *elems;
	bool	   *nulls;
	int			nelems;
	int			n = 0;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elems, &nulls, &nelems);
	*items = palloc(sizeof(FeedItem) * Max(nelems, 1));
	for (int i = 0; i < nelems; i++)
	{
		Oid			queue;
		BlockNumber block;
		unsigned int offset;
		TransactionId xmin;
		char		rest;

		if (nulls[i] ||
			sscanf(TextDatumGetCString(elems[i]), ITEM_FORMAT "%c", &queue, &block, &offset, &xmin, &rest) != 4 ||
			offset == 0 || offset > MaxOffsetNumber)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("item %d was not returned by take()", i + 1)));
		if (queue != def->queue.current && queue != def->queue.spare)
			continue;
		(*items)[n].queue = queue;
		ItemPointerSet(&(*items)[n].tid, block, offset);
		(*items)[n++].xmin = xmin;
	}
	qsort(*items, n, sizeof(FeedItem), compare_items);
	return n;
}

/* compare_items: compares two items by their places; for qsort() */
static int
compare_items(const void *a, const void *b)
{
	FeedItem   *x = (FeedItem *) unconstify(void *, a);
	FeedItem   *y = (FeedItem *) unconstify(void *, b);

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return ItemPointerCompare(&x->tid, &y->tid);
}

/*
 * is_there
 *		Returns whether the change that an item names is still in its place in the queue
 *		table.
 */
static bool
is_there(Relation queue, FeedItem *item, Snapshot snapshot)
{
	HeapTupleData tuple;
	Buffer		buffer;
	bool		found;

	if (ItemPointerGetBlockNumber(&item->tid) >= RelationGetNumberOfBlocks(queue))
		return false;
	tuple.t_self = item->tid;
	found = heap_fetch(queue, snapshot, &tuple, &buffer, false);
	if (found)
	{
		found = HeapTupleHeaderGetRawXmin(tuple.t_data) == item->xmin;
		ReleaseBuffer(buffer);
	}
	return found;
}

/*
 * indextable_feed_status
 *		feed_status(fact_table regclass, as_of pg_snapshot, max_lag interval,
 *		OUT backlog bigint, OUT lag interval, OUT pending boolean, OUT now pg_snapshot):
 *		returns how much is in the feed of a table; only nulls if it has none.
 *
 * With as_of or max_lag, only changes count that the snapshot sees, and that are at
 * least so old; whether there is one is pending, and nothing else is counted then.
 */
Datum
indextable_feed_status(PG_FUNCTION_ARGS)
{
	Datum		values[4];
	bool		isnull[4] = {true, true, true, true};
	TimestampTz now = GetCurrentTimestamp();
	int64		max_lag = interval_arg(fcinfo, 2, "max_lag");
	Status		status = {.oldest = DT_NOEND,.any_time = PG_ARGISNULL(1)};
	Relation	fact;
	FactDef    *def;
	Oid			tables[2];
	Snapshot	snapshot;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	def = open_feed(PG_GETARG_OID(0), true, &fact);
	if (def != NULL)
	{
		if (def->queue.lost)
			queue_lost_error(def);
		status.stop = max_lag >= 0 || !status.any_time;
		status.before = max_lag > 0 ? now - max_lag : DT_NOEND;
		if (!status.any_time)
			status.as_of = PG_GETARG_DATUM(1);
		status.next = ReadNextFullTransactionId();
		tables[0] = def->queue.spare;
		tables[1] = def->queue.current;
		snapshot = RegisterSnapshot(GetLatestSnapshot());
		for (int t = 0; t < 2 && !(status.stop && status.pending); t++)
		{
			Relation	queue;
			BlockNumber position = 0;

			/* What is locked may have changes: the caller asks again. */
			if (!open_if_free(tables[t], &queue))
				status.pending = true;
			if (queue == NULL)
				continue;
			queue_scan(queue, snapshot, &position, status_row, &status);
			relation_close(queue, AccessShareLock);
		}
		PushActiveSnapshot(snapshot);
		values[3] = DirectFunctionCall1(pg_current_snapshot, (Datum) 0);
		PopActiveSnapshot();
		UnregisterSnapshot(snapshot);
		values[0] = Int64GetDatum(status.changes);
		isnull[0] = isnull[1] = status.stop;
		if (!status.stop)
			values[1] = DirectFunctionCall2(timestamp_mi,
											TimestampTzGetDatum(status.changes == 0 ? now :
																Max(now, status.oldest)),
											TimestampTzGetDatum(status.changes == 0 ? now : status.oldest));
		values[2] = BoolGetDatum(status.pending);
		isnull[2] = isnull[3] = false;
		relation_close(fact, NoLock);
	}
	return row_result(fcinfo, values, isnull);
}

/* status_row: counts one row of a queue table; for queue_scan() */
static bool
status_row(HeapTuple tuple, void *arg)
{
	Status	   *status = arg;
	TimestampTz changed_at = queue_row_time(tuple);

	status->changes++;
	status->oldest = Min(status->oldest, changed_at);
	if (changed_at > status->before || !visible_in(status, HeapTupleHeaderGetRawXmin(tuple->t_data)))
		return true;
	status->pending = true;
	return !status->stop;
}

/*
 * visible_in
 *		Returns whether the snapshot status->as_of sees what a transaction has written, which
 *		has committed by now.  Of a subtransaction it may say so too early, and then the
 *		caller waits for a change that it need not wait for.
 */
static bool
visible_in(Status *status, TransactionId xmin)
{
	uint64		next = U64FromFullTransactionId(status->next);
	uint64		xid = (next & ~UINT64CONST(0xFFFFFFFF)) | xmin;

	if (status->any_time)
		return true;
	if (xmin != status->last || !TransactionIdIsValid(status->last))
	{
		if (xid > next)
			xid -= UINT64CONST(0x100000000);
		status->last = xmin;
		status->last_visible = DatumGetBool(DirectFunctionCall2(pg_visible_in_snapshot, UInt64GetDatum(xid),
																status->as_of));
	}
	return status->last_visible;
}
