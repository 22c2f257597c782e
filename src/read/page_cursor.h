/*-------------------------------------------------------------------------
 *
 * page_cursor.h
 *	  Makes and reads cursors, which tell users as text where a page ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PAGE_CURSOR_H
#define INDEXTABLE_PAGE_CURSOR_H

#include "executor/tuptable.h"

#include "../indextable.h"
#include "condition.h"

/* What a cursor belongs to, as hashes: an index table, and a query of it. */
typedef struct CursorIdentity
{
	uint64		index_table;
	uint64		query;
} CursorIdentity;

extern void cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity);
extern int	cursor_from(KeyRange *range);
extern Datum cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry);
extern void cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from,
						Datum *values);

#endif							/* INDEXTABLE_PAGE_CURSOR_H */
