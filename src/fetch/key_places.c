/*-------------------------------------------------------------------------
 *
 * key_places.c
 *	  Finds the places of the rows with many keys by the leaf pages of a btree, in its order.
 *
 * To search for one key after another, a btree descends from its root for each, and begins a
 * scan.  Here the leaf pages of all keys are found first, by the pages above them, of which each
 * is read once; so they can be prefetched.  Then each leaf page is read once for all of its keys.
 *
 * What is found is what scans find, for a snapshot that sees no version of a row which was
 * written after the search: a row's places stay its own as long as the snapshot sees it.  A leaf
 * page may be split or deleted after its number was read.  As in any search, the keys are then
 * on a page to the right of it; and the server does not use its block again as long as there is a
 * snapshot from before that.  A serializable transaction locks the leaf pages, as a scan does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "../indextable.h"
#include "../util/memory.h"
#include "../util/prefetch.h"
#include "../util/wait_point.h"
#include "fetch.h"

/* A walk through an index, whose keys come in its order. */
typedef struct LeafWalk
{
	Relation	index;
	Snapshot	snapshot;
	BTScanInsert key;			/* the one that is searched for */
	Buffer		buffer;			/* the page that is pinned and locked, or
								 * InvalidBuffer */
	OffsetNumber at;			/* the item there that was found last, or
								 * InvalidOffsetNumber */
} LeafWalk;

static void set_key(LeafWalk *walk, Datum *key);
static BlockNumber find_leaf(LeafWalk *walk);
static bool descend(LeafWalk *walk);
static BlockNumber choose_child(LeafWalk *walk);
static void read_leaf(LeafWalk *walk, BlockNumber block);
static void add_places(LeafWalk *walk, KeyPlaces *places, int row);
static void add_tuple(LeafWalk *walk, OffsetNumber item, KeyPlaces *places, int row);
static void move_right(LeafWalk *walk);
static void step_right(LeafWalk *walk);
static void go_to(LeafWalk *walk, Buffer buffer);
static OffsetNumber first_item_of_key(LeafWalk *walk, OffsetNumber first, OffsetNumber last);
static int	compare_rows_by_key(const void *a, const void *b, void *key);

/*
 * find_key_places
 *		Adds the places of some of all rows of a batch, which are sorted by their keys for that.
 *
 * The keys have as many columns as the btree has key columns, and no nulls.
 */
void
find_key_places(Relation index, Snapshot snapshot, BatchRow **rows, int n, BatchRow *all, KeyPlaces *places)
{
	LeafWalk	walk = {.index = index,.snapshot = snapshot,.key = _bt_mkscankey(index, NULL)};
	BlockNumber *leaves = palloc(sizeof(BlockNumber) * n);
	Prefetch	prefetch;
	int			first = places->n;	/* place of the row before */

	walk.key->keysz = IndexRelationGetNumberOfKeyAttributes(index);
	walk.key->anynullkeys = false;
	_bt_metaversion(index, &walk.key->heapkeyspace, &walk.key->allequalimage);
	qsort_arg(rows, n, sizeof(BatchRow *), compare_rows_by_key, walk.key);
	for (int i = 0; i < n; i++)
	{
		set_key(&walk, rows[i]->key);
		leaves[i] = find_leaf(&walk);
	}
	go_to(&walk, InvalidBuffer);
	wait_point("the leaf pages of a batch are known");
	prefetch_begin(&prefetch, index);
	for (int i = 0; i < n; i++)
	{
		int			end = places->n;

		pgstat_count_index_scan(index);
		if (!BlockNumberIsValid(leaves[i]))
			continue;
		if (i > 0 && compare_rows_by_key(&rows[i - 1], &rows[i], walk.key) == 0)
		{
			for (int j = first; j < end; j++)
				add_key_place(places, &places->list[j].place, rows[i] - all);
			first = end;
			continue;
		}
		first = end;
		set_key(&walk, rows[i]->key);
		if (i == 0 || leaves[i] != leaves[i - 1])
		{
			go_to(&walk, InvalidBuffer);
			CHECK_FOR_INTERRUPTS();
			prefetch.done = Max(prefetch.done, i + 1);
			for (; prefetch.done < n && prefetch_more(&prefetch); prefetch.done++)
			{
				if (leaves[prefetch.done] != leaves[prefetch.done - 1])
					prefetch_page(&prefetch, index, leaves[prefetch.done]);
			}
			read_leaf(&walk, leaves[i]);
			prefetch_note_read(&prefetch);
		}
		add_places(&walk, places, rows[i] - all);
		pgstat_count_index_tuples(index, places->n - end);
	}
	go_to(&walk, InvalidBuffer);
	pfree(leaves);
	pfree(walk.key);
}

