/*-------------------------------------------------------------------------
 *
 * fact_batch.c
 *	  Fetches the rows with many primary keys together.
 *
 * Keys are added until the batch is full.  Then the places of their rows are found by the primary
 * key's index, in its order (key_places.c), or taken from the entries that have them; and the rows
 * are read, one whenever the caller asks for the next, in the order in which they are stored or
 * in that of the keys.  Pages of index and table are prefetched.
 *
 * The first batch is of one row, and each next one of four times as many, up to what fits into
 * work_mem.  So a caller that wants but one row searches for no other, and one that wants a few
 * searches for a few more.
 *
 * That a row is read some time after its place was found makes no difference.  The snapshot,
 * which is an MVCC one, sees the same version at that place as long as it is held: others may
 * update or delete the row, but none removes a version that the snapshot sees, nor puts another
 * one there that it sees.  The server's bitmap scans rely on that, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../util/memory.h"
#include "fetch.h"

/* Factor by which a batch has more rows than the one before it. */
#define GROWTH	4

static void find_places(FactBatch *batch);
static bool can_find_places(FactBatch *batch, LeafScan *leaf);
static int	compare_leaves(const void *a, const void *b);
static int	compare_places(const void *a, const void *b, void *batch);
static void prefetch_places(FactBatch *batch);
static bool is_same_page(FactBatch *batch, int n);

/* fact_batch_begin: prepares to fetch rows by a scan, in memory of the current context */
void
fact_batch_begin(FactBatch *batch, LiveScan *scan, bool in_order)
{
	memset(batch, 0, sizeof(FactBatch));
	batch->scan = scan;
	batch->in_order = in_order;
	batch->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable batch of rows", ALLOCSET_DEFAULT_SIZES);
	batch->key_cxt = AllocSetContextCreate(batch->cxt, "indextable keys", ALLOCSET_DEFAULT_SIZES);
	batch->places.cxt = batch->cxt;
}

/* fact_batch_reset: begins anew, without rows */
void
fact_batch_reset(FactBatch *batch)
{
	batch->n = 0;
	fact_batch_clear(batch);
}

/*
 * fact_batch_clear
 *		Forgets the rows of a batch, so that rows can be added to the next one, a larger one.
 */
void
fact_batch_clear(FactBatch *batch)
{
	batch->size = batch->n == 0 ? 1 : Min(batch->size, INT_MAX / GROWTH) * GROWTH;
	batch->n = batch->places.n = batch->next = batch->nfound = 0;
	MemoryContextReset(batch->key_cxt);
}

/*
 * fact_batch_is_full
 *		Returns whether the rows that were added are to be fetched before others are added.
 */
bool
fact_batch_is_full(FactBatch *batch)
{
	return batch->n >= batch->size ||
		(batch->n % 64 == 63 && MemoryContextMemAllocated(batch->cxt, true) / 512 >= (Size) work_mem);
}

/*
 * fact_batch_add
 *		Adds a row, by its primary key, and by its place if its entry has that, else NULL.
 */
void
fact_batch_add(FactBatch *batch, Datum *key, ItemPointer hint)
{
	FactDef    *def = batch->scan->def;
	MemoryContext old = MemoryContextSwitchTo(batch->key_cxt);
	BatchRow   *row;

	if (batch->n == batch->room)
	{
		batch->rows = grow_array(batch->rows, &batch->room, 16, sizeof(BatchRow), batch->cxt);
		batch->keys = batch->keys == NULL ?
			MemoryContextAlloc(batch->cxt, sizeof(Datum) * def->layout.npk * batch->room) :
			repalloc_huge(batch->keys, sizeof(Datum) * def->layout.npk * batch->room);
	}
	row = &batch->rows[batch->n];
	memset(row, 0, sizeof(BatchRow));
	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(batch->scan->fact), def->layout.pk_attno[i] - 1);

		batch->keys[batch->n * def->layout.npk + i] = datumCopy(key[i], att->attbyval, att->attlen);
	}
	if (hint != NULL)
		row->hint = *hint;
	else
		ItemPointerSetInvalid(&row->hint);
	batch->n++;
	MemoryContextSwitchTo(old);
}

/*
 * fact_batch_find
 *		Finds the places of the rows that were added.
 *
 * A single row is searched for when it is asked for, and so are rows that have a place in their
 * entry: they are sorted by that.
 */
void
fact_batch_find(FactBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(batch->cxt);

	/* Only now: the array of keys has moved while it has grown. */
	for (int i = 0; i < batch->n; i++)
		batch->rows[i].key = batch->keys + i * batch->scan->def->layout.npk;
	if (batch->n == 1)
		add_key_place(&batch->places, &batch->rows[0].hint, 0);
	else
	{
		find_places(batch);
		qsort_arg(batch->places.list, batch->places.n, sizeof(KeyPlace), compare_places, batch);
	}
	MemoryContextSwitchTo(old);
}

