/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  Locks a table or its whole partition tree: with a timeout, without waiting, or
 *	  telling whether the lock is new.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "inherit.h"
#include "lock.h"
#include "subxact.h"

/* What request_lock() is to lock. */
typedef struct LockRequest
{
	Oid			relid;
	LOCKMODE	mode;
} LockRequest;

static void request_lock(void *arg);

/*
 * lock_with_timeout
 *		Locks a table and its partitions as lock_tree() does; returns false, and locks
 *		none of them, if one of the locks cannot be had within so many ms.
 *
 * After half of that time the server looks for a deadlock, which is also when
 * autovacuum gives way.
 */
bool
lock_with_timeout(Oid relid, LOCKMODE mode, int ms)
{
	LockRequest request = {relid, mode};
	int			nestlevel = NewGUCNestLevel();
	ErrorData  *error;

	set_config_option("lock_timeout", psprintf("%d", ms), PGC_SUSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	set_config_option("deadlock_timeout", psprintf("%d", ms / 2), PGC_SUSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	error = run_catching_errors(request_lock, &request);
	AtEOXact_GUC(false, nestlevel);
	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

static void
request_lock(void *arg)
{
	LockRequest *request = arg;

	lock_tree(request->relid, request->mode);
}

/* lock_newly: locks a table until the transaction ends; returns whether it did not hold this lock before */
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
	List	   *tables = list_with_partitions(relid);
	int			i;

	for (i = 0; i < list_length(tables); i++)
	{
		if (ConditionalLockRelationOid(list_nth_oid(tables, i), mode))
			continue;
		while (--i >= 0)
			UnlockRelationOid(list_nth_oid(tables, i), mode);
		return false;
	}
	return true;
}

/* unlock_tree: releases the locks of lock_tree_now() before the transaction ends; nothing was done under them */
void
unlock_tree(Oid relid, LOCKMODE mode)
{
	ListCell   *cell;

	foreach(cell, list_with_partitions(relid))
		UnlockRelationOid(lfirst_oid(cell), mode);
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
