/*-------------------------------------------------------------------------
 *
 * shard_append.h
 *	  Appends to the queue of a shard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_APPEND_H
#define INDEXTABLE_SHARD_APPEND_H

#include "access/htup.h"
#include "utils/rel.h"

#include "../indextable.h"

extern void shard_find_queue(FactDef *def, Leaf *shard);
extern int64 next_queue_number(void);
extern void shard_append(Relation queue, HeapTuple *tuples, int n);

#endif							/* INDEXTABLE_SHARD_APPEND_H */
