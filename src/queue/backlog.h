/*-------------------------------------------------------------------------
 *
 * backlog.h
 *	  Counts what is queued, and how fast that grows, and warns writers or slows them down
 *	  when it is too much.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BACKLOG_H
#define INDEXTABLE_BACKLOG_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "utils/rel.h"

#include "../catalog/fact_rows.h"
#include "../indextable.h"

/* Where the queue tables of a fact table ended at some time. */
typedef struct QueueEnds
{
	Oid			relid[2];		/* InvalidOid: not known */
	int64		bytes[2];
} QueueEnds;

/* What is queued for a fact table. */
typedef struct QueueCount
{
	int64		changes;
	TimestampTz oldest;			/* when the oldest change was made; DT_NOEND:
								 * there is none */
	int64		bytes;			/* the size of the queue tables */
} QueueCount;

extern TimestampTz queue_row_time(HeapTuple tuple);
extern void backlog_check(FactDef *def, Relation queue, HeapTuple last);
extern bool count_queue(FactTableRow *queue, QueueCount *count);
extern int64 queue_growth(Oid fact_table, QueueEnds *ends);
extern bool queue_of_index_table(Oid index_table, FactTableRow *queue);
extern void report_own_changes(Oid fact_table, bool can_drain);
extern bool wait_for_queue(FactTableRow *queue, int64 max_lag, int64 timeout);

#endif							/* INDEXTABLE_BACKLOG_H */
