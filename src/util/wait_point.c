/*-------------------------------------------------------------------------
 *
 * wait_point.c
 *	  Stops a process at a chosen point, for tests of interleavings.
 *
 * It is compiled in only with -DINDEXTABLE_WAIT_POINTS, which servers in use are built
 * without.  While a test session holds the advisory lock of a point, every other session
 * that comes to the point waits there:
 *
 *	SELECT pg_advisory_lock(1765, hashtext('the name of the point'));
 *
 * In the same way a session leaves out a guard, so that a test sees what goes wrong without
 * it: a guard that no test has seen fail may as well not be there.
 *
 * This is a lock rather than one of the server's injection points, because 15 and 16
 * have none, and because the isolation tester recognizes a session that waits for a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lockdefs.h"
#include "storage/proc.h"

#include "wait_point.h"

#ifdef INDEXTABLE_WAIT_POINTS

/* The first of the two numbers of the advisory lock. */
#define LOCK_CLASS			1765

/* The lock of a point, or of a guard. */
static void
tag_of(LOCKTAG *tag, const char *name)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, LOCK_CLASS,
						 (uint32) DatumGetInt32(hash_any((const unsigned char *) name, strlen(name))), 2);
}

/*
 * wait_point
 *		Waits until no session holds the lock of the point.
 *
 * The lock is taken for the session rather than for the transaction, as a point may be in
 * the middle of a commit.  The lock_timeout of workers is too short for it.
 */
void
wait_point(const char *name)
{
	int			timeout = LockTimeout;
	LOCKTAG		tag;

	tag_of(&tag, name);
	LockTimeout = 0;
	(void) LockAcquire(&tag, ShareLock, true, false);
	LockTimeout = timeout;
	LockRelease(&tag, ShareLock, true);
}

/*
 * guard_is_left_out
 *		Tells whether a session of this node holds the lock of the guard.
 */
bool
guard_is_left_out(const char *name)
{
	LOCKTAG		tag;

	tag_of(&tag, name);
	if (LockAcquire(&tag, ShareLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, true);
	return false;
}

#endif							/* INDEXTABLE_WAIT_POINTS */
