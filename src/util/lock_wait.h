/*-------------------------------------------------------------------------
 *
 * lock_wait.h
 *	  Waits for the lock of a table and its partitions without having others wait behind it, and shows
 *	  that to users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOCK_WAIT_H
#define INDEXTABLE_LOCK_WAIT_H

#include "storage/lockdefs.h"

/* What waits for a lock: the view progress has the names of these numbers. */
typedef enum WaitingCommand
{
	NOT_WAITING,
	WAITING_CREATE,
	WAITING_CREATE_FEED,
	WAITING_ALTER,
	WAITING_BUILD,
	WAITING_REBUILD
} WaitingCommand;

/* One wait; the last two members are zero at first. */
typedef struct LockWait
{
	WaitingCommand command;
	Oid			table;			/* fact table */
	Oid			index;			/* index table; InvalidOid if it is still to
								 * be created */
	int64		waited;			/* ms so far */
	int			pause;			/* ms before it looks again who has the lock */
} LockWait;

extern void lock_politely(LockWait *wait, LOCKMODE mode);
extern bool lock_without_delaying_others(Oid relid, LOCKMODE mode);
extern void wait_for_lockers(LockWait *wait, Oid relid, LOCKMODE mode);
extern void show_lock_wait(const LockWait *wait, int64 phase);

#endif							/* INDEXTABLE_LOCK_WAIT_H */
