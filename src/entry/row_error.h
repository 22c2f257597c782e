/*-------------------------------------------------------------------------
 *
 * row_error.h
 *	  Names the tables that an error about a row is about, in the fields that clients read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROW_ERROR_H
#define INDEXTABLE_ROW_ERROR_H

#include "../indextable.h"
#include "table_writer.h"

extern int	errindextable(IndexDef *def, Field *field);
extern void rethrow_duplicate(Writer *w, MemoryContext cxt);

#endif							/* INDEXTABLE_ROW_ERROR_H */
