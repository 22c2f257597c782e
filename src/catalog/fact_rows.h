/*-------------------------------------------------------------------------
 *
 * fact_rows.h
 *	  Reads and writes the catalog's rows of fact tables, which name their queue tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_ROWS_H
#define INDEXTABLE_FACT_ROWS_H

#include "nodes/pg_list.h"

/* The columns of the catalog's table fact. */
enum
{
	FACT_FACT_TABLE = 1,
	FACT_QUEUE,
	FACT_SPARE,
	FACT_FEED,
	FACT_NATTS = FACT_FEED
};

/* The row of a fact table; it has queue tables if any of its index tables is maintained through the queue. */
typedef struct FactTableRow
{
	Oid			fact_table;
	Oid			queue;			/* the queue table in use, or InvalidOid */
	Oid			spare;			/* the other one */
	bool		feed;			/* the queue is a feed: another server takes
								 * from it */
} FactTableRow;

extern List *catalog_fact_tables(void);
extern List *catalog_fact_rows(void);
extern bool catalog_has_fact(Oid fact_table);
extern bool catalog_read_fact(Oid fact_table, FactTableRow *row);
extern List *catalog_queues(bool feeds);
extern bool catalog_is_feed(Oid fact_table);
extern void catalog_write_fact(FactTableRow *row);
extern void catalog_forget_fact(Oid fact_table);

#endif							/* INDEXTABLE_FACT_ROWS_H */
