/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  Takes locks on tables: with a timeout, on a whole partition tree, or only if the
 *	  table exists.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include <limits.h>
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "inherit.h"
#include "lock.h"
#include "subxact.h"

typedef struct LockRequest
{
	Oid			relid;
	LOCKMODE	mode;
} LockRequest;

/* lock_if_exists: false, without a lock, if the relation is gone */
bool
lock_if_exists(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		return true;
	UnlockRelationOid(relid, mode);
	return false;
}

static void
request_lock(void *arg)
{
	LockRequest *request = arg;

	lock_tree(request->relid, request->mode);
}

/*
 * lock_with_timeout
 *		False if a lock is not to be had for so many ms.  Half of them it takes to
 *		look for a deadlock, which is also when autovacuum gives way.
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

/* lock_newly: until the transaction ends; whether it had no such lock by now */
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

/* lock_tree: a table, and the partitions that can be written without it */
void
lock_tree(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		(void) tree_of(relid, NULL, mode, false);
}

/* lock_tree_now: the same without waiting; false, and none is locked, if one is not to be had */
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

/* unlock_tree: before the transaction ends, as nothing was done under the lock */
void
unlock_tree(Oid relid, LOCKMODE mode)
{
	ListCell   *cell;

	foreach(cell, list_with_partitions(relid))
		UnlockRelationOid(lfirst_oid(cell), mode);
}

/*
 * is_database_lock_awaited
 *		Whether somebody wants to be alone with a database, to drop, rename or copy
 *		it.
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
