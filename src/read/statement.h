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

/* Values: equal ones, two bounds, a prefix, those of a cursor, the page size. */
#define MAX_ARGS		(INDEX_MAX_KEYS + 2 + 1 + INDEX_MAX_KEYS + 1)

typedef struct PageQuery
{
	Lookup		lookup;
	IndexDef   *def;
	KeyRange	range;
	bool		descending;
	int			page_size;
	char	   *cursor;			/* NULL: the first page */
	CursorIdentity identity;
	bool		documents;
	bool		copies;			/* they are in the index table */

	Relation	index;			/* its primary key: open while the statement
								 * is made */
	AttrNumber *columns;		/* that are read */
	int			ncolumns;
	int			nfields;		/* so many of them make the entry */
	StringInfoData sql;
	bool		conditions;		/* it has some */
	int			nargs;
	Oid			types[MAX_ARGS];
	Datum		values[MAX_ARGS];
} PageQuery;

extern bool make_statement(PageQuery *query);

#endif							/* INDEXTABLE_STATEMENT_H */
