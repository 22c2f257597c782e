/*-------------------------------------------------------------------------
 *
 * write_entry.h
 *	  Writes single entries into an open table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WRITE_ENTRY_H
#define INDEXTABLE_WRITE_ENTRY_H

#include "access/htup.h"

#include "entries.h"
#include "table_writer.h"

extern void flush_inserts(Writer *w);
extern void settle_insert(Writer *w, HeapTuple tuple);
extern void write_op(Writer *w, Op *op, bool alone, bool keep);

#endif							/* INDEXTABLE_WRITE_ENTRY_H */
