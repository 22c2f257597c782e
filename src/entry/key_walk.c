/*-------------------------------------------------------------------------
 *
 * key_walk.c
 *	  Searches an index for many keys that come in its order, and by ranges of keys.
 *
 * To search for a key, a btree descends from its root, which costs more than a look at
 * a dozen items.  So where many of the keys between the first and the last one are
 * searched for, it is cheaper to walk through the index from one key to the next: one
 * scan, which begins with the first key and has no end, is read on until it comes to the
 * key.  A walk skips only so many items for each key that it reaches.  Where it does not
 * pay, it is given up, and the caller searches for the next keys one by one, at first
 * for a few and then for more and more of them, before a walk is tried again.
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

#include "access/genam.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "../util/unpruned.h"
#include "key_walk.h"

/*
 * How many items may be skipped for each key that is reached, and how many of these may be
 * saved for a gap, which is also what there is to begin with.
 */
#define SKIPPED_PER_KEY 8
#define MAX_SKIPPED 64

/* For so many keys a walk is not tried again, if it has not paid; doubled each time. */
#define MIN_PAUSE 128
#define MAX_PAUSE 65536

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
	int			i;

	memset(&key->header, 0, sizeof(ScanKeyData));
	for (i = 0; i < n; i++)
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
 * key_walk_begin
 *		Prepares to walk through an index of rel, which orders rows by nkeys columns first, and
 *		to look at the rows that the snapshot sees.
 */
KeyWalk *
key_walk_begin(Relation rel, Relation index, Snapshot snapshot, int nkeys)
{
	KeyWalk    *walk = palloc0(sizeof(KeyWalk));
	int			i;

	walk->index = index;
	walk->nkeys = nkeys;
	walk->next_pause = MIN_PAUSE;
	for (i = 0; i < nkeys; i++)
	{
		walk->order[i] = index_getprocinfo(index, i + 1, BTORDER_PROC);
		/* In another order there may be nulls before the first key. */
		if (index->rd_indoption[i] != 0)
			walk->pause = PG_INT32_MAX;
	}
	walk->scan = index_beginscan_compat(rel, index, snapshot, 1);
	walk->scan->xs_want_itup = true;
	return walk;
}

/*
 * key_walk_to
 *		Goes to the rows with a key, which has to last as long as the walk.  Returns false
 *		if the caller has to search for it in another way.
 */
bool
key_walk_to(KeyWalk *walk, Datum *key)
{
	int			c = walk->any ? 0 : -1;
	int			i;

	if (walk->pause > 0)
	{
		walk->pause--;
		return false;
	}
	for (i = 0; walk->any && i < walk->nkeys && c == 0; i++)
		c = compare_column(walk, i, walk->key[i], key[i]);
	walk->any = true;
	memcpy(walk->key, key, sizeof(Datum) * walk->nkeys);
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

/* key_walk_to_equal: goes to the rows with the key that search keys for equality say, one for each column */
bool
key_walk_to_equal(KeyWalk *walk, ScanKey keys)
{
	Datum		key[INDEX_MAX_KEYS];
	int			i;

	for (i = 0; i < walk->nkeys; i++)
		key[i] = keys[i].sk_argument;
	return key_walk_to(walk, key);
}

/* key_walk_next: puts the next row with the key that the walk has come to into slot; returns false if there is no other */
bool
key_walk_next(KeyWalk *walk, TupleTableSlot *slot)
{
	while (walk->at_key)
	{
		/* With SnapshotSelf, another version in the same place may be seen. */
		if (walk->visited && !walk->scan->xs_heap_continue)
		{
			step(walk);
			walk->at_key = !walk->at_end && compare_item(walk) == 0;
			continue;
		}
		if (walk->unpruned && !walk->visited)
			skip_pruning(walk->scan);
		walk->visited = true;
		if (index_fetch_heap(walk->scan, slot))
			return true;
	}
	return false;
}

void
key_walk_end(KeyWalk *walk)
{
	index_endscan(walk->scan);
	pfree(walk);
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

/* compare_item: compares the key of the item that the scan is at with the one that is searched for */
static int
compare_item(KeyWalk *walk)
{
	int			c = 0;
	int			i;

	for (i = 0; i < walk->nkeys && c == 0; i++)
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
