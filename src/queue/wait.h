/*-------------------------------------------------------------------------
 *
 * wait.h
 *	  Waits until asynchronous index tables have caught up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WAIT_H
#define INDEXTABLE_WAIT_H

#include "datatype/timestamp.h"

#include "../catalog/fact_rows.h"

extern bool queue_of_index_table(Oid index_table, FactTableRow *queue);
extern void report_own_changes(Oid fact_table, bool can_drain);
extern bool wait_for_queue(FactTableRow *queue, int64 max_lag, int64 timeout);

#endif							/* INDEXTABLE_WAIT_H */
