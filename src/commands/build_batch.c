/*-------------------------------------------------------------------------
 *
 * build_batch.c
 *	  Writes the entries of one batch of an online build: of the next rows of the fact
 *	  table, in the order of their primary keys; or of all rows at once.
 *
 * Batch by batch, each entry is inserted at its place in the index table's indexes, which is another page
 * for each once these are larger than the memory.  So the first batch reads all rows, unless users have said
 * how large a batch is, or how long to rest after it.  Their entries are sorted and written to a new table (see
 * replace_contents()).  The queue is locked as by any other batch, so this one takes its turn only if
 * the drain has no other index table to keep in step meanwhile.  If a row has no entry, or two have the
 * same unique key, the rows are read in batches, which reject just these.
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

#include "access/relation.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "commands.h"

/*
 * Partitions share a batch until it has this part of its rows.  Those of a larger one are
 * fetched from their places.
 */
#define SMALL_PART_OF_BATCH 10

/* All rows of a build, which are read at once. */
typedef struct AllRows
{
	Build	   *build;
	IndexDef   *def;
	Relation	fact;
	Snapshot	snapshot;
} AllRows;

static bool apply_all_rows(Build *b, Reconciliation *r);
static void write_all_rows(void *arg);
static void apply_rows(Build *b, Reconciliation *r);
static bool next_rows(Build *b, Reconciliation *r, Datum *last_key);
static void next_foreign_keys(Build *b, Reconciliation *r, Relation part, ArrayType *last);
static void next_keys(Build *b, Reconciliation *r, Relation part, ArrayType *last);

/*
 * build_batch
 *		Writes the entries of the next rows, in the order of the primary key; arg is the
 *		Build.
 */
void
build_batch(FactDef *def, Relation fact, void *arg)
{
	Build	   *b = arg;
	Reconciliation r = {.def = def,.fact = fact};
	Datum		last_key[INDEX_MAX_KEYS];
	int			i;

	for (i = def->nsync; i < def->ndefs && def->defs[i]->relid != b->index_table; i++)
		;
	if (i == def->ndefs)
		report_build_superseded(b);
	require_owner(b->shown);
	check_row_indexes(def);
	r.from = i;
	r.to = i + 1;
	r.snapshot = RegisterSnapshot(GetLatestSnapshot());
	wait_point("a batch of a build has its snapshot");
	PushActiveSnapshot(r.snapshot);
	b->done = apply_all_rows(b, &r);
	if (!b->done)
	{
		progress_begin(fact, b->shown, PROGRESS_CREATEIDX_COMMAND_CREATE_CONCURRENTLY);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, b->rows);
		b->done = !next_rows(b, &r, last_key);
	}
	b->rows += r.n;
	if (r.n > 0)
	{
		r.fresh = have_no_entries(&r, i);
		apply_rows(b, &r);
		note_progress(b, &r, last_key);
		relation_close(r.part, NoLock);
	}
	PopActiveSnapshot();
	UnregisterSnapshot(r.snapshot);
}

/*
 * apply_all_rows
 *		Makes the entries of all rows what they should be; returns false, and does nothing, if that is to
 *		be done in batches.
 */
static bool
apply_all_rows(Build *b, Reconciliation *r)
{
	AllRows		all = {b, r->def->defs[r->from], r->fact, r->snapshot};
	ErrorData  *error;
	Oid			table;

	/*
	 * Subscribers of an index table get entries as they are inserted.  What
	 * waits for all that have the index table locked, such as CREATE INDEX
	 * CONCURRENTLY, is not to begin meanwhile: the end waits for it.
	 */
	if (!b->at_once || r->def->ndefs - r->def->nsync > 1 || elsewhere->leaves(r->def->relid) != NIL ||
		publications_of(b->index_table) != NIL || read_build_position(b, &table) != NULL ||
		!lock_with_timeout(b->index_table, ShareUpdateExclusiveLock))
		return false;
	error = run_catching_row_errors(write_all_rows, &all);
	b->at_once = false;
	if (error != NULL)
	{
		FreeErrorData(error);
		b->rows = 0;
		return false;
	}
	return true;
}

static void
write_all_rows(void *arg)
{
	AllRows    *all = arg;
	LockWait	shown = build_wait(all->build);

	all->build->rows = replace_contents(all->def, all->fact, all->snapshot, &shown);
	note_all_read(all->build);
}

/*
 * apply_rows
 *		Makes the entries of rows what they should be; of a whole partition, one batch after
 *		the other.
 */
static void
apply_rows(Build *b, Reconciliation *r)
{
	for (int first = 0; first < r->n; first += b->batch_size)
	{
		Reconciliation some = *r;

		some.keys = r->keys + (Size) first * r->def->layout.npk;
		some.tids = r->tids == NULL ? NULL : r->tids + first;
		some.n = Min(b->batch_size, r->n - first);
		apply_keys(&some);
		if (some.n < r->n)
			CommandCounterIncrement();
	}
}

