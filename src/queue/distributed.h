/*-------------------------------------------------------------------------
 *
 * distributed.h
 *	  Makes the queue of a distributed table, queues rows of all its shards at once, and drains it
 *	  on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_H
#define INDEXTABLE_DISTRIBUTED_H

#include "../indextable.h"

extern void distribute_queue(FactDef *def, Oid queue);
extern int64 drain_all_nodes(Oid fact_table, int limit);
extern void queue_all_rows(Oid fact, int64 number);
extern void adopt_distributed(void);

#endif							/* INDEXTABLE_DISTRIBUTED_H */
