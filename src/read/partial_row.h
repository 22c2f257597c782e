/*-------------------------------------------------------------------------
 *
 * partial_row.h
 *	  Makes rows of the fact table of entries, with those fields of the document that they have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARTIAL_ROW_H
#define INDEXTABLE_PARTIAL_ROW_H

#include "../indextable.h"

extern Field *field_in_document(IndexDef *def, AttrNumber attno);
extern bool fields_fit_together(Field *a, Field *b);
extern struct PartialRow *partial_row_begin(IndexDef *def, List *columns);
extern void partial_row_store(struct PartialRow *row, TupleTableSlot *entry, TupleTableSlot *slot);

#endif							/* INDEXTABLE_PARTIAL_ROW_H */
