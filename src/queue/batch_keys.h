/*-------------------------------------------------------------------------
 *
 * batch_keys.h
 *	  Reads the keys of a batch from the queue, sorts them, and deletes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BATCH_KEYS_H
#define INDEXTABLE_BATCH_KEYS_H

#include "storage/block.h"
#include "storage/itemptr.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* The keys of a batch, and where in the queue they are. */
typedef struct Keys
{
	FactDef    *def;
	int			limit;			/* at most this many are read */
	Snapshot	start;			/* keys that it sees are old; NULL: it does
								 * not matter */
	bool		old;			/* at least one of them is old */
	int			n;
	Datum	   *values;			/* n * npk */
	ItemPointerData *tids;
	int			nspare;			/* the first nspare of them are in the spare
								 * table, the others in the one in use */
} Keys;

/*
 * Where in the two queue tables the next batch of a transaction goes on, and what is
 * known after the last one.
 */
typedef struct DrainPosition
{
	Snapshot	start;			/* batches go on until what it sees is
								 * applied; NULL: until the caller stops */
	Snapshot	reading;		/* keys and rows are read with this one; NULL:
								 * with a new one in each batch */
	bool		caught_up;		/* no such change is left in the queue */
	bool		locked;			/* the batch was left to another session that
								 * may be draining */
	Oid			busy;			/* the queue table that this session has
								 * locked, if it is known */
	bool		retry_rejected; /* rejected rows are tried again, although
								 * they are not due */
	Oid			relid[2];		/* the queue tables */
	BlockNumber block[2];		/* where to go on in them */
} DrainPosition;

extern bool any_left(FactDef *def, Snapshot now, Snapshot start);
extern void copy_key(Keys *keys, Datum *row);
extern void delete_keys(Keys *keys);
extern void read_keys(Keys *keys, Snapshot snapshot, DrainPosition *position);
extern int	sort_keys(FactDef *def, Datum *values, int nvalues);

#endif							/* INDEXTABLE_BATCH_KEYS_H */
