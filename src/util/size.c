/*-------------------------------------------------------------------------
 *
 * size.c
 *	  Measures tables for those who only look, without waiting for a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "lock.h"
#include "size.h"

static bool add_sizes(Oid relid, int64 *table_size, int64 *indexes_size);

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
	ListCell   *cell;

	*table_size = *indexes_size = 0;
	foreach(cell, tables)
	{
		if (!add_sizes(lfirst_oid(cell), table_size, indexes_size))
			return false;
	}
	return true;
}

/* add_sizes: does that for one of them, and adds up; leaves nothing locked */
static bool
add_sizes(Oid relid, int64 *table_size, int64 *indexes_size)
{
	Relation	rel;
	List	   *others;
	ListCell   *cell;
	bool		free;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(relid, AccessShareLock);
		return false;
	}
	others = RelationGetIndexList(rel);
	if (OidIsValid(rel->rd_rel->reltoastrelid))
		others = lappend_oid(others, rel->rd_rel->reltoastrelid);
	free = lock_tables_now(others, AccessShareLock);
	if (free)
	{
		*table_size += DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(relid)));
		*indexes_size += DatumGetInt64(DirectFunctionCall1(pg_indexes_size, ObjectIdGetDatum(relid)));
		foreach(cell, others)
			UnlockRelationOid(lfirst_oid(cell), AccessShareLock);
	}
	relation_close(rel, AccessShareLock);
	return free;
}
