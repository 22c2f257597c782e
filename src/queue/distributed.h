/*-------------------------------------------------------------------------
 *
 * distributed.h
 *	  Makes the queue of a distributed table, and queues rows of all its shards at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_H
#define INDEXTABLE_DISTRIBUTED_H

#include "../indextable.h"

extern void distribute_queue(FactDef *def, Oid queue);
extern void queue_all_rows(Oid fact, int64 number);

#endif							/* INDEXTABLE_DISTRIBUTED_H */
