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
#include "../place/place.h"
#include "batch_keys.h"
#include "reconcile.h"

/* What to do while another session drains the queue. */
typedef enum DrainLock
{
	DRAIN_WAIT,					/* wait until it has ended */
	DRAIN_TRY					/* leave the queue to it */
} DrainLock;

/* A batch that is drained under the drain lock. */
typedef struct Drain
{
	const ChangeSource *source; /* NULL: the queue of the fact table */
	void	   *arg;			/* of the source */
	int64		limit;			/* so many rows are reconciled at once, and so
								 * many changes taken from the queue */
	Reconciliation rows;
	int64		n;				/* so many changes were taken */
	bool		again;			/* it is to be tried again soon */
} Drain;

/* A call of indextable.drain(). */
typedef struct DrainCall
{
	bool		all;			/* an error of one table is a warning */
	int			limit;			/* the size of batches */
	bool		reading;		/* other servers have been read from */
	int64		changes;		/* so many were applied */
} DrainCall;

/*
 * Before writers are kept out to drain the rest of a queue, it is drained until at most
 * this many changes are left, if that can be reached.
 */
#define FEW_CHANGES			1000

extern bool with_queue_locked(Oid fact_table, DrainLock lock,
							  void (*work) (FactDef *def, Relation fact, void *arg), void *arg);
extern bool drain_from(Oid fact_table, DrainLock lock, Drain *drain);
extern void drain_end(DrainPosition *position);
extern void drain_queue(Oid fact_table, int few);
extern void check_row_indexes(FactDef *def);
extern void apply_keys(Reconciliation *r);
extern bool drain_batch(Oid fact_table, int limit, DrainLock lock, DrainPosition *position,
						int64 *changes);

#endif							/* INDEXTABLE_DRAIN_H */
