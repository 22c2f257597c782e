/*-------------------------------------------------------------------------
 *
 * key_walk.h
 *	  Searches an index for many keys that come in its order, and by ranges of keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_KEY_WALK_H
#define INDEXTABLE_KEY_WALK_H

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "executor/tuptable.h"
#include "utils/snapshot.h"

/* A search key that compares several columns of an index together. */
typedef struct RowComparison
{
	ScanKeyData header;
	ScanKeyData members[INDEX_MAX_KEYS];
} RowComparison;

/* A search of a table for one key of an index after another. */
typedef struct KeySearch
{
	Relation	rel;
	Relation	index;			/* NULL: not opened yet */
	Snapshot	snapshot;
	int			nkeys;			/* columns of a key, the first of the index */
	bool		unpruned;		/* pages that rows are read from are not
								 * pruned; false unless the caller sets it */
	bool		walking;		/* a walk has come to the last key */
	IndexScanDesc scan;			/* finds the others; NULL: not begun */
	struct KeyWalk *walk;		/* NULL: not begun */
} KeySearch;

extern void row_comparison(RowComparison *key, Relation index, int first, int n, StrategyNumber strategy,
						   Datum *bounds);
extern void key_search_begin(KeySearch *search, Relation rel, Relation index, Snapshot snapshot, int nkeys);
extern void key_search_start(KeySearch *search, ScanKey keys, bool in_order, KeySearch **holder);
extern bool key_search_next(KeySearch *search, TupleTableSlot *slot);
extern void key_search_end(KeySearch *search);

#endif							/* INDEXTABLE_KEY_WALK_H */
