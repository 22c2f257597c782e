/*-------------------------------------------------------------------------
 *
 * fact_fetch.c
 *	  Finds the live version of a fact row by its primary key.
 *
 * A statement nested in another trigger may have replaced a version of a row before
 * our trigger comes to it, and only the live version may add entries.  The triggers
 * ask with SnapshotSelf, which shows what is committed or our own at this moment,
 * whatever the isolation level.  That is safe because this transaction has the row
 * locked: no other transaction changes what is live under its primary key.  (A
 * deferrable primary key is another matter: see deferrable_key.c.)  The drain locks no
 * rows, and uses the snapshot that it has read the queue with.  A row on another
 * server is read as that server shows it: see foreign/foreign_rows.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "fetch.h"

static void begin_leaf(LiveScan *scan, LeafScan *leaf);
static bool choose_leaf(LiveScan *scan, Datum *key);
static void search_leaf(LiveScan *scan, Datum *key);
static bool look_at_place(LiveScan *scan, ItemPointer place);
static bool follow_place(LiveScan *scan, ItemPointer place);
static TupleTableSlot *row_at_place(LiveScan *scan, Datum *key, ItemPointer place);
static void end_leaf(LiveScan *scan, LeafScan *leaf);

/*
 * row_is_live
 *		Returns whether the version of a row in slot, which this transaction has written, is
 *		the live one.
 *
 * A heap's page need not be locked to see that it is: nobody else can delete or lock a row
 * that they do not see yet, and what the transaction has written is not what it has rolled
 * back, since that fires no trigger.
 */
bool
row_is_live(Relation fact, TupleTableSlot *slot)
{
	if (TTS_IS_BUFFERTUPLE(slot) && BufferIsValid(((BufferHeapTupleTableSlot *) slot)->buffer) &&
		(((BufferHeapTupleTableSlot *) slot)->base.tuple->t_data->t_infomask & HEAP_XMAX_INVALID) != 0)
		return true;
	return table_tuple_satisfies_snapshot(fact, slot, SnapshotSelf);
}

/* live_scan_begin: prepares to search by primary key for rows of fact that the snapshot sees */
void
live_scan_begin(LiveScan *scan, FactDef *def, Relation fact, Snapshot snapshot, const LiveScanOptions *options)
{
	memset(scan, 0, sizeof(LiveScan));
	scan->def = def;
	scan->fact = fact;
	scan->snapshot = snapshot;
	scan->cxt = CurrentMemoryContext;
	if (options != NULL)
		scan->options = *options;
	if (scan->options.lock == NoLock)
		scan->options.lock = AccessShareLock;
	scan->keys = palloc(sizeof(ScanKeyData) * def->layout.npk);
	memcpy(scan->keys, def->layout.pk_keys, sizeof(ScanKeyData) * def->layout.npk);
	if (def->layout.partitioned)
		scan->leaves = hash_by_oid("partitions read", 16, sizeof(LeafScan), CurrentMemoryContext);
	else
	{
		scan->current = &scan->only;
		scan->only.leaf = leaf_of(def, fact);
		scan->only.rel = fact;
		begin_leaf(scan, &scan->only);
	}
}

/*
 * live_scan_in_leaves
 *		Has the scan search in the tables that leaf_of() returns, before its first search.
 */
void
live_scan_in_leaves(LiveScan *scan, Oid (*leaf_of) (void *arg, Datum *key), void *arg)
{
	end_leaf(scan, &scan->only);
	scan->current = NULL;
	scan->leaves = hash_by_oid("partitions read", 16, sizeof(LeafScan), CurrentMemoryContext);
	scan->leaf_of = leaf_of;
	scan->leaf_arg = arg;
}

/*
 * live_scan_is_elsewhere
 *		Returns whether a row with this primary key would be no row of this server.
 */
bool
live_scan_is_elsewhere(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		result = scan->leaves != NULL && choose_leaf(scan, key) && scan->current->source != NULL;

	MemoryContextSwitchTo(old);
	return result;
}

/*
 * live_scan_first
 *		Returns the first row, usually the only one, with this primary key, or NULL if there
 *		is none.
 */
