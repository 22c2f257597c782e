/*-------------------------------------------------------------------------
 *
 * append.h
 *	  Collects the primary keys of changed rows, and appends them to the queue before the
 *	  transaction commits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_APPEND_H
#define INDEXTABLE_APPEND_H

#include "access/htup.h"
#include "access/xact.h"
#include "executor/tuptable.h"

#include "../indextable.h"

extern void queue_init(void);
extern void queue_before_commit(void);
extern void queue_at_end(bool committed);
extern void queue_at_abort_of(SubTransactionId sub);
extern void queue_before_subcommit(void);
extern void queue_at_commit_to(SubTransactionId parent);
extern void queue_collect(FactDef *def, Leaf *leaf, TupleTableSlot *row);
extern void queue_collect_key(FactDef *def, Leaf *leaf, Datum *key);
extern bool queue_append(FactDef *def, Oid queue, HeapTuple *rows, int n);
extern void queue_write(void);
extern bool queue_pending(Oid fact);
extern void queue_wake_at_commit(void);

#endif							/* INDEXTABLE_APPEND_H */
