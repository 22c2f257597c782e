/*-------------------------------------------------------------------------
 *
 * unique_conflict.h
 *	  Decides which of two entries with one unique key may have it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNIQUE_CONFLICT_H
#define INDEXTABLE_UNIQUE_CONFLICT_H

#include "executor/tuptable.h"

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

extern KeyOwner decide_key_owner(IndexDef *def, TupleTableSlot *existing, TupleTableSlot *new,
								 TransactionId *wait);

#endif							/* INDEXTABLE_UNIQUE_CONFLICT_H */
