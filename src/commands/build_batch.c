/*-------------------------------------------------------------------------
 *
 * build_batch.c
 *	  Writes the entries of one batch of an online build: of the next rows of the fact
 *	  table, in the order of their primary keys.
 *
 * Why the entries of rows on this server are right is said in build.c.
 *
 * A partition on another server is read with a snapshot of that server, which is taken
 * when a transaction first reads there, and kept until it ends.  A writer commits there
 * first, then here.  So a batch is right if its transaction first reads there after it
 * has locked the queue and taken its own snapshot: of all changes whose keys it could
 * see queued, that server shows the rows; the key of a change that it does not show is
 * queued afterwards; and no batch is shown an older state than the one before it.
 * Therefore each batch, also of the drain, has a transaction of its own.  Only the end of
 * the build drains several batches in one: it locks writers out before it reads anything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "storage/itemptr.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../definition/fact_partition.h"
#include "../definition/tree_age.h"
#include "../definition/resolve.h"
#include "../entry/fact_fetch.h"
#include "../entry/foreign_scan.h"
#include "../entry/row_text.h"
#include "../indextable.h"
#include "../queue/drain.h"
#include "../queue/reconcile.h"
#include "../util/inherit.h"
#include "../util/wait_point.h"
#include "build_batch.h"
#include "progress.h"

static void apply_rows(Build *b, Reconciliation *r);
static bool next_rows(Build *b, Reconciliation *r);
static void next_foreign_keys(Build *b, Reconciliation *r, ArrayType *last);
static void next_keys(Reconciliation *r, ArrayType *last, int limit);

/* build_batch: writes the entries of the next rows, in the order of the primary key; arg is the Build */
void
build_batch(FactDef *def, Relation fact, void *arg)
{
	Build	   *b = arg;
	Reconciliation r = {.def = def,.fact = fact};
	int			i;

	for (i = def->nsync; i < def->ndefs && def->defs[i]->relid != b->index_table; i++)
		;
	if (i == def->ndefs)
		report_build_superseded(b);
	check_row_indexes(def);
	r.from = i;
	r.to = i + 1;
	r.snapshot = RegisterSnapshot(GetLatestSnapshot());
	wait_point("a batch of a build has its snapshot");
	PushActiveSnapshot(r.snapshot);
	progress_begin(fact, b->shown, PROGRESS_CREATEIDX_COMMAND_CREATE_CONCURRENTLY);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, b->rows);
	b->done = !next_rows(b, &r);
	b->rows += r.n;
	if (r.n > 0)
	{
		r.fresh = have_no_entries(&r, i);
		apply_rows(b, &r);
		note_progress(b, &r);
		relation_close(r.part, NoLock);
	}
	PopActiveSnapshot();
	UnregisterSnapshot(r.snapshot);
}

/* apply_rows: makes the entries of rows what they should be; of a whole partition, one batch after the other */
static void
apply_rows(Build *b, Reconciliation *r)
{
	int			first;

	for (first = 0; first < r->n; first += b->batch_size)
	{
		Reconciliation some = *r;

		some.keys = r->keys + (Size) first * r->def->npk;
		some.tids = r->tids == NULL ? NULL : r->tids + first;
		some.n = Min(b->batch_size, r->n - first);
		apply_keys(&some);
		if (some.n < r->n)
			CommandCounterIncrement();
	}
}

/*
 * next_rows
 *		Reads the keys of the next batch of rows; returns whether there may be
 *		rows after it.
 *
 * Partitions are read one after the other, by OID.  A partition that is attached
 * later does not have to be read: its rows are queued.
 */
static bool
next_rows(Build *b, Reconciliation *r)
{
	Oid			last_table;
	ArrayType  *last = read_build_position(b, &last_table);
	List	   *leaves = lock_leaves_to_read(r->def->relid, r->snapshot);
	ListCell   *cell;

	list_sort(leaves, list_oid_cmp);
	r->n = 0;
	foreach(cell, leaves)
	{
		Oid			relid = lfirst_oid(cell);

		if (relid < last_table)
			continue;
		r->part = relation_open(relid, NoLock);
		if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
			next_foreign_keys(b, r, relid == last_table ? last : NULL);
		else
			next_keys(r, relid == last_table ? last : NULL, b->batch_size);
		if (r->n > 0)
			return r->n >= b->batch_size || lnext(leaves, cell) != NULL;
		relation_close(r->part, NoLock);
	}
	return false;
}

/*
 * next_foreign_keys
 *		Reads the keys of the rows of a partition on another server after the key last
 *		(NULL: from the first row on): those of a batch, in order, or those of all rows
 *		where only that server knows the order.
 *
 * The rows are fetched by their keys afterwards, with the same snapshot over there.
 */
static void
next_foreign_keys(Build *b, Reconciliation *r, ArrayType *last)
{
	FactDef    *def = r->def;
	bool		in_order = foreign_keys_in_order(def, r->part);
	Datum		after[INDEX_MAX_KEYS];

	r->n = 0;
	if (last != NULL && !in_order)
		return;
	if (last != NULL)
		key_from_texts(def, last, after, CurrentMemoryContext);
	r->tids = NULL;
	r->keys = foreign_scan_keys(def, r->fact, r->part, last == NULL ? NULL : after,
								in_order ? b->batch_size : 0, &r->n);
}

/*
 * next_keys
 *		Reads the keys of the rows after the key last (NULL: from the first row
 *		on), in order, and where these rows are.
 *
 * The index of the primary key is read directly: planning a query would run code that
 * the owner of the table has put into indexes and constraints.
 */
static void
next_keys(Reconciliation *r, ArrayType *last, int limit)
{
	FactDef    *def = r->def;
	Leaf	   *leaf = leaf_of(def, r->part);
	Relation	index = index_open(leaf != NULL ? leaf->pk_index : def->pk_index, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(r->part, NULL);
	IndexScanDesc scan = index_beginscan_compat(r->part, index, r->snapshot, last == NULL ? 0 : 1);
	RowComparison after;
	Datum		bound[INDEX_MAX_KEYS];
	int			i;

	if (last != NULL)
	{
		key_from_texts(def, last, bound, CurrentMemoryContext);
		row_comparison(&after, index, 0, def->npk, BTGreaterStrategyNumber, bound);
	}
	index_rescan(scan, &after.header, last == NULL ? 0 : 1, NULL, 0);
	r->n = 0;
	r->keys = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * def->npk * limit);
	r->tids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(ItemPointerData) * limit);
	while (r->n < limit && index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		TupleTableSlot *row = convert_to_root_row(def, leaf, slot, 0);

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < def->npk; i++)
		{
			Form_pg_attribute att = TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i);
			bool		isnull;
			Datum		value = slot_getattr(row, def->pk_attno[i], &isnull);

			r->keys[(Size) r->n * def->npk + i] = att->attlen == -1 ?
				PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) : datumCopy(value, att->attbyval, att->attlen);
		}
		r->tids[r->n++] = slot->tts_tid;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, NoLock);
}
