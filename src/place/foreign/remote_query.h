/*-------------------------------------------------------------------------
 *
 * remote_query.h
 *	  Runs statements on other servers outside of the transactions of postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REMOTE_QUERY_H
#define INDEXTABLE_REMOTE_QUERY_H

#include "access/htup.h"
#include "access/tupdesc.h"

/* Is called for each row of the answer, in a memory context that is reset afterwards. */
typedef void (*remote_row_handler) (HeapTuple row, TupleDesc desc, void *arg);

extern void remote_query(Oid server, Oid owner, const char *sql, const char *columns,
						 remote_row_handler handler, void *arg);

#endif							/* INDEXTABLE_REMOTE_QUERY_H */
