/*-------------------------------------------------------------------------
 *
 * key_walk.c
 *	  Searches an index for one key after another, which may come in its order, and by
 *	  ranges of keys.
 *
 * To search for a key, a btree descends from its root, which costs more than a look at a
 * dozen items.  So where many of the keys between the first and the last one are searched
 * for, it is cheaper to walk through the index from one key to the next: one scan, which
 * begins with the first key and has no end, is read on until it comes to the key.  A walk
 * skips only SKIPPED_PER_KEY items for each key that it reaches.  Where it does not pay, it
 * is given up, and the caller searches for the next keys one by one, at first for a few and
 * then for more and more of them, before a walk is tried again.
 *
 * A walk finds what a search finds.  It compares keys by the functions by which the index
 * is ordered.  A key that does not come after the one before it, because the caller's
 * order is another one or because two keys are equal, is left to the caller.  A page of
 * the index is read before the snapshot is asked what it sees, as in any scan; and what
 * comes into a page that was read already, the snapshot does not see, or, if it is
 * SnapshotSelf, nobody may write it meanwhile: the caller sees to that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../util/unpruned.h"
#include "fetch.h"

/*
 * How many items may be skipped for each key that is reached, and how many of these may be
 * saved for a gap, which is also what there is to begin with.
 */
#define SKIPPED_PER_KEY 8
#define MAX_SKIPPED 64

/* The number of keys for which a walk is not tried again, if it has not paid; doubled each time. */
#define MIN_PAUSE 128
#define MAX_PAUSE 65536

/* A walk through an index, from one key to the next. */
typedef struct KeyWalk
{
	Relation	index;
	int			nkeys;			/* columns of a key, the first of the index */
	IndexScanDesc scan;
	RowComparison from;			/* the scan began with the key that this says */
	FmgrInfo   *order[INDEX_MAX_KEYS];	/* compare the columns of a key */
	bool		any;			/* a key was searched for */
	Datum		key[INDEX_MAX_KEYS];	/* the last one */
	bool		walking;		/* the scan is at the first item that does not
								 * come before that key, or at ... */
	bool		at_end;			/* ... the end of the index */
	bool		at_key;			/* the item has that key */
	bool		visited;		/* the item was looked at already */
	int			budget;			/* number of items that may still be skipped */
	int			reached;		/* keys since the scan began */
	int			pause;			/* keys that are left to others now, and ... */
	int			next_pause;		/* ... the next time that walking does not pay */
} KeyWalk;

static void take_scan(KeySearch *search, KeySearch *from);
static KeyWalk *begin_walk(KeySearch *search);
static bool walk_to(KeyWalk *walk, ScanKey keys);
static bool next_of_walk(KeySearch *search, TupleTableSlot *slot);
static void start(KeyWalk *walk);
static void step(KeyWalk *walk);
static int	compare_item(KeyWalk *walk);
static int	compare_column(KeyWalk *walk, int column, Datum a, Datum b);

/*
 * row_comparison
 *		Makes a search key that compares n columns of an index, from number first on, with
 *		bounds, in the order of the index: BTGreaterStrategyNumber finds what comes after
 *		them.
 *
 * The key points into itself, so it must not be copied.  With one column it is an
 * ordinary search key, as a row comparison has at least two members.
 */
void
row_comparison(RowComparison *key, Relation index, int first, int n, StrategyNumber strategy, Datum *bounds)
{
	memset(&key->header, 0, sizeof(ScanKeyData));
	for (int i = 0; i < n; i++)
	{
		int			column = first + i;

		/*
		 * In a descending column, a value that comes after a bound is less
		 * than it, and the btree expects the key to say so.
		 */
		StrategyNumber member = (index->rd_indoption[column] & INDOPTION_DESC) == 0 ? strategy :
			BTCommuteStrategyNumber(strategy);

		if (n == 1)
		{
			Oid			type = index->rd_opcintype[column];
			Oid			operator = get_opfamily_member(index->rd_opfamily[column], type, type, member);

			ScanKeyEntryInitialize(&key->header, 0, column + 1, member, InvalidOid,
								   index->rd_indcollation[column], get_opcode(operator), bounds[i]);
			return;
		}
		ScanKeyEntryInitializeWithInfo(&key->members[i], SK_ROW_MEMBER | (i == n - 1 ? SK_ROW_END : 0),
									   column + 1, member, InvalidOid, index->rd_indcollation[column],
									   index_getprocinfo(index, column + 1, BTORDER_PROC), bounds[i]);
	}
	key->header.sk_flags = SK_ROW_HEADER;
	key->header.sk_attno = first + 1;
	key->header.sk_strategy = key->members[0].sk_strategy;
	key->header.sk_argument = PointerGetDatum(key->members);
}

