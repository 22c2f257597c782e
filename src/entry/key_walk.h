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
#include "fmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* A search key that compares several columns of an index together. */
typedef struct RowComparison
{
	ScanKeyData header;
	ScanKeyData members[INDEX_MAX_KEYS];
} RowComparison;

/* A walk through an index, from one key to the next. */
typedef struct KeyWalk
{
	Relation	index;
	int			nkeys;			/* columns of a key, the first of the index */
	IndexScanDesc scan;
	bool		unpruned;		/* pages that rows are read from are not
								 * pruned; false unless the caller sets it */
	RowComparison from;			/* the scan began with the key that this says */
	FmgrInfo   *order[INDEX_MAX_KEYS];	/* compare the columns of a key */
	bool		any;			/* a key was searched for */
	Datum		key[INDEX_MAX_KEYS];	/* the last one */
	bool		walking;		/* the scan is at the first item that does not
								 * come before that key, or at ... */
	bool		at_end;			/* ... the end of the index */
	bool		at_key;			/* the item has that key */
	bool		visited;		/* the item was looked at already */
	int			budget;			/* so many items may be skipped */
	int			reached;		/* keys since the scan began */
	int			pause;			/* keys that are left to others now, and ... */
	int			next_pause;		/* ... the next time that walking does not pay */
} KeyWalk;

extern void row_comparison(RowComparison *key, Relation index, int first, int n, StrategyNumber strategy,
						   Datum *bounds);
extern KeyWalk *key_walk_begin(Relation rel, Relation index, Snapshot snapshot, int nkeys);
extern bool key_walk_to(KeyWalk *walk, Datum *key);
extern bool key_walk_to_equal(KeyWalk *walk, ScanKey keys);
extern bool key_walk_next(KeyWalk *walk, TupleTableSlot *slot);
extern void key_walk_end(KeyWalk *walk);

#endif							/* INDEXTABLE_KEY_WALK_H */