TupleTableSlot *
live_scan_first(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		found = scan->leaves == NULL || choose_leaf(scan, key);

	if (found && scan->current->source != NULL)
		scan->current->source->find(scan, key);
	else if (found)
		search_leaf(scan, key);
	MemoryContextSwitchTo(old);
	return found ? live_scan_next(scan) : NULL;
}

/*
 * columns_to_fetch_by
 *		Returns the columns of entries by which their rows are fetched: the primary key, and
 *		the place.
 */
Bitmapset *
columns_to_fetch_by(IndexDef *def)
{
	Bitmapset  *result = def->layout.hint_attno != 0 ? bms_make_singleton(def->layout.hint_attno) : NULL;

	for (int i = 0; i < def->fact->layout.npk; i++)
		result = bms_add_member(result, def->layout.pk_attno[i]);
	return result;
}

/*
 * place_of_row
 *		Returns where the row of an entry was when the entry was written, or NULL if that is
 *		not known.
 */
ItemPointer
place_of_row(IndexDef *def, TupleTableSlot *entry)
{
	bool		isnull;
	Datum		place;

	if (def->layout.hint_attno == 0)
		return NULL;
	place = slot_getattr(entry, def->layout.hint_attno, &isnull);
	/* An index table that is written by hand may have a place that is none. */
	if (isnull || !ItemPointerIsValid((ItemPointer) DatumGetPointer(place)))
		return NULL;
	return (ItemPointer) DatumGetPointer(place);
}

/*
 * live_scan_only
 *		Returns the row with this primary key, of which the snapshot sees one at most, or NULL
 *		if there is none.  It is looked for at the place that its entry has, unless that is
 *		NULL, before it is searched for.
 *
 * A place is only a hint: the row may have moved, VACUUM FULL may have moved all of them,
 * another row may be there by now, or nothing.  A row is taken from there only if the
 * snapshot sees it and it has the primary key; then it is the row that the search would find,
 * as there is no other.  All else is left to the search, which also tells that there is none.
 *
 * A serializable transaction locks the row that it finds, as the heap does for any reader.
 * What the search would lock beside it, the place of the key in the index, keeps others from
 * inserting that key unnoticed: they cannot before a transaction has deleted the row, or has
 * given it another key, which conflicts with the lock of the row.
 */
TupleTableSlot *
live_scan_only(LiveScan *scan, Datum *key, ItemPointer place)
{
	MemoryContext old;
	TupleTableSlot *row = NULL;

	if (place != NULL && scan->snapshot->snapshot_type == SNAPSHOT_MVCC)
	{
		old = MemoryContextSwitchTo(scan->cxt);
		if ((scan->leaves == NULL || choose_leaf(scan, key)) && scan->current->by_place)
			row = row_at_place(scan, key, place);
		MemoryContextSwitchTo(old);
	}
	return row != NULL ? row : live_scan_first(scan, key);
}

/*
 * relation_has_block
 *		Returns whether a table has a block.
 *
 * The server caches the length of a file that it has looked at.  Other sessions may have
 * made the file longer since, but not shorter: a session that truncates a table locks it
 * against readers, and has told all sessions before to forget what they have cached of the
 * file. They have heard that when they lock the table.
 */
bool
relation_has_block(Relation rel, BlockNumber block)
{
	BlockNumber cached = RelationGetSmgr(rel)->smgr_cached_nblocks[MAIN_FORKNUM];

	return (cached != InvalidBlockNumber && block < cached) || block < RelationGetNumberOfBlocks(rel);
}

/* look_at_place: stores the version of a row that is at a place, if the snapshot sees it */
static bool
look_at_place(LiveScan *scan, ItemPointer place)
{
	LeafScan   *leaf = scan->current;

	return table_tuple_fetch_row_version(leaf->rel, place, scan->snapshot, leaf->stored);
}

/*
 * follow_place
 *		Stores the version that the snapshot sees of those that updates have made, which
 *		changed no index, of the one at a place.
 *
 * There is one reader at a time.  If each partition had its own, as many pages would be pinned,
 * and the server is slow to pin more than a few.
 */
