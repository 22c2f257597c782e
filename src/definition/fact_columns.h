/*-------------------------------------------------------------------------
 *
 * fact_columns.h
 *	  Offers the columns of a fact table by name, and which one holds the documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_COLUMNS_H
#define INDEXTABLE_FACT_COLUMNS_H

#include "access/attnum.h"
#include "catalog/pg_attribute.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../indextable.h"

extern bool is_document_column(Form_pg_attribute att);
extern bool has_only_document(Relation fact);
extern AttrNumber named_column(Relation fact, const char *name, const char **column_names);
extern const char **get_stored_column_names(Relation fact, DefinitionRow *stored);
extern bool same_primary_key(FactDef *factdef, Relation fact, DefinitionRow *stored, const char **names);
extern char *document_column(Relation fact, const char *wanted);

#endif							/* INDEXTABLE_FACT_COLUMNS_H */
