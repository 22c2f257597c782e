/*-------------------------------------------------------------------------
 *
 * condition.h
 *	  Reads which entries a query pages through.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CONDITION_H
#define INDEXTABLE_CONDITION_H

#include "utils/jsonb.h"

#include "../indextable.h"
#include "key_set.h"

/* A lower or an upper bound of a column. */
typedef struct Bound
{
	bool		given;
	bool		inclusive;
	Datum		value;
} Bound;

/* The entries that a query pages through. */
typedef struct KeyRange
{
	KeySet		keys;			/* their leading key fields have one of these */
	Bound		lower;			/* bounds of the key field after these */
	Bound		upper;
	char	   *prefix;			/* what the text of that field begins with, or
								 * NULL */
	bool		empty;			/* nothing can match, as a value is null */
} KeyRange;

extern void key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range);

#endif							/* INDEXTABLE_CONDITION_H */