static bool
follow_place(LiveScan *scan, ItemPointer place)
{
	LeafScan   *leaf = scan->current;
	ItemPointerData tid = *place;
	bool		again = false;
	bool		dead = false;

	if (scan->fetch != NULL && scan->fetch->rel != leaf->rel)
	{
		table_index_fetch_end(scan->fetch);
		scan->fetch = NULL;
	}
	if (scan->fetch == NULL)
		scan->fetch = table_index_fetch_begin_compat(leaf->rel);
	return table_index_fetch_tuple(scan->fetch, &tid, scan->snapshot, leaf->stored, &again, &dead);
}

/*
 * row_at_place
 *		Returns the row at a place if the snapshot sees it and it has the primary key, else NULL.
 *
 * No block of the table can vanish while it is locked, so the block is there if it was there
 * once.
 */
static TupleTableSlot *
row_at_place(LiveScan *scan, Datum *key, ItemPointer place)
{
	LeafScan   *leaf = scan->current;
	BlockNumber block = ItemPointerGetBlockNumber(place);
	bool		near;
	TupleTableSlot *row;

	if (!relation_has_block(leaf->rel, block))
		return NULL;

	/*
	 * To look just there is the quicker, but it does not follow updates that
	 * have changed no index.  To follow them is the quicker where the page is
	 * at hand from the row before, and does not find a version that came of
	 * one.
	 */
	near = block == leaf->block;
	leaf->block = block;
	if (near ? !follow_place(scan, place) && !look_at_place(scan, place) :
		!look_at_place(scan, place) && !follow_place(scan, place))
		return NULL;
	row = live_scan_row(scan);
	slot_getsomeattrs(row, scan->options.columns);
	for (int i = 0; i < scan->def->layout.npk; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(row, scan->def->layout.pk_attno[i], &isnull);

		if (isnull ||
			!DatumGetBool(FunctionCall2Coll(&scan->keys[i].sk_func, scan->keys[i].sk_collation, value, key[i])))
			return NULL;
	}
	return row;
}

/* live_scan_next: returns the next row with the same primary key, or NULL if there is none */
TupleTableSlot *
live_scan_next(LiveScan *scan)
{
	/* What the scan allocates now, it keeps. */
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	LeafScan   *leaf = scan->current;
	bool		found;

	if (leaf->source == NULL)
		found = key_search_next(&leaf->search, leaf->stored);
	else if ((found = leaf->rows != NIL))
	{
		ExecStoreMinimalTuple(linitial(leaf->rows), leaf->stored, true);
		leaf->rows = list_delete_first(leaf->rows);
	}
	MemoryContextSwitchTo(old);
	return found ? live_scan_row(scan) : NULL;
}

/*
 * live_scan_leaf
 *		Returns the table that has the row with a primary key, or NULL if there is none.
 */
LeafScan *
live_scan_leaf(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		found = scan->leaves == NULL || choose_leaf(scan, key);

	MemoryContextSwitchTo(old);
	return found ? scan->current : NULL;
}

/* live_scan_index: returns the index of a table by which it is searched */
Relation
live_scan_index(LiveScan *scan, LeafScan *leaf)
{
	if (leaf->search.index == NULL)
		leaf->search.index = index_open(leaf->leaf != NULL ? leaf->leaf->pk_index : scan->def->layout.pk_index,
										AccessShareLock);
	return leaf->search.index;
}

/*
 * live_scan_at
 *		Returns the version of the row at a place in a table that the snapshot sees, or NULL.
 */
TupleTableSlot *
live_scan_at(LiveScan *scan, LeafScan *leaf, ItemPointer place)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		found;

	if (scan->current != NULL && scan->current != leaf)
		ExecClearTuple(scan->current->stored);
	scan->current = leaf;
	found = follow_place(scan, place);
	MemoryContextSwitchTo(old);
	return found ? live_scan_row(scan) : NULL;
}

/* live_scan_row: returns the row in scan->current->stored with the columns of the fact table */
TupleTableSlot *
live_scan_row(LiveScan *scan)
{
	LeafScan   *leaf = scan->current;

	return leaf->slot == leaf->stored ? leaf->stored : convert_row(leaf->leaf->map, leaf->stored, leaf->slot);
}

