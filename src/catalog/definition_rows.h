/*-------------------------------------------------------------------------
 *
 * definition_rows.h
 *	  Reads and writes the catalog's definitions of index tables, and deletes what else the
 *	  catalog has of one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DEFINITION_ROWS_H
#define INDEXTABLE_DEFINITION_ROWS_H

#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "../indextable.h"

/* The values in the catalog and of users' arguments, by those in C; each list is ended by NULL. */
extern const char *const strategy_names[];
extern const char *const maintenance_names[];
extern const char *const mismatch_names[];
extern const char *const state_names[];

extern void catalog_insert(DefinitionRow *row, Relation fact);
extern void catalog_update(DefinitionRow *row, Relation fact);
extern void catalog_set_state(Oid index_table, IndexState state, const char *problem);
extern List *catalog_index_tables(void);
extern List *get_column_names_by_number(Relation rel);
extern List *catalog_read_definitions(Oid fact_table, Oid index_table);
extern DefinitionRow *stored_definition(Oid index_table);
extern bool is_building(Oid index_table);
extern List *catalog_read_unchecked_definitions(Oid fact_table, Oid index_table);
extern List *catalog_definitions(void);
extern bool catalog_is_current_version(void);
extern Oid	catalog_fact_of(Oid index_table);
extern bool is_async(DefinitionRow *row);
extern bool is_queued(DefinitionRow *row);
extern List *catalog_queued_definitions(Oid fact_table);
extern bool keeps_totals(DefinitionRow *row);
extern Oid	catalog_forget_index_table(Oid index_table);
extern void catalog_forget_definition(Oid index_table);
extern bool catalog_fact_in_use(Oid fact_table);
extern void catalog_count_skipped(Oid index_table, int64 entries);
extern void catalog_forget_skipped(Oid index_table);
extern void catalog_reassign_rows(Oid from, Oid to);
extern void catalog_forget_build(Oid index_table);
extern void catalog_forget_rejections(Oid index_table);
extern bool catalog_has_rejections(Oid index_table);
extern void invalidate_definitions(List *definitions, Oid fact, const char *why);
extern void queue_note_lost(FactDef *def);
pg_noreturn extern void queue_lost_error(FactDef *def);

#endif							/* INDEXTABLE_DEFINITION_ROWS_H */
