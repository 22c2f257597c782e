/*-------------------------------------------------------------------------
 *
 * page_range.h
 *	  Reads which entries a query pages through, and makes and reads the cursors that tell users as
 *	  text where a page ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PAGE_RANGE_H
#define INDEXTABLE_PAGE_RANGE_H

#include "executor/tuptable.h"
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

/* What a cursor belongs to, as hashes: an index table, and a query of it. */
typedef struct CursorIdentity
{
	uint64		index_table;
	uint64		query;
} CursorIdentity;

extern void key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range);
extern void cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity);
extern int	cursor_from(KeyRange *range);
extern Datum cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry);
extern void cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from,
						Datum *values);

#endif							/* INDEXTABLE_PAGE_RANGE_H */
