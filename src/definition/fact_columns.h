/*-------------------------------------------------------------------------
 *
 * fact_columns.h
 *	  Offers the columns of a fact table by name, which one holds the documents, and which
 *	  ones identify the rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_COLUMNS_H
#define INDEXTABLE_FACT_COLUMNS_H

#include "access/attnum.h"
#include "catalog/pg_attribute.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../indextable.h"

extern bool is_document_column(Form_pg_attribute att);
extern bool has_only_document(Relation fact);
extern AttrNumber named_column(Relation fact, const char *name, const char **column_names);
extern const char **get_stored_column_names(Relation fact, DefinitionRow *stored);
extern bool same_primary_key(FactDef *factdef, Relation fact, DefinitionRow *stored, const char **names);
extern char *document_column(Relation fact, const char *wanted);
extern List *stored_key(Oid fact);
extern bool resolve_row_key(FactDef *def, Relation fact, List *key, const char **names);
pg_noreturn extern void report_no_primary_key(Oid fact);
extern Oid	row_key_index(FactDef *def, Relation leaf);
extern void check_row_key(FactDef *def, Relation root);

#endif							/* INDEXTABLE_FACT_COLUMNS_H */