/*
 * next_rows
 *		Reads the keys of the next batch of rows, and sets last_key to the last that was
 *		read; returns whether there may be rows after it.
 *
 * Partitions are read one after the other, by OID.  A partition that is attached
 * later does not have to be read: its rows are queued.
 *
 * Small partitions share a batch, because each batch looks at all partitions of the
 * index table.  Their rows are found by their keys then, as in a drain.
 */
static bool
next_rows(Build *b, Reconciliation *r, Datum *last_key)
{
	Oid			last_table;
	ArrayType  *last = read_build_position(b, &last_table);
	List	   *leaves = lock_leaves_to_read(r->def->relid, r->snapshot);
	bool		shared = false;
	bool		more = false;

	if (last != NULL && !OidIsValid(last_table))
		return false;
	list_sort(leaves, list_oid_cmp);
	foreach_oid(relid, leaves)
	{
		bool		alone = elsewhere->has(relid);	/* in its batches */
		int			n = r->n;
		Relation	part;

		if (relid < last_table)
			continue;
		more = n > 0 && (alone || n >= b->batch_size / SMALL_PART_OF_BATCH);
		if (more)
			break;
		part = relation_open(relid, NoLock);
		if (alone)
			next_foreign_keys(b, r, part, relid == last_table ? last : NULL);
		else
			next_keys(b, r, part, relid == last_table ? last : NULL);
		if (r->n == n)
		{
			relation_close(part, NoLock);
			continue;
		}
		if (n > 0)
			relation_close(r->part, NoLock);
		r->part = part;
		shared |= n > 0;
		more = r->n >= b->batch_size || (alone && relid != llast_oid(leaves));
		if (more || alone)
			break;
	}
	if (r->n > 0)
		memcpy(last_key, r->keys + (Size) (r->n - 1) * r->def->layout.npk, sizeof(Datum) * r->def->layout.npk);
	if (shared)
	{
		r->tids = NULL;
		r->n = sort_keys(r->def, r->keys, r->n);
	}
	return more;
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
next_foreign_keys(Build *b, Reconciliation *r, Relation part, ArrayType *last)
{
	FactDef    *def = r->def;
	bool		in_order = elsewhere->rows->keys_in_order(def, part);
	Datum		after[INDEX_MAX_KEYS];

	if (last != NULL && !in_order)
		return;
	if (last != NULL)
		key_from_texts(def, last, after, CurrentMemoryContext);
	r->tids = NULL;
	r->keys = elsewhere->rows->keys(def, r->fact, part, last == NULL ? NULL : after,
									in_order ? b->batch_size : 0, &r->n);
}

/*
 * next_keys
 *		Adds the keys of the rows of a partition after the key last (NULL: from the first
 *		row on), in order, and where these rows are, until the batch is full.
 *
 * The index of the primary key is read directly: planning a query would run code that
 * the owner of the table has put into indexes and constraints.
 */
static void
next_keys(Build *b, Reconciliation *r, Relation part, ArrayType *last)
{
	FactDef    *def = r->def;
	Leaf	   *leaf = leaf_of(def, part);
	Relation	index = index_open(leaf != NULL ? leaf->pk_index : def->layout.pk_index, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(part, NULL);
	IndexScanDesc scan = index_beginscan_compat(part, index, r->snapshot, last == NULL ? 0 : 1);
	RowComparison after;
	Datum		bound[INDEX_MAX_KEYS];

	if (last != NULL)
	{
		key_from_texts(def, last, bound, CurrentMemoryContext);
		row_comparison(&after, index, 0, def->layout.npk, BTGreaterStrategyNumber, bound);
	}
	index_rescan(scan, &after.header, last == NULL ? 0 : 1, NULL, 0);

	/*
	 * A partition on another server that has no rows leaves keys, which have
	 * no room.
	 */
	if (r->tids == NULL)
	{
		r->keys = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * def->layout.npk * b->batch_size);
		r->tids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(ItemPointerData) * b->batch_size);
	}
	while (r->n < b->batch_size && index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		TupleTableSlot *row = convert_to_root_row(def, leaf, slot, 0);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < def->layout.npk; i++)
		{
			Form_pg_attribute att = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i);
			bool		isnull;
			Datum		value = slot_getattr(row, def->layout.pk_attno[i], &isnull);

			r->keys[(Size) r->n * def->layout.npk + i] = att->attlen == -1 ?
				PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) : datumCopy(value, att->attbyval, att->attlen);
		}
		r->tids[r->n++] = slot->tts_tid;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, NoLock);
}
