/*-------------------------------------------------------------------------
 *
 * page_search.h
 *	  Searches an index table for the entries of a page, as query() asks for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PAGE_SEARCH_H
#define INDEXTABLE_PAGE_SEARCH_H

#include "access/skey.h"
#include "access/stratnum.h"
#include "executor/tuptable.h"
#include "utils/rel.h"

#include "../entry/entry_scan.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "condition.h"
#include "fetch.h"
#include "page_cursor.h"

/* A comparison of columns of the order with values. */
typedef struct Comparison
{
	int			column;			/* the first of these columns, by its place in
								 * the order */
	int			n;				/* several are compared as a row */
	StrategyNumber strategy;
	Datum	   *values;
} Comparison;

/* A query for a page, and the search for its entries. */
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

	/* The search. */
	AttrNumber *columns;		/* an entry's columns */
	int			ncolumns;
	Datum		after[INDEX_MAX_KEYS];	/* the values of the cursor, by their
										 * place in the order */
	int			ncomparisons;	/* equal values, and where to begin and end */
	Comparison	comparisons[INDEX_MAX_KEYS + 2];
	ScanKeyData keys[INDEX_MAX_KEYS + 2];	/* the same as search keys */
	RowComparison rows[2];		/* has what they point to */
	EntryScan	scan;
	int			found;			/* so many entries of the page were read */
} PageQuery;

extern bool page_search_begin(PageQuery *query);
extern TupleTableSlot *page_search_next(PageQuery *query);
extern char *page_search_text(PageQuery *query);

#endif							/* INDEXTABLE_PAGE_SEARCH_H */
