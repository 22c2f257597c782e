/*-------------------------------------------------------------------------
 *
 * named_table.h
 *	  Finds the index tables that users name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NAMED_TABLE_H
#define INDEXTABLE_NAMED_TABLE_H

#include "nodes/pg_list.h"

#include "../util/compat.h"
#include "definition_rows.h"

extern List *index_tables_of(Oid relid);
pg_noreturn extern void report_not_index_table(Oid relid);
extern DefinitionRow *required_definition(Oid index_table);
extern char *told_call(const char *function, Oid index_table);
extern char *told_activation(Oid index_table);
extern char *told_skip(Oid index_table);
extern char *told_refuse(Oid index_table);
extern char *told_unqueue(Oid fact);
extern char *told_drop(Oid fact);

#endif							/* INDEXTABLE_NAMED_TABLE_H */
