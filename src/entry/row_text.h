/*-------------------------------------------------------------------------
 *
 * row_text.h
 *	  Writes primary keys as text, and rows as JSON, for the extension's own tables and
 *	  for users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROW_TEXT_H
#define INDEXTABLE_ROW_TEXT_H

#include "access/attnum.h"
#include "executor/tuptable.h"

#include "../indextable.h"

struct ArrayType;

extern Datum key_texts(FactDef *def, Datum *key);
extern void key_from_texts(FactDef *def, struct ArrayType *array, Datum *key, MemoryContext cxt);
extern Datum columns_to_jsonb(Oid owner, TupleTableSlot *slot, AttrNumber *columns, int n);

#endif							/* INDEXTABLE_ROW_TEXT_H */
