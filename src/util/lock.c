/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  Locks a table or its whole partition tree: with a timeout, without waiting, or
 *	  telling whether the lock is new; or several tables that others lock in any order; or
 *	  what a relation is called.  Measures tables without waiting for a lock, and sleeps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/heapam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "inherit.h"
#include "lock.h"
#include "relation.h"
#include "sleep.h"
#include "sql.h"
#include "subxact.h"

/* How many ms to pause before a lock is tried again, and for how many ms lock_in_turns() tries. */
#define PAUSE				50
#define PATIENCE			10000

/* How many ms the first attempt of lock_in_turns() lasts. */
#define FIRST_TIMEOUT		20

/*
 * The number of attempts of lock_in_turns() that may fail because of tables that it can do
 * without.
 */
#define MAX_FAILURES		3

/* What request_lock() is to lock, in this order. */
typedef struct LockRequest
{
	List	   *tables;			/* without their partitions */
	List	   *trees;			/* with their partitions */
	List	   *others;			/* without their partitions */
	LOCKMODE	mode;
	bool		reached_others; /* all that comes before these was locked */
} LockRequest;

/* What lock_all() is to lock, and how far it has come. */
typedef struct LockAttempt
{
	const TableLock *locks;
	int			n;
	int			first;			/* the one to wait for without holding another */
	int			current;		/* the one that is being locked */
} LockAttempt;

/*
 * The time since locks were last released: it changes when a transaction ends and when a
 * subtransaction is rolled back.
 */
static uint64 lock_time = 1;

static ErrorData *try_lock(LockRequest *request, int ms);
static void request_lock(void *arg);
static void set_timeouts(int ms);
static void lock_all(void *arg);
static void lock_one(const TableLock *lock);
static bool add_sizes(Oid relid, int64 *table_size, int64 *indexes_size);

/*
 * lock_with_timeout
 *		Locks a table and its partitions as lock_tree() does; returns false, and locks
 *		none of them, if one of the locks cannot be had within LOCK_TIMEOUT.
 *
 * After half of that time the server looks for a deadlock, which is also when
 * autovacuum gives way.
 */
