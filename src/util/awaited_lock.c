/*-------------------------------------------------------------------------
 *
 * awaited_lock.c
 *	  Tells which lock this process has waited for in vain, whether it is free by now, and
 *	  who is in the way.
 *
 * The error by which lock_timeout ends a wait does not name the lock, and the server has
 * forgotten it by then.  Which locks a batch may have to wait for cannot be listed: besides
 * the tables there are their partitions, indexes and TOAST tables, rows, transactions, and
 * the server's catalogs.  So a timer looks several times in each lock_timeout what this
 * process is waiting for at that moment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "awaited_lock.h"
#include "sql.h"

/* How often the timer looks, in ms; workers wait for a lock three times as long. */
#define LOOK_INTERVAL		60

static bool registered = false;
static TimeoutId timer;
static AwaitedLock awaited;		/* the last lock that the timer has seen */

static void look(void);

/* awaited_lock_watch: begins to look which locks this process waits for, until awaited_lock_end() */
void
awaited_lock_watch(void)
{
	if (!registered)
		timer = RegisterTimeout(USER_TIMEOUT, look);
	registered = true;
	awaited.mode = NoLock;
	enable_timeout_every(timer, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LOOK_INTERVAL), LOOK_INTERVAL);
}

/* awaited_lock_end: ends that, and returns the last lock that was waited for */
AwaitedLock
awaited_lock_end(void)
{
	disable_timeout(timer, false);
	return awaited;
}

/*
 * look
 *		Notes what this process is waiting for, if it is; the timer calls it in a signal
 *		handler.
 *
 * As long as the process is waiting, the lock stays where it is in shared memory, because
 * it has this waiter.  If the lock is granted while it is copied, this process has it.
 */
static void
look(void)
{
	LOCK	   *lock = MyProc->waitLock;

	if (lock == NULL)
		return;
	awaited.tag = lock->tag;
	awaited.mode = MyProc->waitLockMode;
}

/* awaited_table_lock: returns what describes a lock on a table of this database */
AwaitedLock
awaited_table_lock(Oid relid, LOCKMODE mode)
{
	AwaitedLock lock = {.mode = mode};

	SET_LOCKTAG_RELATION(lock.tag, MyDatabaseId, relid);
	return lock;
}

/*
 * awaited_lock_is_free
 *		Returns whether a lock could be had at this moment; one that is not known is taken for
 *		free.
 *
 * This is called outside of transactions.  AccessExclusiveLock on a table would need a
 * transaction ID, for standbys.  So a weaker lock is tried in its place: who only reads is
 * not seen, and then waited for once more.
 */
bool
awaited_lock_is_free(const AwaitedLock *lock)
{
	LOCKMODE	mode = Min(lock->mode, ExclusiveLock);

	if (mode == NoLock)
		return true;
	if (LockAcquire(&lock->tag, mode, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	LockRelease(&lock->tag, mode, true);
	return true;
}

/*
 * awaited_lock_blockers
 *		Lists the processes that have, or wait for, a lock that conflicts with this one, as
 *		pg_blocking_pids() would if somebody asked for it now: 0 stands for a prepared
 *		transaction.
 */
List *
awaited_lock_blockers(const AwaitedLock *lock)
{
	List	   *pids = NIL;
	LockData   *data;
	LOCKMASK	conflicts;
	int			i;

	if (lock->mode == NoLock)
		return NIL;
	conflicts = GetLockTagsMethodTable(&lock->tag)->conflictTab[lock->mode];
	data = GetLockStatusData();
	for (i = 0; i < data->nelements; i++)
	{
		LockInstanceData *l = &data->locks[i];

		if (memcmp(&l->locktag, &lock->tag, sizeof(LOCKTAG)) == 0 && l->pid != MyProcPid &&
			((l->holdMask | (l->waitLockMode == NoLock ? 0 : LOCKBIT_ON(l->waitLockMode))) & conflicts) != 0)
			pids = list_append_unique_int(pids, l->leaderPid);
	}
	return pids;
}

/* awaited_lock_text: describes a lock as pg_locks and the server's log do, but with the name of a table */
char *
awaited_lock_text(const AwaitedLock *lock)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s on ", GetLockmodeName(lock->tag.locktag_lockmethodid, lock->mode));
	if (lock->tag.locktag_type == LOCKTAG_RELATION && lock->tag.locktag_field1 == MyDatabaseId &&
		get_rel_name(lock->tag.locktag_field2) != NULL)
		appendStringInfo(&text, "relation %s", quoted_relation(lock->tag.locktag_field2));
	else
		DescribeLockTag(&text, &lock->tag);
	return text.data;
}
