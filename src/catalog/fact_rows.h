/*-------------------------------------------------------------------------
 *
 * fact_rows.h
 *	  Reads and writes the catalog's rows of fact tables and their queues.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_ROWS_H
#define INDEXTABLE_FACT_ROWS_H

#include "nodes/pg_list.h"

/* Columns of the table fact. */
enum
{
	FACT_FACT_TABLE = 1,
	FACT_QUEUE,
	FACT_SPARE,
	FACT_NATTS = FACT_SPARE
};

/* A fact table, with its queue if any index table is asynchronous. */
typedef struct FactTableRow
{
	Oid			fact_table;
	Oid			queue;
	Oid			spare;
} FactTableRow;

extern List *catalog_fact_tables(void);
extern List *catalog_fact_rows(void);
extern bool catalog_has_fact(Oid fact_table);
extern bool catalog_read_fact(Oid fact_table, FactTableRow *row);
extern List *catalog_queues(void);
extern void catalog_write_fact(FactTableRow *row);
extern void catalog_forget_fact(Oid fact_table);

#endif							/* INDEXTABLE_FACT_ROWS_H */
