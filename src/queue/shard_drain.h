/*-------------------------------------------------------------------------
 *
 * shard_drain.h
 *	  Drains the queue of a distributed fact table, as far as it is on this node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_DRAIN_H
#define INDEXTABLE_SHARD_DRAIN_H

#include "utils/rel.h"

#include "../indextable.h"
#include "reconcile.h"

extern void wait_for_prepared(FactDef *def, bool all_nodes);
extern int	drain_shards(FactDef *def, Relation fact, int limit, void (*apply) (Reconciliation *r), bool *again);
extern void wait_for_prepared(FactDef *def, bool all_nodes);
extern List *prepared_transactions(FactDef *def, bool all_nodes);

#endif							/* INDEXTABLE_SHARD_DRAIN_H */
