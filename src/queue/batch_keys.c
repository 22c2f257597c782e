/*-------------------------------------------------------------------------
 *
 * batch_keys.c
 *	  Reads the keys of a batch from the queue, sorts them, and deletes them.
 *
 * Keys are consumed by deleting them: there is no mark in the queue that moves on, and
 * that a transaction which commits late could fall behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/datum.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "queue.h"

/* A search for changes that were queued before. */
typedef struct OldChanges
{
	Snapshot	start;			/* changes that it sees are old */
	bool		any;			/* one was found */
} OldChanges;

/* How primary keys are compared. */
typedef struct QueuedKeyOrder
{
	int			n;				/* columns */
	TupleDesc	desc;			/* of the queue table */
	SortSupport sort;
} QueuedKeyOrder;

static bool read_table(Oid relid, Keys *keys, Snapshot snapshot, DrainPosition *position);
static bool add_key(HeapTuple tuple, void *arg);
static bool is_of_first_row(Keys *keys, HeapTuple tuple);
static bool find_old(HeapTuple tuple, void *arg);
static bool is_old(HeapTuple tuple, Snapshot start);
static int	compare_keys(const void *a, const void *b, void *arg);
static bool same_key(const Datum *a, const Datum *b, QueuedKeyOrder *order);

/*
 * read_keys
 *		Reads the keys that the snapshot sees, up to the limit, beginning at the position.
 *
 * The spare table comes first, because it can be emptied once all its keys are consumed.
 */
void
read_keys(Keys *keys, Snapshot snapshot, DrainPosition *position)
{
	FactDef    *def = keys->def;

	keys->values = palloc_extended(sizeof(Datum) * def->layout.npk * keys->limit, MCXT_ALLOC_HUGE);
	keys->tids = palloc_extended(sizeof(ItemPointerData) * keys->limit, MCXT_ALLOC_HUGE);
	if (read_table(def->queue.spare, keys, snapshot, position))
	{
		keys->nspare = keys->n;
		read_table(def->queue.current, keys, snapshot, position);
	}
	else
		keys->nspare = keys->n;
}

/* read_table: reads keys of one queue table; returns false if it has more than the limit allows */
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
	all = queue_scan(rel, snapshot, &position->block[i], add_key, keys);
	relation_close(rel, NoLock);
	return all;
}

/* add_key: adds the key in a row of a queue table, unless there are enough; for queue_scan() */
static bool
add_key(HeapTuple tuple, void *arg)
{
	Keys	   *keys = arg;
	FactDef    *def = keys->def;
	Datum		values[INDEX_MAX_KEYS + 1];
	bool		isnull[INDEX_MAX_KEYS + 1];

	if (keys->n == keys->limit)
		return false;
	if (keys->one_row && keys->n > 0 && !is_of_first_row(keys, tuple))
		return true;
	keys->old |= keys->start != NULL && is_old(tuple, keys->start);
	heap_deform_tuple(tuple, def->queue.desc, values, isnull);
	keys->tids[keys->n] = tuple->t_self;
	copy_key(keys, values);
	return true;
}

/*
 * is_of_first_row
 *		Returns whether the key in a row of a queue table has the same bytes as the first one.
 */