/* add_key_place: adds a place where the row with a number may be */
void
add_key_place(KeyPlaces *places, ItemPointer place, int row)
{
	if (places->n == places->room)
		places->list = grow_array(places->list, &places->room, 64, sizeof(KeyPlace), places->cxt);
	places->list[places->n].place = *place;
	places->list[places->n++].row = row;
}

static void
set_key(LeafWalk *walk, Datum *key)
{
	for (int i = 0; i < walk->key->keysz; i++)
	{
		walk->key->scankeys[i].sk_argument = key[i];
		walk->key->scankeys[i].sk_flags &= ~SK_ISNULL;
	}
}

/*
 * find_leaf
 *		Returns the leaf page of a key, or of it until a split; InvalidBlockNumber if the
 *		index is empty.
 */
static BlockNumber
find_leaf(LeafWalk *walk)
{
	BTPageOpaque opaque;
	bool		here = false;

	if (BufferIsValid(walk->buffer))
	{
		opaque = BTPageGetOpaque(BufferGetPage(walk->buffer));
		here = P_ISLEAF(opaque) || P_RIGHTMOST(opaque) ||
			_bt_compare(walk->index, walk->key, BufferGetPage(walk->buffer), P_HIKEY) <= 0;
	}
	if (!here && !descend(walk))
		return InvalidBlockNumber;
	opaque = BTPageGetOpaque(BufferGetPage(walk->buffer));
	return P_ISLEAF(opaque) ? BufferGetBlockNumber(walk->buffer) : choose_child(walk);
}

/*
 * descend
 *		Goes to the page above the leaf page of a key, or to a root without one; returns false
 *		if there is none.
 */
static bool
descend(LeafWalk *walk)
{
	go_to(walk, InvalidBuffer);
	walk->buffer = bt_getroot_compat(walk->index);
	if (!BufferIsValid(walk->buffer))
	{
		/*
		 * Nothing can be locked but all of it.  A root may have come before
		 * that.
		 */
		PredicateLockRelation(walk->index, walk->snapshot);
		walk->buffer = bt_getroot_compat(walk->index);
		if (!BufferIsValid(walk->buffer))
			return false;
	}
	for (;;)
	{
		BTPageOpaque opaque;

		walk->at = InvalidOffsetNumber;
		move_right(walk);
		opaque = BTPageGetOpaque(BufferGetPage(walk->buffer));
		if (P_ISLEAF(opaque) || opaque->btpo_level == 1)
			return true;
		go_to(walk, _bt_relandgetbuf(walk->index, walk->buffer, choose_child(walk), BT_READ));
	}
}

/* choose_child: returns the block below an inner page where a key is, if it is anywhere */
static BlockNumber
choose_child(LeafWalk *walk)
{
	Page		page = BufferGetPage(walk->buffer);
	OffsetNumber first = P_FIRSTDATAKEY(BTPageGetOpaque(page));

	/* Every key comes after the first item of an inner page. */
	walk->at = OffsetNumberPrev(first_item_of_key(walk, first, PageGetMaxOffsetNumber(page)));
	return BTreeTupleGetDownLink((IndexTuple) PageGetItem(page, PageGetItemId(page, walk->at)));
}

/* read_leaf: goes to a leaf page */
static void
read_leaf(LeafWalk *walk, BlockNumber block)
{
	walk->buffer = _bt_getbuf(walk->index, block, BT_READ);
	walk->at = InvalidOffsetNumber;
	PredicateLockPage(walk->index, block, walk->snapshot);
}

/*
 * add_places
 *		Adds the places of the row with a key, which begin on the current page or to the right
 *		of it.
 */
static void
add_places(LeafWalk *walk, KeyPlaces *places, int row)
{
	move_right(walk);
	for (;;)
	{
		Page		page = BufferGetPage(walk->buffer);
		BTPageOpaque opaque = BTPageGetOpaque(page);
		OffsetNumber last = PageGetMaxOffsetNumber(page);
		OffsetNumber item = first_item_of_key(walk, P_FIRSTDATAKEY(opaque), last);

		for (; item <= last && _bt_compare(walk->index, walk->key, page, item) == 0; item++)
			add_tuple(walk, item, places, row);
		walk->at = item <= last ? item : last;

		/*
		 * There are more only if the key is equal to the last one that this
		 * page may have.
		 */
		if (item <= last || P_RIGHTMOST(opaque) || _bt_compare(walk->index, walk->key, page, P_HIKEY) != 0)
			return;
		do
			step_right(walk);
		while (P_IGNORE(BTPageGetOpaque(BufferGetPage(walk->buffer))));
	}
}