void
live_scan_end(LiveScan *scan)
{
	HASH_SEQ_STATUS seq;
	LeafScan   *leaf;

	if (scan->fetch != NULL)
		table_index_fetch_end(scan->fetch);
	if (scan->leaves == NULL)
		end_leaf(scan, &scan->only);
	else
	{
		hash_seq_init(&seq, scan->leaves);
		while ((leaf = hash_seq_search(&seq)) != NULL)
		{
			end_leaf(scan, leaf);
			relation_close(leaf->rel, NoLock);
		}
		hash_destroy(scan->leaves);
	}
	if (scan->shared != NULL)
		ExecDropSingleTupleTableSlot(scan->shared);
}

/*
 * choose_leaf
 *		Sets scan->current to the partition that a key belongs to; returns false if there is
 *		none.
 */
static bool
choose_leaf(LiveScan *scan, Datum *key)
{
	Oid			relid = scan->leaf_of != NULL ? scan->leaf_of(scan->leaf_arg, key) :
		route_key(scan->def, scan->fact, key);
	LeafScan   *leaf;
	bool		found;

	/* As long as a slot has a row, the block of the row is pinned. */
	if (scan->current != NULL)
		ExecClearTuple(scan->current->stored);
	scan->current = NULL;
	if (!OidIsValid(relid))
		return false;
	leaf = hash_search(scan->leaves, &relid, HASH_ENTER, &found);
	if (!found)
	{
		leaf->rel = lock_and_open(relid, scan->options.lock);
		if (leaf->rel == NULL)
		{
			hash_search(scan->leaves, &relid, HASH_REMOVE, NULL);
			return false;
		}
		/* The leaves of a part of a table are none of its partitions. */
		refuse_rewritten(leaf->rel, scan->leaf_of == NULL ? scan->def->relid : relid, scan->snapshot);
		leaf->leaf = leaf_of(scan->def, leaf->rel);
		begin_leaf(scan, leaf);
	}
	scan->current = leaf;
	return true;
}

/* begin_leaf: prepares to read one table */
static void
begin_leaf(LiveScan *scan, LeafScan *leaf)
{
	bool		is_heap = leaf->rel->rd_tableam == GetHeapamTableAmRoutine();

	leaf->rows = NIL;
	key_search_begin(&leaf->search, leaf->rel, NULL, scan->snapshot, scan->def->layout.npk);
	leaf->source = leaf->leaf != NULL ? leaf->leaf->source : NULL;
	leaf->by_place = is_heap && !scan->def->layout.pk_deferrable;
	leaf->block = InvalidBlockNumber;
	if (leaf->source != NULL)
	{
		leaf->stored = leaf->slot = MakeSingleTupleTableSlot(scan->def->layout.desc, &TTSOpsMinimalTuple);
		return;
	}

	/*
	 * Such a partition can be read by the columns of the fact table.  One
	 * whose old rows lack a column, with a value that only the partition
	 * knows, has a map.
	 */
	if (is_heap && leaf->leaf != NULL && leaf->leaf->map == NULL)
	{
		if (scan->shared == NULL)
			scan->shared = MakeSingleTupleTableSlot(scan->def->layout.desc, &TTSOpsBufferHeapTuple);
		leaf->stored = leaf->slot = scan->shared;
		return;
	}
	leaf->stored = leaf->slot = table_slot_create(leaf->rel, NULL);
	if (leaf->leaf != NULL && leaf->leaf->map != NULL)
		leaf->slot = MakeSingleTupleTableSlot(scan->def->layout.desc, &TTSOpsVirtual);
}

/*
 * search_leaf
 *		Begins to search the current table by its primary key, whose index is opened at the
 *		first search.
 */
static void
search_leaf(LiveScan *scan, Datum *key)
{
	LeafScan   *leaf = scan->current;

	(void) live_scan_index(scan, leaf);
	for (int i = 0; i < scan->def->layout.npk; i++)
		scan->keys[i].sk_argument = key[i];
	key_search_start(&leaf->search, scan->keys, scan->options.in_order, &scan->searched);
}

static void
end_leaf(LiveScan *scan, LeafScan *leaf)
{
	key_search_end(&leaf->search);
	if (leaf->search.index != NULL)
		index_close(leaf->search.index, NoLock);
	if (leaf->slot != leaf->stored)
		ExecDropSingleTupleTableSlot(leaf->slot);
	if (leaf->stored != scan->shared)
		ExecDropSingleTupleTableSlot(leaf->stored);
}
