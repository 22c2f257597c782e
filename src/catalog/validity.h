/*-------------------------------------------------------------------------
 *
 * validity.h
 *	  Decides which definitions and queue tables in the catalog are to be believed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VALIDITY_H
#define INDEXTABLE_VALIDITY_H

#include "access/tupdesc.h"

#include "../indextable.h"
#include "fact_rows.h"

extern bool is_adopted(Oid index_table, Oid fact_table);
extern bool definition_matches_tables(DefinitionRow *row);

/* The names of all queue tables begin with this. */
#define QUEUE_TABLE_PREFIX	"queue_"

extern bool find_queue_tables(FactTableRow *row, TupleDesc desc);
extern void queue_table_drop(Oid relid);

#endif							/* INDEXTABLE_VALIDITY_H */
