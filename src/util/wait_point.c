/*-------------------------------------------------------------------------
 *
 * wait_point.c
 *	  Stops a process at a chosen point, for tests of interleavings.
 *
 * Compiled in only with -DINDEXTABLE_WAIT_POINTS, which no server in use has.
 * A test session that holds the advisory lock of a point stops whoever comes
 * to it:
 *
 *	SELECT pg_advisory_lock(1765, hashtext('the name of the point'));
 *
 * A lock rather than the server's injection points, because 15 and 16 have none,
 * and because the isolation tester recognizes who waits for a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lockdefs.h"

#include "wait_point.h"

#ifdef INDEXTABLE_WAIT_POINTS

#define LOCK_CLASS			1765

/*
 * wait_point
 *		Waits until nobody holds the lock of the point.  The lock is the session's,
 *		since a point may be in the middle of a commit.
 */
void
wait_point(const char *name)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, LOCK_CLASS,
						 (uint32) DatumGetInt32(hash_any((const unsigned char *) name, strlen(name))), 2);
	(void) LockAcquire(&tag, ShareLock, true, false);
	LockRelease(&tag, ShareLock, true);
}

#endif							/* INDEXTABLE_WAIT_POINTS */
