/*-------------------------------------------------------------------------
 *
 * fact_rows.c
 *	  Reads and writes the catalog's rows of fact tables, which name their queue tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "storage/lockdefs.h"

#include "catalog.h"

static void *read_fact_row(HeapTuple tuple, TupleDesc desc);

/*
 * catalog_fact_rows
 *		Lists the rows (FactTableRow *) of all fact tables, with and without index tables.
 */
List *
catalog_fact_rows(void)
{
	return catalog_rows("fact", NULL, 0, InvalidOid, read_fact_row);
}

/* catalog_fact_tables: lists the OIDs of all fact tables, with and without index tables */
List *
catalog_fact_tables(void)
{
	List	   *result = NIL;

	foreach_ptr(FactTableRow, row, catalog_fact_rows())
		result = lappend_oid(result, row->fact_table);
	return result;
}

/*
 * catalog_queues
 *		Lists the rows (FactTableRow *) of all fact tables that have a queue, with those that
 *		are feeds if so asked.
 */
List *
catalog_queues(bool feeds)
{
	List	   *result = NIL;

	foreach_ptr(FactTableRow, row, catalog_fact_rows())
	{
		if (OidIsValid(row->queue) && (feeds || !row->feed))
			result = lappend(result, row);
	}
	return result;
}

/* catalog_read_fact: reads the row of a fact table; returns false if there is none */
bool
catalog_read_fact(Oid fact_table, FactTableRow *row)
{
	List	   *rows = catalog_rows("fact", "fact_pkey", FACT_FACT_TABLE, fact_table, read_fact_row);

	if (rows != NIL)
		*row = *(FactTableRow *) linitial(rows);
	return rows != NIL;
}

/* read_fact_row: reads a row of the table fact; for catalog_rows() */
static void *
read_fact_row(HeapTuple tuple, TupleDesc desc)
{
	FactTableRow *row = palloc(sizeof(FactTableRow));
	Datum		values[FACT_NATTS];
	bool		isnull[FACT_NATTS];

	check_version(desc, FACT_NATTS);
	heap_deform_tuple(tuple, desc, values, isnull);
	row->fact_table = DatumGetObjectId(values[FACT_FACT_TABLE - 1]);
	row->queue = isnull[FACT_QUEUE - 1] ? InvalidOid : DatumGetObjectId(values[FACT_QUEUE - 1]);
	row->spare = isnull[FACT_SPARE - 1] ? InvalidOid : DatumGetObjectId(values[FACT_SPARE - 1]);
	row->feed = DatumGetBool(values[FACT_FEED - 1]);
	return row;
}

/* catalog_has_fact: returns whether our triggers have been put on a table */
bool
catalog_has_fact(Oid fact_table)
{
	FactTableRow row;

	return catalog_read_fact(fact_table, &row);
}

/* catalog_is_feed: returns whether a table has a feed */
bool
catalog_is_feed(Oid fact_table)
{
	FactTableRow row;

	return catalog_read_fact(fact_table, &row) && row.feed;
}

/* catalog_write_fact: inserts or replaces the row of a fact table */
void
catalog_write_fact(FactTableRow *row)
{
	Datum		values[FACT_NATTS];
	bool		isnull[FACT_NATTS] = {0};

	delete_by_oid("fact", "fact_pkey", FACT_FACT_TABLE, row->fact_table);
	values[FACT_FACT_TABLE - 1] = ObjectIdGetDatum(row->fact_table);
	values[FACT_QUEUE - 1] = ObjectIdGetDatum(row->queue);
	isnull[FACT_QUEUE - 1] = !OidIsValid(row->queue);
	values[FACT_SPARE - 1] = ObjectIdGetDatum(row->spare);
	isnull[FACT_SPARE - 1] = !OidIsValid(row->spare);
	values[FACT_FEED - 1] = BoolGetDatum(row->feed);
	insert_row("fact", values, isnull);
}

/* catalog_forget_fact: deletes the row of a fact table */
void
catalog_forget_fact(Oid fact_table)
{
	delete_by_oid("fact", "fact_pkey", FACT_FACT_TABLE, fact_table);
}
