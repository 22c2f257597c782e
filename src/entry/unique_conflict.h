/*-------------------------------------------------------------------------
 *
 * unique_conflict.h
 *	  Decides which of two entries with one unique key may have it, and notes rows that may
 *	  share their primary key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNIQUE_CONFLICT_H
#define INDEXTABLE_UNIQUE_CONFLICT_H

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "../indextable.h"

/* What is to be done where a new entry has the same unique key as an existing one. */
typedef enum KeyOwner
{
	KEY_STAYS,					/* no row has handed the key on to the other:
								 * the existing entry is in the way */
	KEY_UNDECIDED,				/* another transaction decides: wait for it */
	KEY_WENT_TO_NEW,			/* the existing entry's row has handed the key
								 * on to the new entry's row */
	KEY_WENT_TO_EXISTING		/* the new entry's row has handed the key on
								 * to the existing entry's row */
} KeyOwner;

/* A primary key that rows may share, as it was when it was noted. */
typedef struct SharedKey
{
	Oid			fact;
	int			n;				/* number of columns */
	AttrNumber *attno;			/* their numbers in the fact table */
	Oid		   *types;
	Datum	   *values;
} SharedKey;

extern KeyOwner decide_key_owner(IndexDef *def, TupleTableSlot *existing, TupleTableSlot *new,
								 TransactionId *wait);
extern List *take_shared_keys(void);
extern void note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns);

#endif							/* INDEXTABLE_UNIQUE_CONFLICT_H */