static bool
is_of_first_row(Keys *keys, HeapTuple tuple)
{
	TupleDesc	desc = keys->def->queue.desc;

	for (int i = 0; i < keys->def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, QUEUE_KEY - 1 + i);
		bool		isnull;
		Datum		value = heap_getattr(tuple, QUEUE_KEY + i, desc, &isnull);

		if (!datum_image_eq(value, keys->values[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/* copy_key: adds the key in the columns of a row of a queue table */
void
copy_key(Keys *keys, Datum *row)
{
	FactDef    *def = keys->def;

	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i);
		Datum		value = row[QUEUE_KEY - 1 + i];

		keys->values[(Size) keys->n * def->layout.npk + i] = att->attbyval ? value :
			att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
			datumCopy(value, false, att->attlen);
	}
	keys->n++;
}

/*
 * any_left
 *		Returns whether the snapshot now sees changes in the queue that were there already
 *		when the snapshot start was taken.
 */
bool
any_left(FactDef *def, Snapshot now, Snapshot start)
{
	Oid			tables[2] = {def->queue.spare, def->queue.current};
	OldChanges	rest = {start, false};

	for (int i = 0; i < 2 && !rest.any; i++)
	{
		Relation	rel;
		BlockNumber position = 0;

		if (!OidIsValid(tables[i]))
			continue;
		rel = relation_open(tables[i], RowExclusiveLock);
		queue_scan(rel, now, &position, find_old, &rest);
		relation_close(rel, NoLock);
	}
	return rest.any;
}

/* find_old: stops at the first row that is old; for queue_scan() */
static bool
find_old(HeapTuple tuple, void *arg)
{
	OldChanges *rest = arg;

	rest->any = is_old(tuple, rest->start);
	return !rest->any;
}

/*
 * is_old
 *		Returns whether a row of a queue table was there when the snapshot was taken, or was
 *		written by this transaction.
 */
static bool
is_old(HeapTuple tuple, Snapshot start)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	return TransactionIdIsCurrentTransactionId(xmin) || !XidInMVCCSnapshot(xmin, start);
}

/*
 * sort_keys
 *		Sorts keys in the order of the primary key, leaves each of them once, and returns how
 *		many they are then.
 */
int
sort_keys(FactDef *def, Datum *values, int nvalues)
{
	Size		size = sizeof(Datum) * def->layout.npk;
	char	   *at = (char *) values;
	QueuedKeyOrder order = {def->layout.npk, def->queue.desc, palloc0(sizeof(SortSupportData) * def->layout.npk)};
	int			n = Min(nvalues, 1);

	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i);

		prepare_sort(&order.sort[i], att->atttypid, att->attcollation, false);
	}
	qsort_arg(values, nvalues, size, compare_keys, &order);
	for (int i = 1; i < nvalues; i++)
		if (!same_key((Datum *) (at + (n - 1) * size), (Datum *) (at + i * size), &order))
			memmove(at + n++ * size, at + i * size, size);
	return n;
}

/* compare_keys: compares two keys by their columns; for qsort_arg() */
static int
compare_keys(const void *a, const void *b, void *arg)
{
	QueuedKeyOrder *order = arg;
	const Datum *x = a;
	const Datum *y = b;
	int			c = 0;

	for (int i = 0; i < order->n && c == 0; i++)
		c = ApplySortComparator(x[i], false, y[i], false, &order->sort[i]);
	return c;
}

/*
 * same_key
 *		Returns whether two keys have the same bytes.
 *
 * Keys that are equal but written otherwise, as 1.0 and 1.00, stay apart, because either
 * may be in the table of rejected rows.
 */
static bool
same_key(const Datum *a, const Datum *b, QueuedKeyOrder *order)
{
	for (int i = 0; i < order->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(order->desc, QUEUE_KEY - 1 + i);

		if (!datumIsEqual(a[i], b[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/*
 * delete_keys
 *		Deletes the rows of the queue that the keys were read from.
 *
 * Under the drain lock no other session deletes them.
 */
void
delete_keys(Keys *keys)
{
	CommandId	cid = GetCurrentCommandId(true);
	Relation	rel = NULL;

	for (int i = 0; i < keys->n; i++)
	{
		TM_FailureData failure;
		TM_Result	result;

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL || i == keys->nspare)
		{
			if (rel != NULL)
				relation_close(rel, NoLock);
			rel = relation_open(i < keys->nspare ? keys->def->queue.spare : keys->def->queue.current, NoLock);
		}
		result = heap_delete_compat(rel, &keys->tids[i], cid, true, &failure);
		if (result != TM_Ok)
			elog(ERROR, "unexpected result %d of deleting a row of queue table \"%s\"",
				 (int) result, RelationGetRelationName(rel));
	}
	relation_close(rel, NoLock);
}
