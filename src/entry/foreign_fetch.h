/*-------------------------------------------------------------------------
 *
 * foreign_fetch.h
 *	  The rows of many keys, in their order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_FETCH_H
#define INDEXTABLE_FOREIGN_FETCH_H

#include "nodes/pg_list.h"

#include "foreign_scan.h"

typedef struct ForeignFetch ForeignFetch;

extern ForeignFetch *foreign_fetch_begin(RowRequest *request);
extern void foreign_fetch_add(ForeignFetch *gather, Datum *key, bool here);
extern void foreign_fetch_run(ForeignFetch *gather);
extern bool foreign_fetch_find(ForeignFetch *gather, Datum *key, List **rows);
extern bool foreign_fetch_next(ForeignFetch *gather, Datum **key, bool *here, List **rows);

#endif							/* INDEXTABLE_FOREIGN_FETCH_H */
