/*-------------------------------------------------------------------------
 *
 * lock_wait.c
 *	  Waits for the lock of a table and its partitions without making others wait behind it, and
 *	  shows that to users.
 *
 * A session that asks for a lock that others hold makes all wait that come later and conflict with
 * it.  So the lock is asked for during LOCK_TIMEOUT at most.  If others have it longer, it is not
 * asked for, but the end of their transactions is waited for, as CREATE INDEX CONCURRENTLY does,
 * and nobody waits behind that.
 *
 * The wait is cut into slices.  Each looks for a deadlock early, and no two looks are further apart
 * than deadlock_timeout: as with lock_in_turns(), this session is the one that finds it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "inherit.h"
#include "lock.h"
#include "lock_wait.h"
#include "sleep.h"
#include "subxact.h"
#include "while_set.h"

/*
 * How often lock_without_delaying_others() looks whether a lock is free, and how many ms it
 * rests after each look.
 */
#define TRIES				20
#define REST				5

/* How many ms the first slice and the first pause last. */
#define FIRST_SLICE			20
#define FIRST_PAUSE			10

/*
 * The parameter of the server's report of progress, which CREATE INDEX leaves unused, that has
 * the WaitingCommand.
 */
#define PROGRESS_WAITING_COMMAND	(PGSTAT_NUM_PROGRESS_PARAM - 1)

/* Transactions whose end is waited for. */
typedef struct Lockers
{
	VirtualTransactionId *vxids;
	int			n;
	int			ended;			/* number of those, from the first one on,
								 * that have ended */
} Lockers;

static void wait_for_ends(void *arg);
static bool wait_for_slice(LockWait *wait, Lockers *lockers, int ms);
static Lockers list_lockers(Oid relid, LOCKMODE mode);
static int	time_left(const LockWait *wait);

/*
 * lock_politely
 *		Locks the table of a wait and its partitions; raises the errors of a deadlock and of lock_timeout,
 *		which limits the whole wait.
 */
void
lock_politely(LockWait *wait, LOCKMODE mode)
{
	show_lock_wait(wait, PROGRESS_CREATEIDX_PHASE_WAIT_1);
	while (!lock_with_timeout(wait->table, mode))
		wait_for_lockers(wait, wait->table, mode);
	pgstat_progress_end_command();
}

/*
 * lock_without_delaying_others
 *		Locks a table and its partitions; returns false if that would hold up other sessions for more
 *		than a moment.
 */
bool
lock_without_delaying_others(Oid relid, LOCKMODE mode)
{
	for (int try = 0; try < TRIES && get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE; try++)
	{
		if (ConditionalLockRelationOid(relid, mode))
			return true;
		sleep_interruptibly(REST);
	}
	/* On a busy table another session always has a lock. */
	return lock_with_timeout(relid, mode);
}

/*
 * wait_for_lockers
 *		Waits, after lock_with_timeout() has failed, for the end of the transactions that have a lock on a
 *		table or its partitions that conflicts with the mode; raises an error if the wait lasts longer than
 *		lock_timeout allows.
 *
 * If the next attempt fails, too, there are always other transactions.  Then the pause before them
 * becomes longer.
 */
void
wait_for_lockers(LockWait *wait, Oid relid, LOCKMODE mode)
{
	int			longest = Max(DeadlockTimeout / 2, 1);
	Lockers		lockers;
	volatile bool ended;

	wait->waited += LOCK_TIMEOUT;	/* of the attempt that has failed */
	show_lock_wait(wait, PROGRESS_CREATEIDX_PHASE_WAIT_1);
	sleep_interruptibly(Min(wait->pause, time_left(wait)));
	wait->waited += wait->pause;
	wait->pause = Min(Max(2 * wait->pause, FIRST_PAUSE), longest);
	lockers = list_lockers(relid, mode);
	InvalidateCatalogSnapshotConditionally();	/* it would hold up vacuum */
	ended = wait_for_slice(wait, &lockers, Min(FIRST_SLICE, time_left(wait)));
	/* log_lock_waits tells of the first slice, and not of each. */
	while (!ended)
		WHILE_SET(log_lock_waits, false, ended = wait_for_slice(wait, &lockers, Min(longest, time_left(wait))));
	pfree(lockers.vxids);
}

/* wait_for_slice: waits for some ms; returns whether all of the transactions have ended */
static bool
wait_for_slice(LockWait *wait, Lockers *lockers, int ms)
{
	TimestampTz start = GetCurrentTimestamp();
	ErrorData  *error = run_with_lock_timeout(wait_for_ends, lockers, ms);

	wait->waited += TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
		ReThrowError(error);
	FreeErrorData(error);
	/* A subtransaction that is rolled back ends the report. */
	show_lock_wait(wait, PROGRESS_CREATEIDX_PHASE_WAIT_1);
	pgstat_progress_update_param(PROGRESS_WAITFOR_TOTAL, lockers->n);
	pgstat_progress_update_param(PROGRESS_WAITFOR_DONE, lockers->ended);
	return false;
}

/*
 * wait_for_ends
 *		Waits for the end of the transactions that have not ended yet; for
 *		run_with_lock_timeout().
 */
static void
wait_for_ends(void *arg)
{
	Lockers    *lockers = arg;

	for (; lockers->ended < lockers->n; lockers->ended++)
		(void) VirtualXactLock(lockers->vxids[lockers->ended], true);
	CHECK_FOR_INTERRUPTS();
}

/*
 * list_lockers
 *		Lists the transactions that have a lock on a table or its partitions that conflicts
 *		with the mode.
 */
static Lockers
list_lockers(Oid relid, LOCKMODE mode)
{
	Lockers		result = {.vxids = palloc(0)};

	foreach_oid(table, list_with_partitions(relid))
	{
		LOCKTAG		tag;
		VirtualTransactionId *vxids;
		int			n;

		SET_LOCKTAG_RELATION(tag, MyDatabaseId, table);
		vxids = GetLockConflicts(&tag, mode, &n);
		result.vxids = repalloc(result.vxids, sizeof(VirtualTransactionId) * (result.n + n));
		memcpy(result.vxids + result.n, vxids, sizeof(VirtualTransactionId) * n);
		result.n += n;
		pfree(vxids);
	}
	return result;
}

/*
 * time_left
 *		Returns how many ms lock_timeout still allows; raises the server's error if these are
 *		none.
 */
static int
time_left(const LockWait *wait)
{
	if (LockTimeout <= 0)
		return PG_INT32_MAX;
	if (wait->waited >= LockTimeout)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("canceling statement due to lock timeout")));
	return LockTimeout - wait->waited;
}

/*
 * show_lock_wait
 *		Shows in the view progress, and in pg_stat_progress_create_index, that a command
 *		waits.
 */
void
show_lock_wait(const LockWait *wait, int64 phase)
{
	const int	params[] = {PROGRESS_CREATEIDX_COMMAND, PROGRESS_CREATEIDX_INDEX_OID, PROGRESS_CREATEIDX_PHASE,
	PROGRESS_WAITING_COMMAND};
	const int64 values[] = {wait->command >= WAITING_BUILD ? PROGRESS_CREATEIDX_COMMAND_CREATE_CONCURRENTLY :
		PROGRESS_CREATEIDX_COMMAND_CREATE,
	wait->index, phase, wait->command};

	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, wait->table);
	pgstat_progress_update_multi_param(lengthof(params), params, values);
}
