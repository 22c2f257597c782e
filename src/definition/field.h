/*-------------------------------------------------------------------------
 *
 * field.h
 *	  Offers a definition's fields with their columns, types and casts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_H
#define INDEXTABLE_FIELD_H

#include "access/attnum.h"
#include "catalog/pg_attribute.h"
#include "utils/rel.h"

#include "../indextable.h"

extern char *field_as_written(Relation fact, FieldSpec *spec, RowExpression *expression);
extern List *stored_fields(Relation fact, List *texts);
extern List *definition_expressions(IndexDef *def);
extern List *parse_expressions(Relation fact, DefinitionRow *row, const char **column_names);
extern void make_field(IndexDef *def, int i, const char *text, AttrNumber attno, Relation fact,
					   Form_pg_attribute column, bool is_new, const char **column_names);

#endif							/* INDEXTABLE_FIELD_H */
