/*-------------------------------------------------------------------------
 *
 * page_cursor.h
 *	  Where a page ends, as text for the user.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PAGE_CURSOR_H
#define INDEXTABLE_PAGE_CURSOR_H

#include "executor/tuptable.h"

#include "../indextable.h"
#include "condition.h"

/* What a cursor belongs to: an index table as it is now, and a query of it. */
typedef struct CursorIdentity
{
	uint64		index_table;
	uint64		query;
} CursorIdentity;

extern void cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity);
extern Datum cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry);
extern void cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from,
						Datum *values);

#endif							/* INDEXTABLE_PAGE_CURSOR_H */