/*
 * add_tuple
 *		Adds the places that an item of a leaf page has, unless it is known to be dead for
 *		all.
 */
static void
add_tuple(LeafWalk *walk, OffsetNumber item, KeyPlaces *places, int row)
{
	Page		page = BufferGetPage(walk->buffer);
	ItemId		id = PageGetItemId(page, item);
	IndexTuple	tuple = (IndexTuple) PageGetItem(page, id);

	/* On a standby, what is dead on the primary may not be so here. */
	if (ItemIdIsDead(id) && !TransactionStartedDuringRecovery())
		return;
	if (!BTreeTupleIsPosting(tuple))
		add_key_place(places, &tuple->t_tid, row);
	else
	{
		for (int i = 0; i < BTreeTupleGetNPosting(tuple); i++)
			add_key_place(places, BTreeTupleGetPostingN(tuple, i), row);
	}
}

/*
 * move_right
 *		Goes to the page of a key if the current one was split or deleted; as the server's
 *		_bt_moveright().
 */
static void
move_right(LeafWalk *walk)
{
	for (;;)
	{
		Page		page = BufferGetPage(walk->buffer);
		BTPageOpaque opaque = BTPageGetOpaque(page);

		TestForOldSnapshot(walk->snapshot, walk->index, page);
		if (P_RIGHTMOST(opaque))
		{
			if (P_IGNORE(opaque))
				elog(ERROR, "fell off the end of index \"%s\"", RelationGetRelationName(walk->index));
			return;
		}
		if (!P_IGNORE(opaque) && _bt_compare(walk->index, walk->key, page, P_HIKEY) <= 0)
			return;
		step_right(walk);
	}
}

static void
step_right(LeafWalk *walk)
{
	BTPageOpaque opaque = BTPageGetOpaque(BufferGetPage(walk->buffer));

	if (P_RIGHTMOST(opaque))
		elog(ERROR, "fell off the end of index \"%s\"", RelationGetRelationName(walk->index));
	go_to(walk, _bt_relandgetbuf(walk->index, walk->buffer, opaque->btpo_next, BT_READ));
	if (P_ISLEAF(BTPageGetOpaque(BufferGetPage(walk->buffer))))
		PredicateLockPage(walk->index, BufferGetBlockNumber(walk->buffer), walk->snapshot);
}

/*
 * go_to
 *		Goes to a page that is pinned and locked in place of the one before; releases that if
 *		there is no other.
 */
static void
go_to(LeafWalk *walk, Buffer buffer)
{
	if (!BufferIsValid(buffer) && BufferIsValid(walk->buffer))
		_bt_relbuf(walk->index, walk->buffer);
	walk->buffer = buffer;
	walk->at = InvalidOffsetNumber;
}

/*
 * first_item_of_key
 *		Returns the first of some items of a page that does not come before a key, or the one after the
 *		last.  If another key was found on the page, which comes before, its neighbours are tried first.
 */
static OffsetNumber
first_item_of_key(LeafWalk *walk, OffsetNumber first, OffsetNumber last)
{
	Page		page = BufferGetPage(walk->buffer);
	int			low = first;
	int			high = last + 1;

	if (walk->at != InvalidOffsetNumber)
	{
		low = walk->at;
		for (int step = 1; low + step < high; step *= 2)
		{
			if (_bt_compare(walk->index, walk->key, page, low + step) <= 0)
				high = low + step;
			else
				low += step + 1;
		}
	}
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (_bt_compare(walk->index, walk->key, page, middle) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * compare_rows_by_key
 *		Compares rows by their keys in the order of the index that a BTScanInsert is of.
 */
static int
compare_rows_by_key(const void *a, const void *b, void *key)
{
	BTScanInsert by = key;
	int			c = 0;

	for (int i = 0; i < by->keysz && c == 0; i++)
	{
		ScanKey		column = &by->scankeys[i];

		c = DatumGetInt32(FunctionCall2Coll(&column->sk_func, column->sk_collation,
											(*(BatchRow *const *) a)->key[i], (*(BatchRow *const *) b)->key[i]));
		if ((column->sk_flags & SK_BT_DESC) != 0)
			INVERT_COMPARE_RESULT(c);
	}
	return c;
}
