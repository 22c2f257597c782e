/*-------------------------------------------------------------------------
 *
 * write_entry.h
 *	  Writes one entry: inserts, updates or deletes it, and settles whose a unique key
 *	  is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WRITE_ENTRY_H
#define INDEXTABLE_WRITE_ENTRY_H

#include "diff.h"
#include "table_writer.h"

extern void flush_inserts(Writer *w);
extern void write_op(Writer *w, Op *op, bool alone, bool keep);

#endif							/* INDEXTABLE_WRITE_ENTRY_H */
