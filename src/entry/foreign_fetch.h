/*-------------------------------------------------------------------------
 *
 * foreign_fetch.h
 *	  Collects many primary keys, and fetches the fact rows of those that are on other
 *	  servers all at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_FETCH_H
#define INDEXTABLE_FOREIGN_FETCH_H

#include "nodes/pg_list.h"

#include "foreign_scan.h"

typedef struct ForeignFetch ForeignFetch;

extern ForeignFetch *foreign_fetch_begin(RowRequest *request);
extern void foreign_fetch_add(ForeignFetch *fetch, Datum *key, bool local);
extern void foreign_fetch_run(ForeignFetch *fetch);
extern bool foreign_fetch_find(ForeignFetch *fetch, Datum *key, List **rows);
extern bool foreign_fetch_next(ForeignFetch *fetch, Datum **key, bool *local, List **rows);

#endif							/* INDEXTABLE_FOREIGN_FETCH_H */
