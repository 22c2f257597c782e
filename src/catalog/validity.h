/*-------------------------------------------------------------------------
 *
 * validity.h
 *	  Decides which rows of the catalog are to be believed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VALIDITY_H
#define INDEXTABLE_VALIDITY_H

#include "access/tupdesc.h"

#include "../indextable.h"
#include "fact_rows.h"

extern bool definition_matches_tables(DefinitionRow *row);
extern bool find_queue_tables(FactTableRow *row, TupleDesc desc);
extern void queue_table_drop(Oid relid);

#endif							/* INDEXTABLE_VALIDITY_H */
