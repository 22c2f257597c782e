/*-------------------------------------------------------------------------
 *
 * named_field.h
 *	  Writes fields of index tables, so that create() takes them, of paths and types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NAMED_FIELD_H
#define INDEXTABLE_NAMED_FIELD_H

#include "nodes/pg_list.h"

#include "../indextable.h"

extern char *path_text(List *steps);
extern char *field_text(FactDef *fact, const char *document, List *steps, Oid type);

#endif							/* INDEXTABLE_NAMED_FIELD_H */
