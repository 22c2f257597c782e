/*-------------------------------------------------------------------------
 *
 * shared_keys.h
 *	  Notes rows that may share their primary key with another row until a deferrable
 *	  constraint is checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARED_KEYS_H
#define INDEXTABLE_SHARED_KEYS_H

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "../indextable.h"

/* A primary key that rows may share, as it was when it was noted. */
typedef struct SharedKey
{
	Oid			fact;
	int			n;				/* number of columns */
	AttrNumber *attno;			/* their numbers in the fact table */
	Oid		   *types;
	Datum	   *values;
} SharedKey;

extern List *take_shared_keys(void);
extern void note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns);
extern void forget_shared_keys(void);

#endif							/* INDEXTABLE_SHARED_KEYS_H */
