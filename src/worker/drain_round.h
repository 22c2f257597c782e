/*-------------------------------------------------------------------------
 *
 * drain_round.h
 *	  Drains one batch of each queue of a database, as a worker does again and again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DRAIN_ROUND_H
#define INDEXTABLE_DRAIN_ROUND_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

extern void round_init(const char *synchronous_commit);
extern bool find_queues(MemoryContext cxt, List **queues);
extern bool fold_round(bool *more);
extern bool drain_queues(List *queues, TimestampTz *next_try);
extern bool round_has_news(void);

#endif							/* INDEXTABLE_DRAIN_ROUND_H */
