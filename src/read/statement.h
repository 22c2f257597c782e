/*-------------------------------------------------------------------------
 *
 * statement.h
 *	  Writes the SQL statement that reads a page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_STATEMENT_H
#define INDEXTABLE_STATEMENT_H

#include "access/attnum.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "condition.h"
#include "fetch.h"
#include "page_cursor.h"

/* The values of a statement are equal ones, two bounds, a prefix, those of a cursor, and the page size. */
#define MAX_ARGS		(INDEX_MAX_KEYS + 2 + 1 + INDEX_MAX_KEYS + 1)

/* A query for a page, and the statement that reads it. */
typedef struct PageQuery
{
	Lookup		lookup;			/* fetches the documents */
	IndexDef   *def;
	KeyRange	range;
	bool		descending;
	int			page_size;
	char	   *cursor;			/* NULL: the first page */
	CursorIdentity identity;
	bool		documents;		/* documents are asked for */
	bool		copies;			/* documents are read from the index table */

	/* The statement. */
	Relation	index;			/* the primary key of the index table, open
								 * while the statement is written */
	AttrNumber *columns;		/* the columns that are read, */
	int			ncolumns;
	int			nfields;		/* of which the first so many are the entry's */
	StringInfoData sql;
	bool		conditions;		/* the statement has a condition already */
	int			nargs;
	Oid			types[MAX_ARGS];
	Datum		values[MAX_ARGS];
} PageQuery;

extern bool make_statement(PageQuery *query);

#endif							/* INDEXTABLE_STATEMENT_H */
