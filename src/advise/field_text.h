/*-------------------------------------------------------------------------
 *
 * field_text.h
 *	  Writes fields of index tables, so that create() takes them, of paths and types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_TEXT_H
#define INDEXTABLE_FIELD_TEXT_H

#include "nodes/pg_list.h"

#include "../indextable.h"

extern char *path_text(List *steps);
extern char *field_text(FactDef *fact, const char *document, List *steps, Oid type);

#endif							/* INDEXTABLE_FIELD_TEXT_H */
