/*-------------------------------------------------------------------------
 *
 * subxact.h
 *	  Runs in a subtransaction what may fail, and recovers from an error that ends a
 *	  transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SUBXACT_H
#define INDEXTABLE_SUBXACT_H

extern bool undoing_attempt;

extern bool push_missing_snapshot(void);
extern ErrorData *run_catching_errors(void (*run) (void *arg), void *arg);
extern ErrorData *run_catching_row_errors(void (*run) (void *arg), void *arg);
extern bool is_row_error(ErrorData *error);
extern bool is_conflict(ErrorData *error);
extern ErrorData *recover_from_error(MemoryContext cxt, bool (*is_news) (ErrorData *error, void *arg), void *arg);

#endif							/* INDEXTABLE_SUBXACT_H */