bool
lock_with_timeout(Oid relid, LOCKMODE mode)
{
	LockRequest request = {.trees = list_make1_oid(relid),.mode = mode};
	ErrorData  *error = try_lock(&request, LockTimeout > 0 ? Min(LockTimeout, LOCK_TIMEOUT) : LOCK_TIMEOUT);

	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

/*
 * lock_in_turns
 *		Locks tables, and trees with all their partitions.  The transactions that wait behind us
 *		are let through now and then, for some seconds; after that we wait plainly.  Raises the
 *		error of a deadlock, which is found soon: the first attempt lasts so short a time that
 *		nobody else finds it before.
 *
 * Others are tables that are to be locked together with these, if they can be had soon: if it is
 * they that are in use, others are not made to wait for long.  Then the result is false, none of
 * them is locked, and the tables and the trees may be unlocked, too.
 */
bool
lock_in_turns(List *tables, List *trees, List *others, LOCKMODE mode)
{
	LockRequest request = {.tables = tables,.trees = trees,.others = others,.mode = mode};
	int			patience = LockTimeout > 0 ? Min(LockTimeout, PATIENCE) : PATIENCE;
	int			failures = 0;

	for (int waited = 0; waited < patience; waited += LOCK_TIMEOUT + PAUSE)
	{
		ErrorData  *error = try_lock(&request, waited == 0 ? FIRST_TIMEOUT : LOCK_TIMEOUT);

		if (error == NULL)
			return true;
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			ReThrowError(error);
		FreeErrorData(error);
		if (request.reached_others && ++failures == MAX_FAILURES)
			return false;
		sleep_interruptibly(PAUSE);
	}
	request.others = NIL;
	request_lock(&request);
	return others == NIL;
}

/* lock_tree_in_turns: locks a table and its partitions in the same way */
void
lock_tree_in_turns(Oid relid, LOCKMODE mode)
{
	(void) lock_in_turns(NIL, list_make1_oid(relid), NIL, mode);
}

/*
 * try_lock
 *		Waits for a lock for some ms at most; returns the error that has ended the attempt, or
 *		NULL.
 */
static ErrorData *
try_lock(LockRequest *request, int ms)
{
	return run_with_lock_timeout(request_lock, request, ms);
}

/*
 * run_with_lock_timeout
 *		Runs a function in a subtransaction in which each lock is awaited for a number of ms at most;
 *		returns the error that has ended it, or NULL.
 *
 * It has to end with CHECK_FOR_INTERRUPTS(): see request_lock().
 */
ErrorData *
run_with_lock_timeout(void (*run) (void *arg), void *arg, int ms)
{
	int			nestlevel = NewGUCNestLevel();
	ErrorData  *error;

	set_timeouts(ms);
	error = run_catching_errors(run, arg);
	AtEOXact_GUC(false, nestlevel);
	return error;
}

/*
 * request_lock
 *		Asks for the locks of a request; run by run_catching_errors(), but for the last time.
 *
 * A lock that is granted just as the time is up leaves a cancellation behind.  It is noticed
 * here, and the request made again, as it would end the caller's statement.
 */
static void
request_lock(void *arg)
{
	LockRequest *request = arg;

	request->reached_others = false;
	foreach_oid(relid, request->tables)
		LockRelationOid(relid, request->mode);
	foreach_oid(relid, request->trees)
		lock_tree(relid, request->mode);
	request->reached_others = request->others != NIL;
	foreach_oid(relid, request->others)
		LockRelationOid(relid, request->mode);
	CHECK_FOR_INTERRUPTS();
}

/*
 * set_timeouts
 *		Limits a wait for a lock to some ms, and makes it look for a deadlock after half of
 *		that time.
 */
static void
set_timeouts(int ms)
{
	set_config_option("lock_timeout", psprintf("%d", ms), PGC_SUSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	set_config_option("deadlock_timeout", psprintf("%d", Max(ms / 2, 1)), PGC_SUSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
}

/*
 * lock_all_in_turns
 *		Locks several tables, of which other sessions may hold one and wait for another, in
 *		any order, and lets these go on.
 *
 * Only one of the tables is waited for plainly.  If another is not free soon then, all are
 * released, and that one is waited for.  Nobody waits for us so long meanwhile that the
 * server looks for a deadlock.  A table that this transaction had locked before stays
 * locked.  Where the tables are never free together, as when transactions without end read
 * each of them, they are locked one after the other in the end.
 */
void
lock_all_in_turns(const TableLock *locks, int n)
{
	LockAttempt attempt = {locks, n, 0, 0};

	for (int patience = PATIENCE / LOCK_TIMEOUT; patience > 0; patience--)
	{
		ErrorData  *error = run_catching_errors(lock_all, &attempt);

		if (error == NULL)
			return;
		if (attempt.current == attempt.first ||
			(error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
			 error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED))
			ReThrowError(error);
		FreeErrorData(error);
		attempt.first = attempt.current;
	}
	for (; n > 0; n--)
		lock_one(locks++);
}

/*
 * lock_all
 *		Locks what a LockAttempt says; fails, with the GUCs restored, if a table other than
 *		the first is not free soon.
 */
static void
lock_all(void *arg)
{
	LockAttempt *attempt = arg;
	int			nestlevel;

	attempt->current = attempt->first;
	lock_one(&attempt->locks[attempt->first]);
	nestlevel = NewGUCNestLevel();
	set_timeouts(Max(Min(LOCK_TIMEOUT, DeadlockTimeout / 2), 1));
	for (int i = 0; i < attempt->n; i++)
	{
		if (i == attempt->first)
			continue;
		attempt->current = i;
		lock_one(&attempt->locks[i]);
		CHECK_FOR_INTERRUPTS(); /* see request_lock() */
	}
	AtEOXact_GUC(false, nestlevel);
}

static void
lock_one(const TableLock *lock)
{
	if (lock->with_partitions)
		lock_tree(lock->relid, lock->mode);
	else
		LockRelationOid(lock->relid, lock->mode);
}

/*
 * lock_newly
 *		Locks a table until the transaction ends; returns whether it did not hold this lock
 *		before.
 */
bool
lock_newly(Oid relid, LOCKMODE mode)
{
	LOCKTAG		tag;
	LockAcquireResult result;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	result = LockAcquire(&tag, mode, false, false);
	if (result != LOCKACQUIRE_ALREADY_CLEAR)
		AcceptInvalidationMessages();
	return result == LOCKACQUIRE_OK;
}

/*
 * lock_once
 *		Locks a table as lock_newly() does, unless *time tells that the lock is held already;
 *		sets *time, which is 0 at first.
 *
 * To ask the server each time would cost a row of a transaction a few percent.  A lock is
 * held until the transaction ends, or the subtransaction that has taken it is rolled back,
 * whichever comes first, or until it is unlocked.  At the first two, locks_are_released()
 * changes the time before the server releases the lock; nothing is locked in between, because
 * no table is written by then.  That a subtransaction is rolled back which has not taken the
 * lock, or commits, and so gives its locks to the one around it, makes no difference, apart
 * from one more question.  The same holds for the portal of a cursor or a nested statement,
 * which has its locks to itself: if it comes to its end they are given to the transaction,
 * and if it fails, they are released with the subtransaction that the error rolls back. The
 * third does not happen, as a table is unlocked only by code that has locked it again itself:
 * the server counts.
 *
 * So nobody else has changed what the lock guards, and there is no news of it to be heard.
 * That the index table was dropped, or something added to it, by our own transaction is
 * seen by the code that opens it.
 */
bool
lock_once(Oid relid, LOCKMODE mode, uint64 *time)
{
	bool		newly;

	if (*time == lock_time)
		return false;
	newly = lock_newly(relid, mode);
	*time = lock_time;
	return newly;
}

/* locks_are_released: makes lock_once() ask for all locks again */
void
locks_are_released(void)
{
	lock_time++;
}

/*
 * held_name
 *		Returns the qualified name of a relation, quoted, which is that of no other relation before the
 *		transaction ends: locks the relation and the name of its schema.
 *
 * A command that runs as the owner of the extension must reach the relation that is meant and no
 * other.  It would do to another what the caller is not allowed to do, and the server plans the
 * constraints and the partition key of a table, which may call functions of anybody, as the user who
 * alters it.
 */
char *
held_name(Oid relid)
{
	LockRelationOid(relid, AccessShareLock);
	(void) held_schema_name(get_rel_namespace(relid));
	return quoted_relation(relid);
}

/*
 * held_schema_name
 *		Returns the name of a schema, which nobody else can change before the transaction ends.
 *
 * The owner of a schema may rename it at any time, whatever tables in it are locked.  That takes no
 * other lock than that of the schema's row in the server's catalog.
 */
const char *
held_schema_name(Oid schema)
{
	TM_Result	result;
	char	   *name;

	do
	{
		CatalogScan scan = catalog_scan_begin(NamespaceRelationId, NamespaceOidIndexId, Anum_pg_namespace_oid,
											  schema, NULL);
		HeapTuple	tuple = catalog_scan_next(&scan);

		CHECK_FOR_INTERRUPTS();
		result = TM_Ok;
		if (HeapTupleIsValid(tuple))
		{
			HeapTupleData row = *tuple;
			TM_FailureData failure;
			Buffer		buffer;

			result = heap_lock_tuple(scan.rel, &row, GetCurrentCommandId(true), LockTupleKeyShare, LockWaitBlock,
									 false, &buffer, &failure);
			ReleaseBuffer(buffer);
		}
		catalog_scan_end(&scan);

		/*
		 * What was committed meanwhile is to be seen by the next scan, and
		 * wherever the name is looked up.
		 */
		AcceptInvalidationMessages();
	} while (result == TM_Updated || result == TM_Deleted);
	name = get_namespace_name(schema);
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist", schema)));
	return name;
}

/* lock_tree: locks a table and its partitions, which can be written without a lock on the table */
void
lock_tree(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		(void) tree_of(relid, NULL, mode, false);
}

/*
 * lock_tree_now
 *		Locks a table and its partitions without waiting; returns false, and locks none
 *		of them, if one of the locks is not free.
 */
bool
lock_tree_now(Oid relid, LOCKMODE mode)
{
	return lock_tables_now(list_with_partitions(relid), mode);
}

/* lock_tables_now: locks tables as lock_tree_now() does, without their partitions */
bool
lock_tables_now(List *tables, LOCKMODE mode)
{
	for (int i = 0; i < list_length(tables); i++)
	{
		if (ConditionalLockRelationOid(list_nth_oid(tables, i), mode))
			continue;
		while (--i >= 0)
			UnlockRelationOid(list_nth_oid(tables, i), mode);
		return false;
	}
	return true;
}

/* unlock_tree: releases such locks before the transaction ends; nothing was done under them */
void
unlock_tree(Oid relid, LOCKMODE mode)
{
	foreach_oid(table, list_with_partitions(relid))
		UnlockRelationOid(table, mode);
}

/*
 * is_database_lock_awaited
 *		Returns whether another session wants to have a database for itself, to drop,
 *		rename or copy it.
 */
bool
is_database_lock_awaited(Oid database)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, true);
	return false;
}

/*
 * measure_now
 *		Sets how many bytes tables have, without indexes but with TOAST, and how many their
 *		indexes; returns false if one of them is locked, or was dropped.
 *
 * The server's functions wait for a lock on the table and on each index: behind a transaction
 * that has dropped one, for as long as that lasts.
 */
bool
measure_now(List *tables, int64 *table_size, int64 *indexes_size)
{
	*table_size = *indexes_size = 0;
	foreach_oid(relid, tables)
	{
		if (!add_sizes(relid, table_size, indexes_size))
			return false;
	}
	return true;
}

/*
 * add_sizes
 *		Adds the sizes of one table, measured without waiting; leaves nothing locked; false:
 *		it cannot be locked.
 */
static bool
add_sizes(Oid relid, int64 *table_size, int64 *indexes_size)
{
	Relation	rel;
	List	   *others;
	bool		free;

	if (!open_if_free(relid, &rel) || rel == NULL)
		return false;
	others = RelationGetIndexList(rel);
	if (OidIsValid(rel->rd_rel->reltoastrelid))
		others = lappend_oid(others, rel->rd_rel->reltoastrelid);
	free = lock_tables_now(others, AccessShareLock);
	if (free)
	{
		*table_size += DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(relid)));
		*indexes_size += DatumGetInt64(DirectFunctionCall1(pg_indexes_size, ObjectIdGetDatum(relid)));
		foreach_oid(other, others)
			UnlockRelationOid(other, AccessShareLock);
	}
	relation_close(rel, AccessShareLock);
	return free;
}
