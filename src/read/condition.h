/*-------------------------------------------------------------------------
 *
 * condition.h
 *	  Which entries a query pages through.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CONDITION_H
#define INDEXTABLE_CONDITION_H

#include "utils/jsonb.h"

#include "../indextable.h"

typedef struct Bound
{
	bool		given;
	bool		inclusive;
	Datum		value;
} Bound;

typedef struct KeyRange
{
	int			nequal;			/* the first key fields are equal ... */
	Datum		equal[INDEX_MAX_KEYS];	/* ... to these */
	Bound		lower;			/* of the next one */
	Bound		upper;
	char	   *prefix;			/* what its text begins with; NULL: anything */
	bool		empty;			/* a value is null, so that nothing matches */
} KeyRange;

extern void key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range);

#endif							/* INDEXTABLE_CONDITION_H */
