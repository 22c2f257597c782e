/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  Collects operations on the index tables of a fact table until the end of the
 *	  statement, and writes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BATCH_H
#define INDEXTABLE_BATCH_H

#include "executor/tuptable.h"

#include "../entry/deltas.h"
#include "../entry/entries.h"
#include "../indextable.h"

extern void batch_init(void);
extern void batch_write_all(void);
extern void batch_at_end_of_transaction(void);
extern void batch_at_abort_of(SubTransactionId sub);
extern void batch_at_commit_to(SubTransactionId parent);
extern void batch_end_statement(Oid fact);
extern bool batch_lock(FactDef *fact);
extern OpList *batch_get_op_lists(FactDef *fact, MemoryContext *cxt);
extern Deltas **batch_get_deltas(FactDef *fact);
extern void batch_row_done(FactDef *fact);
extern void batch_add_row(FactDef *def, TupleTableSlot *row, bool insert, bool report, OpList *lists,
						  MemoryContext cxt);
extern void batch_write_lists(FactDef *def, OpList *lists, bool keep);
extern void batch_discard(Oid fact);
extern void batch_note_foreign(Oid fact, CommandId cid);
extern bool batch_foreign_since(Oid fact, CommandId cid);
extern bool batch_is_pending(Oid fact);
extern bool batch_any_pending(void);
extern bool batch_any_foreign(Oid fact);
extern void batch_note_version(Oid fact, CommandId cid);
extern bool batch_written_since(Oid fact, CommandId cid);

#endif							/* INDEXTABLE_BATCH_H */
