/*-------------------------------------------------------------------------
 *
 * distributed_backlog.h
 *	  Counts what is queued for a distributed fact table, on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_BACKLOG_H
#define INDEXTABLE_DISTRIBUTED_BACKLOG_H

#include "datatype/timestamp.h"

extern bool count_distributed_queue(Oid queue, int64 *changes, TimestampTz *oldest, int64 *bytes);

#endif							/* INDEXTABLE_DISTRIBUTED_BACKLOG_H */
