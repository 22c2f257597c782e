/*-------------------------------------------------------------------------
 *
 * subxact.h
 *	  Runs in a subtransaction, or in a transaction of its own, what may fail, and tells whose
 *	  subtransaction's abort undoes what was noted.
 *
 * What note_table() notes, the server forgets in time.  A file that notes more stores
 * GetCurrentSubTransactionId() with it, and asks belongs_to() whether it is undone when a
 * subtransaction aborts.  When one commits there is nothing to do.  The proof: each subtransaction
 * gets a greater number than all before it in the transaction, and what is noted bears the number
 * of the innermost one under way.  So what was noted before a subtransaction s has begun has a
 * smaller number than s.  Until s ends, only s and subtransactions within it note anything, with
 * the number of s or a greater one; and when s ends they have ended, too.  What those have noted
 * that have aborted is forgotten, and what the others have noted belongs to s.  Therefore just that
 * belongs to s which bears the number of s or a greater one.  If s aborts, it is undone; and if s
 * commits, it belongs to the subtransaction around s, whose number is smaller.  In a list it is
 * what comes last.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SUBXACT_H
#define INDEXTABLE_SUBXACT_H

#include "access/xact.h"
#include "nodes/pg_list.h"
#include "utils/resowner.h"

/*
 * belongs_to
 *		Returns whether what was noted in a subtransaction belongs to another, which is the
 *		current one or ends now.
 */
static inline bool
belongs_to(SubTransactionId noted_in, SubTransactionId sub)
{
	return noted_in >= sub;
}

extern void note_table(List **notes, Oid relid);
extern void forget_at_end(void *pointer);

extern bool undoing_attempt;

/* What end_attempt() restores. */
typedef struct AttemptState
{
	MemoryContext cxt;
	MemoryContext run_cxt;		/* of what is to fail or succeed as a whole */
	ResourceOwner owner;
	ErrorData  *error;			/* that has undone it */
} AttemptState;

extern void begin_attempt(AttemptState *attempt);
extern void undo_attempt(AttemptState *attempt);
extern ErrorData *end_attempt(AttemptState *attempt);

/*
 * CATCHING_ERRORS: executes statements, which must not return, in a subtransaction, and sets error to
 * the one that has undone them, in the current memory context, or to NULL.  What they allocate is freed.
 * Local variables that they set and that are read after an error are volatile, and no loop is around
 * it: as with PG_TRY(), compilers warn of variables that may have lost their values.
 */
#define CATCHING_ERRORS(error, ...) \
	do { \
		AttemptState attempt_; \
		\
		begin_attempt(&attempt_); \
		PG_TRY(); \
		{ \
			__VA_ARGS__; \
			ReleaseCurrentSubTransaction(); \
		} \
		PG_CATCH(); \
		{ \
			undo_attempt(&attempt_); \
		} \
		PG_END_TRY(); \
		(error) = end_attempt(&attempt_); \
	} while (0)

/*
 * CATCHING_ROW_ERRORS
 *		Executes statements as CATCHING_ERRORS() does, but throws an error that is not about
 *		one row.
 */
#define CATCHING_ROW_ERRORS(error, ...) \
	do { \
		CATCHING_ERRORS(error, __VA_ARGS__); \
		if ((error) != NULL && !is_row_error(error)) \
			ReThrowError(error); \
	} while (0)

/*
 * CATCHING_FAILURES
 *		Executes statements as CATCHING_ERRORS() does, but throws an error by which this session is
 *		interrupted.  Code of others may raise any error: none of theirs is thrown.
 */
#define CATCHING_FAILURES(error, ...) \
	do { \
		CATCHING_ERRORS(error, __VA_ARGS__); \
		if ((error) != NULL && is_interruption(error)) \
			ReThrowError(error); \
	} while (0)

extern void release_empty_context(void);
extern bool push_missing_snapshot(void);
extern ErrorData *run_catching_errors(void (*run) (void *arg), void *arg);
extern ErrorData *run_catching_errors_at_commit(void (*run) (void *arg), void *arg);
extern ErrorData *run_catching_row_errors(void (*run) (void *arg), void *arg);
extern ErrorData *run_catching_failures(void (*run) (void *arg), void *arg);
extern bool is_row_error(ErrorData *error);
extern bool is_interruption(ErrorData *error);
extern bool is_conflict(ErrorData *error);
extern bool is_no_conflict(ErrorData *error, void *arg);
extern ErrorData *run_in_transaction(void (*run) (void *arg), void *arg,
									 bool (*is_news) (ErrorData *error, void *arg));

#endif							/* INDEXTABLE_SUBXACT_H */
