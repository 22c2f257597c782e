/*-------------------------------------------------------------------------
 *
 * drain.h
 *	  Applies what is queued.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DRAIN_H
#define INDEXTABLE_DRAIN_H

#include "utils/rel.h"

#include "../indextable.h"
#include "batch_keys.h"
#include "reconcile.h"

typedef enum DrainLock
{
	DRAIN_WAIT,					/* for whoever else drains the queue */
	DRAIN_TRY					/* leave it to him */
} DrainLock;

/* So many changes may be queued when writers are kept out to drain them, if they can be had down to that. */
#define FEW_CHANGES			1000

extern bool with_queue_locked(Oid fact_table, DrainLock lock,
							  void (*work) (FactDef *def, Relation fact, void *arg), void *arg);
extern void drain_queue(Oid fact_table, int few);
extern void check_row_indexes(FactDef *def);
extern void apply_keys(Reconciliation *r);
extern bool drain_batch(Oid fact_table, int limit, DrainLock lock, DrainPosition *position,
						int64 *changes);

#endif							/* INDEXTABLE_DRAIN_H */
