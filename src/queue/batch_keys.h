/*-------------------------------------------------------------------------
 *
 * batch_keys.h
 *	  Reads the keys of a batch from the queue, sorts them, and deletes them when they
 *	  are applied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BATCH_KEYS_H
#define INDEXTABLE_BATCH_KEYS_H

#include "storage/block.h"
#include "storage/itemptr.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* Queued keys, and where they are. */
typedef struct Keys
{
	FactDef    *def;
	int			limit;
	Snapshot	start;			/* what it sees is old; NULL: no matter */
	bool		old;			/* there are old ones */
	int			n;
	Datum	   *values;			/* n * npk */
	ItemPointerData *tids;
	int			nspare;			/* the first of them are in the spare table */
} Keys;

/* Where batches of one transaction go on, in the two queue tables, and where they end. */
typedef struct DrainPosition
{
	Snapshot	start;			/* NULL: with one batch */
	bool		caught_up;		/* with what this snapshot sees */
	bool		locked;			/* somebody else may be draining */
	Oid			relid[2];
	BlockNumber block[2];
} DrainPosition;

extern bool any_left(FactDef *def, Snapshot now, Snapshot start);
extern void delete_keys(Keys *keys);
extern void read_keys(Keys *keys, Snapshot snapshot, DrainPosition *position);
extern int	sort_keys(Keys *keys);

#endif							/* INDEXTABLE_BATCH_KEYS_H */