/* find_places: finds the places, table by table */
static void
find_places(FactBatch *batch)
{
	BatchRow  **rows = palloc(sizeof(BatchRow *) * batch->n);
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		BatchRow   *row = &batch->rows[i];

		row->leaf = live_scan_leaf(batch->scan, row->key);
		if (row->leaf == NULL)
			continue;
		if (!row->leaf->by_place)
			ItemPointerSetInvalid(&row->hint);
		if (!ItemPointerIsValid(&row->hint) && can_find_places(batch, row->leaf))
			rows[n++] = row;
		else
			add_key_place(&batch->places, &row->hint, i);
	}
	if (batch->scan->leaves != NULL)
		qsort(rows, n, sizeof(BatchRow *), compare_leaves);
	for (int first = 0, next; first < n; first = next)
	{
		LeafScan   *leaf = rows[first]->leaf;

		for (next = first + 1; next < n && rows[next]->leaf == leaf; next++)
			;
		find_key_places(live_scan_index(batch->scan, leaf), batch->scan->snapshot, rows + first, next - first,
						batch->rows, &batch->places);
	}
	pfree(rows);
}

/*
 * can_find_places
 *		Returns whether the places of rows of a table can be found before the rows are read.
 */
static bool
can_find_places(FactBatch *batch, LeafScan *leaf)
{
	return leaf->source == NULL && IsMVCCSnapshot(batch->scan->snapshot) &&
		live_scan_index(batch->scan, leaf)->rd_rel->relam == BTREE_AM_OID;
}

static int
compare_leaves(const void *a, const void *b)
{
	Oid			x = (*(BatchRow *const *) a)->leaf->relid;
	Oid			y = (*(BatchRow *const *) b)->leaf->relid;

	return (x > y) - (x < y);
}

/* compare_places: compares places in the order in which the rows of a batch come */
static int
compare_places(const void *a, const void *b, void *batch)
{
	const KeyPlace *x = a;
	const KeyPlace *y = b;
	BatchRow   *rows = ((FactBatch *) batch)->rows;
	int			c = 0;

	if (((FactBatch *) batch)->in_order)
		c = x->row - y->row;
	else if (rows[x->row].leaf != rows[y->row].leaf)
	{
		BatchRow   *row = &rows[x->row];
		BatchRow   *other = &rows[y->row];

		c = compare_leaves(&row, &other);
	}
	return c != 0 ? c : ItemPointerCompare((ItemPointer) &x->place, (ItemPointer) &y->place);
}

/*
 * fact_batch_next
 *		Returns the next row of the batch, or NULL if there is no other.  At the end batch->nfound is less
 *		than batch->n if the snapshot does not see the rows of some entries.
 */
TupleTableSlot *
fact_batch_next(FactBatch *batch)
{
	while (batch->next < batch->places.n)
	{
		KeyPlace   *place = &batch->places.list[batch->next];
		BatchRow   *row = &batch->rows[place->row];
		TupleTableSlot *result;

		prefetch_places(batch);
		batch->next++;
		if (row->found)
			continue;
		if (row->leaf == NULL || ItemPointerIsValid(&row->hint) || !ItemPointerIsValid(&place->place))
			result = live_scan_only(batch->scan, row->key, ItemPointerIsValid(&row->hint) ? &row->hint : NULL);
		else
		{
			result = live_scan_at(batch->scan, row->leaf, &place->place);
			if (result != NULL)
				pgstat_count_heap_fetch(row->leaf->search.index);
		}
		if (batch->next < batch->places.n && !is_same_page(batch, batch->next))
			prefetch_note_read(&batch->prefetch);
		if (result != NULL)
		{
			row->found = true;
			batch->nfound++;
			return result;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return NULL;
}

/* prefetch_places: prefetches pages of places that are tried after the next one */
static void
prefetch_places(FactBatch *batch)
{
	Prefetch   *prefetch = &batch->prefetch;

	if (batch->next == 0)
		prefetch_begin(prefetch, batch->scan->fact);
	prefetch->done = Max(prefetch->done, batch->next + 1);
	for (; prefetch->done < batch->places.n && prefetch_more(prefetch); prefetch->done++)
	{
		KeyPlace   *place = &batch->places.list[prefetch->done];
		BatchRow   *row = &batch->rows[place->row];
		BlockNumber block = ItemPointerGetBlockNumberNoCheck(&place->place);

		if (ItemPointerIsValid(&place->place) && row->leaf != NULL && row->leaf->by_place &&
			!is_same_page(batch, prefetch->done) && relation_has_block(row->leaf->rel, block))
			prefetch_page(prefetch, row->leaf->rel, block);
	}
}

/* is_same_page: returns whether a place is on the page of the one before it */
static bool
is_same_page(FactBatch *batch, int n)
{
	KeyPlace   *place = &batch->places.list[n];
	KeyPlace   *before = place - 1;

	return ItemPointerGetBlockNumberNoCheck(&place->place) == ItemPointerGetBlockNumberNoCheck(&before->place) &&
		batch->rows[place->row].leaf == batch->rows[before->row].leaf;
}
