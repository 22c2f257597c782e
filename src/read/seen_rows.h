/*-------------------------------------------------------------------------
 *
 * seen_rows.h
 *	  Remembers rows whose entries were found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SEEN_ROWS_H
#define INDEXTABLE_SEEN_ROWS_H

#include "../indextable.h"

typedef struct SeenRows SeenRows;

extern SeenRows *seen_rows_begin(IndexDef *def, MemoryContext cxt);
extern bool seen_row(SeenRows *seen, TupleTableSlot *entry);

#endif							/* INDEXTABLE_SEEN_ROWS_H */