/*
 * key_search_begin
 *		Prepares to search a table by an index, which orders rows by nkeys columns first; it
 *		reads nothing yet.
 */
void
key_search_begin(KeySearch *search, Relation rel, Relation index, Snapshot snapshot, int nkeys)
{
	memset(search, 0, sizeof(KeySearch));
	search->rel = rel;
	search->index = index;
	search->snapshot = snapshot;
	search->nkeys = nkeys;
}

/*
 * key_search_start
 *		Begins to search for the rows with these keys.
 *
 * With in_order they are equal values of all columns, which last as long as the search and
 * mostly come in the order of the index.  *holder, unless holder is NULL, is the search that
 * has the one scan of several searches, which take it over from each other.
 */
void
key_search_start(KeySearch *search, ScanKey keys, bool in_order, KeySearch **holder)
{
	if (in_order && search->walk == NULL)
		search->walk = begin_walk(search);
	search->walking = in_order && walk_to(search->walk, keys);
	if (search->walking)
		return;
	if (search->scan == NULL && holder != NULL && *holder != NULL && (*holder)->scan != NULL)
		take_scan(search, *holder);
	if (search->scan == NULL)
		search->scan = index_beginscan_compat(search->rel, search->index, search->snapshot, search->nkeys);
	if (holder != NULL)
		*holder = search;
	index_rescan(search->scan, keys, search->nkeys, NULL, 0);
}

/*
 * take_scan
 *		Has the scan of another search search for this one, if it can.
 *
 * Rows with keys that follow each other are often in as many partitions, and the scan of a
 * btree takes 27 KB, which are allocated and freed for each, if each has its own.
 *
 * The server begins and ends a scan at one index.  Between its searches, however, a btree's
 * scan holds nothing of the index but the reference to it: the rescan here lets go of the
 * page that it is at, having marked there which entries are dead, and the one that follows
 * has all that depends on the index, or on the keys, determined anew.  All other kinds of
 * indexes get another scan, and the table's part of the scan is always a new one.
 */
static void
take_scan(KeySearch *search, KeySearch *from)
{
	IndexScanDesc scan = from->scan;

	from->scan = NULL;
	if (from->index->rd_rel->relam != BTREE_AM_OID || search->index->rd_rel->relam != BTREE_AM_OID)
	{
		index_endscan(scan);
		return;
	}
	index_rescan(scan, NULL, from->nkeys, NULL, 0);
	table_index_fetch_end(scan->xs_heapfetch);
	scan->xs_heapfetch = table_index_fetch_begin_compat(search->rel);
	scan->heapRelation = search->rel;
	RelationIncrementReferenceCount(search->index);
	RelationDecrementReferenceCount(from->index);
	scan->indexRelation = search->index;
	search->scan = scan;
}

/* key_search_next: puts the next row with the keys into slot; returns false if there is no other */
bool
key_search_next(KeySearch *search, TupleTableSlot *slot)
{
	if (search->walking)
		return next_of_walk(search, slot);
	return search->unpruned ? index_getnext_slot_unpruned(search->scan, ForwardScanDirection, slot) :
		index_getnext_slot(search->scan, ForwardScanDirection, slot);
}

/* key_search_end: releases what a search has begun; the index is the caller's */
void
key_search_end(KeySearch *search)
{
	if (search->scan != NULL)
		index_endscan(search->scan);
	if (search->walk == NULL)
		return;
	index_endscan(search->walk->scan);
	pfree(search->walk);
}

