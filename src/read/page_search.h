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
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

#include "../entry/entry_scan.h"
#include "../indextable.h"
#include "../util/sql.h"
#include "condition.h"
#include "fetch.h"
#include "page_cursor.h"

/* A query for a page, and the search for its entries. */
typedef struct PageQuery
{
	Lookup		lookup;			/* fetches the documents */
	IndexDef   *def;
	KeyRange	range;
	bool		descending;		/* the order of the list of which this is a
								 * page */
	bool		backward;		/* the entries are read in descending order */
	int			page_size;
	char	   *cursor;			/* NULL: the first page, or the last one */
	CursorIdentity identity;

	/* The search. */
	Caller		caller;			/* while the owner searches */
	AttrNumber *columns;		/* an entry's columns */
	int			ncolumns;
	Bitmapset  *wanted;			/* columns that the scan reads */
	Datum		after[INDEX_MAX_KEYS];	/* the values of the cursor, by their
										 * place in the order */
	bool		resuming;		/* the search begins after them */
	int			key;			/* the number of the key that is searched for */
	int			nkeys;			/* equal values, and where to begin and end */
	ScanKeyData keys[INDEX_MAX_KEYS + 2];
	RowComparison rows[2];		/* has what they point to */
	EntryScan	scan;
	int			found;			/* so many entries of the page were read */
} PageQuery;

extern void page_search_as_owner(PageQuery *query);
extern bool page_search_begin(PageQuery *query);
extern void page_search_start(PageQuery *query);
extern TupleTableSlot *page_search_next(PageQuery *query);

#endif							/* INDEXTABLE_PAGE_SEARCH_H */
