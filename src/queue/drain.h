/*-------------------------------------------------------------------------
 *
 * drain.h
 *	  Applies what is queued to asynchronous index tables, and locks a queue against drains.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DRAIN_H
#define INDEXTABLE_DRAIN_H

#include "utils/rel.h"

#include "../indextable.h"
#include "batch_keys.h"
#include "reconcile.h"

/* What to do while another session drains the queue. */
typedef enum DrainLock
{
	DRAIN_WAIT,					/* wait until it has ended */
	DRAIN_TRY					/* leave the queue to it */
} DrainLock;

/*
 * Before writers are kept out to drain the rest of a queue, it is drained until at most
 * this many changes are left, if that can be reached.
 */
#define FEW_CHANGES			1000

extern bool with_queue_locked(Oid fact_table, DrainLock lock,
							  void (*work) (FactDef *def, Relation fact, void *arg), void *arg);
extern void drain_end(DrainPosition *position);
extern void drain_queue(Oid fact_table, int few);
extern void check_row_indexes(FactDef *def);
extern void apply_keys(Reconciliation *r);
extern bool drain_batch(Oid fact_table, int limit, DrainLock lock, DrainPosition *position,
						int64 *changes);

#endif							/* INDEXTABLE_DRAIN_H */