/* begin_walk: prepares to walk through the index of a search */
static KeyWalk *
begin_walk(KeySearch *search)
{
	Relation	index = search->index;
	KeyWalk    *walk = palloc0(sizeof(KeyWalk));

	walk->index = index;
	walk->nkeys = search->nkeys;
	walk->next_pause = MIN_PAUSE;
	for (int i = 0; i < walk->nkeys; i++)
	{
		walk->order[i] = index_getprocinfo(index, i + 1, BTORDER_PROC);
		/* In another order there may be nulls before the first key. */
		if (index->rd_indoption[i] != 0)
			walk->pause = PG_INT32_MAX;
	}
	walk->scan = index_beginscan_compat(search->rel, index, search->snapshot, 1);
	walk->scan->xs_want_itup = true;
	return walk;
}

/*
 * walk_to
 *		Goes to the rows with a key; returns false if the caller has to search for it in
 *		another way.
 */
static bool
walk_to(KeyWalk *walk, ScanKey keys)
{
	int			c = walk->any ? 0 : -1;

	if (walk->pause > 0)
	{
		walk->pause--;
		return false;
	}
	for (int i = 0; i < walk->nkeys; i++)
		if (keys[i].sk_flags != 0)
			return false;		/* NULL is searched for */
	for (int i = 0; walk->any && i < walk->nkeys && c == 0; i++)
		c = compare_column(walk, i, walk->key[i], keys[i].sk_argument);
	walk->any = true;
	for (int i = 0; i < walk->nkeys; i++)
		walk->key[i] = keys[i].sk_argument;
	if (c > 0)
		walk->walking = false;
	if (c >= 0)
		return false;
	if (!walk->walking)
		start(walk);
	while (!walk->at_end && (c = compare_item(walk)) < 0)
	{
		if (walk->budget-- == 0)
		{
			if (walk->reached >= MIN_PAUSE)
				walk->next_pause = MIN_PAUSE;
			walk->pause = walk->next_pause;
			walk->next_pause = Min(walk->next_pause * 2, MAX_PAUSE);
			walk->walking = false;
			/* No page stays pinned. */
			index_rescan(walk->scan, NULL, 1, NULL, 0);
			return false;
		}
		step(walk);
	}
	walk->budget = Min(walk->budget + SKIPPED_PER_KEY, MAX_SKIPPED);
	walk->reached++;
	walk->at_key = !walk->at_end && c == 0;
	return true;
}

/*
 * next_of_walk
 *		Returns the next entry, as key_search_next() does, where a walk has come to the key.
 */
static bool
next_of_walk(KeySearch *search, TupleTableSlot *slot)
{
	KeyWalk    *walk = search->walk;

	while (walk->at_key)
	{
		/* With SnapshotSelf, another version in the same place may be seen. */
		if (walk->visited && !walk->scan->xs_heap_continue)
		{
			step(walk);
			walk->at_key = !walk->at_end && compare_item(walk) == 0;
			continue;
		}
		if (search->unpruned && !walk->visited)
			skip_pruning(walk->scan);
		walk->visited = true;
		if (index_fetch_heap(walk->scan, slot))
			return true;
	}
	return false;
}

/* start: begins the scan with the key that is searched for */
static void
start(KeyWalk *walk)
{
	row_comparison(&walk->from, walk->index, 0, walk->nkeys, BTGreaterEqualStrategyNumber, walk->key);
	index_rescan(walk->scan, &walk->from.header, 1, NULL, 0);
	walk->walking = true;
	walk->at_end = false;
	walk->budget = MAX_SKIPPED;
	walk->reached = 0;
	step(walk);
}

/* step: moves the scan to the next item */
static void
step(KeyWalk *walk)
{
	walk->at_end = index_getnext_tid(walk->scan, ForwardScanDirection) == NULL;
	walk->visited = false;
}

/*
 * compare_item
 *		Compares the key of the item that the scan is at with the one that is searched for.
 */
static int
compare_item(KeyWalk *walk)
{
	int			c = 0;

	for (int i = 0; i < walk->nkeys && c == 0; i++)
	{
		bool		isnull;
		Datum		value = index_getattr(walk->scan->xs_itup, i + 1, walk->scan->xs_itupdesc, &isnull);

		/* Nulls come last. */
		c = isnull ? 1 : compare_column(walk, i, value, walk->key[i]);
	}
	return c;
}

static int
compare_column(KeyWalk *walk, int column, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(walk->order[column], walk->index->rd_indcollation[column], a, b));
}
