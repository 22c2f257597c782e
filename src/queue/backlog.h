/*-------------------------------------------------------------------------
 *
 * backlog.h
 *	  Counts what is queued, and warns writers or slows them down when it is too much.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BACKLOG_H
#define INDEXTABLE_BACKLOG_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "utils/rel.h"

#include "../indextable.h"

extern TimestampTz queue_row_time(HeapTuple tuple);
extern void backlog_check(FactDef *def, Relation queue, HeapTuple last);

#endif							/* INDEXTABLE_BACKLOG_H */
