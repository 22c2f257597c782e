/*-------------------------------------------------------------------------
 *
 * unique_conflict.h
 *	  Whose a unique key is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNIQUE_CONFLICT_H
#define INDEXTABLE_UNIQUE_CONFLICT_H

#include "executor/tuptable.h"

#include "../indextable.h"

typedef enum Claim
{
	CLAIM_STAYS,				/* the row of the entry that is there has the
								 * key */
	CLAIM_WAIT,					/* another transaction decides that */
	CLAIM_NEW,					/* that row has handed it on to the row of the
								 * new entry, */
	CLAIM_NOT_NEW				/* or that one to it */
} Claim;

extern Claim decide_key_owner(IndexDef *def, TupleTableSlot *there, TupleTableSlot *new, TransactionId *wait);

#endif							/* INDEXTABLE_UNIQUE_CONFLICT_H */
