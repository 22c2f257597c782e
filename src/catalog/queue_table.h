/*-------------------------------------------------------------------------
 *
 * queue_table.h
 *	  Recognizes the queue tables that the catalog names, and drops them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_QUEUE_TABLE_H
#define INDEXTABLE_QUEUE_TABLE_H

#include "access/tupdesc.h"

#include "fact_rows.h"

/* The names of all queue tables begin with this. */
#define QUEUE_TABLE_PREFIX	"queue_"

extern bool find_queue_tables(FactTableRow *row, TupleDesc desc);
extern void queue_table_drop(Oid relid);

#endif							/* INDEXTABLE_QUEUE_TABLE_H */
