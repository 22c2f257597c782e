/*-------------------------------------------------------------------------
 *
 * drain_all.h
 *	  indextable.drain(): applies all that is queued here and in the feeds of other servers, and
 *	  folds tables of totals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DRAIN_ALL_H
#define INDEXTABLE_DRAIN_ALL_H

#include "nodes/pg_list.h"

#include "../queue/drain.h"

extern void drain_local_queue(Oid fact_table, DrainCall *call);
extern List *tables_of_totals(Oid fact_table);
extern int64 fold_if_free(Oid index_table, int64 limit);

#endif							/* INDEXTABLE_DRAIN_ALL_H */
