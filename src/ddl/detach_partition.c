/*-------------------------------------------------------------------------
 *
 * detach_partition.c
 *	  Deletes the entries of partitions of fact tables that a command is about to detach or
 *	  drop.
 *
 * DROP TABLE and DETACH PARTITION lock the parent of a partition in ACCESS EXCLUSIVE mode
 * until their transaction ends, and nobody reads or writes the fact table meanwhile.  To
 * delete the entries may take long.  So they are deleted before that lock is asked for, with
 * only the writers of the partition locked out, as DETACH PARTITION ... CONCURRENTLY does
 * it: see partition_ddl.c.  Until the commit everybody else sees the rows, and with any
 * snapshot the entries, too.  Nobody can write entries of these rows, as that takes a lock
 * on the partition that conflicts with ours.  Two commands that want the same parent are
 * kept apart by SHARE UPDATE EXCLUSIVE on it, which both ask for before they hold any other
 * lock on it: otherwise each would wait for the other to let it have the stronger one.
 *
 * To ask for a stronger lock while one holds others may end in a circle all the same: a
 * transaction that has read the fact table waits for us because it wants to write the
 * partition, or a unique key that an entry of the partition has had, and we wait for it.
 * Without index tables the command would have waited for its end.  So nobody may get an error
 * now.  We wait for short times only, at first for so short a time that it is us who find
 * the circle, since sessions look for one when they have waited for deadlock_timeout.  Then
 * all that was done is undone, which releases the locks, and is done again under the lock of
 * the command, which now is asked for first.  Sessions that only want to go on between two of
 * our attempts can do so.
 *
 * A partition of an index table that has entries of the leaving partition alone is truncated
 * instead, once the fact table is locked.  Its entries vanish for older snapshots, too; but so
 * do the rows, and the lock says that no session is left that has read the fact table.  A transaction
 * that has read the index table by its name alone is not to see a part of that, so the index
 * table is locked, too, with its partition.  If that cannot be had soon, the entries are deleted
 * as those of others are.  So they are if the parent is itself a partition: there may be readers
 * of the fact table then that have not locked its partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "storage/lmgr.h"
#include "utils/inval.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "ddl.h"

/* What delete_before_locking() is to do, and why it may have failed. */
typedef struct Attempt
{
	List	   *detaches;		/* of Detach * */
	bool		changed;		/* one of them is not what was known of it */
} Attempt;

static void delete_before_locking(void *arg);
static bool is_as_known(Detach *d);
static void delete_entries_of(Detach *d);
static List *tables_to_empty(Detach *d);
static void empty_partitions(Detach *d);

/*
 * prepare_detaches
 *		Deletes the entries of the partitions in a list of Detach, and locks them and their
 *		parents in ACCESS EXCLUSIVE mode, as a command is going to do.
 *
 * Another session may have changed what is known of them, while this one waited for its locks.
 * Then the result is false, nothing is deleted, and the caller has to look again.
 */
bool
prepare_detaches(List *detaches)
{
	Attempt		attempt = {detaches, false};
	ErrorData  *error;

	if (detaches == NIL)
		return true;
	error = run_catching_errors(delete_before_locking, &attempt);
	if (error == NULL)
		return true;
	if (!attempt.changed && error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	return !attempt.changed && detach_under_locks(detaches);
}

/*
 * detach_under_locks
 *		Prepares detaches as prepare_detaches() does, but asks for the locks of the command
 *		first, as the command itself does.
 */
bool
detach_under_locks(List *detaches)
{
	foreach_ptr(Detach, d, detaches)
	{
		LockRelationOid(d->parent, AccessExclusiveLock);
		lock_tree(d->partition, AccessExclusiveLock);
	}
	foreach_ptr(Detach, d, detaches)
	{
		if (!is_as_known(d))
			return false;
	}
	foreach_ptr(Detach, d, detaches)
	{
		delete_entries_of(d);
		if (lock_tables_now(tables_to_empty(d), AccessExclusiveLock))
			empty_partitions(d);
		else
			delete_entries_of_whole(d->root, d->partition, d->whole);
	}
	return true;
}

/*
 * delete_before_locking
 *		Does what prepare_detaches() does, and locks the parents in the end; fails in a
 *		deadlock, and if one has changed.
 */
static void
delete_before_locking(void *arg)
{
	Attempt    *attempt = arg;
	List	   *parents = NIL;
	List	   *partitions = NIL;
	List	   *to_empty = NIL;

	foreach_ptr(Detach, d, attempt->detaches)
	{
		/* The root is locked first, as everywhere. */
		if (d->root != d->parent)
			LockRelationOid(d->root, AccessShareLock);
		LockRelationOid(d->parent, ShareUpdateExclusiveLock);
		lock_tree_in_turns(d->partition, ShareRowExclusiveLock);
		attempt->changed = !is_as_known(d);
		if (attempt->changed)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" has changed while its lock was waited for", d->name->relname)));
		delete_entries_of(d);
		parents = list_append_unique_oid(parents, d->parent);
		partitions = lappend_oid(partitions, d->partition);
		to_empty = list_concat_unique_oid(to_empty, tables_to_empty(d));
	}
	wait_point("entries of a leaving partition are deleted");
	if (!lock_in_turns(parents, partitions, to_empty, AccessExclusiveLock))
	{
		foreach_ptr(Detach, d, attempt->detaches)
		{
			delete_entries_of_whole(d->root, d->partition, d->whole);
			d->whole = NIL;
		}
		(void) lock_in_turns(parents, partitions, NIL, AccessExclusiveLock);
	}
	foreach_ptr(Detach, d, attempt->detaches)
		empty_partitions(d);
}

/*
 * is_as_known
 *		Returns whether what is known of a partition is still so, now that it is locked.
 *
 * While this session waited, a name may have become that of another table, a partition or one
 * above it may have been attached or detached, and a table above it may have become a fact table.
 * From now on none of that happens: each takes a lock on the partition or on its parent that
 * conflicts with ours, and keeps it until its transaction ends.
 */
static bool
is_as_known(Detach *d)
{
	return RangeVarGetRelid(d->name, NoLock, true) == d->partition &&
		partition_parent(d->partition) == d->parent && root_to_detach_from(d->partition) == d->root;
}

/*
 * partition_parent
 *		Returns the table that a table is a partition of, or InvalidOid.
 *
 * The table need not be locked.  If another session detaches it at this moment, it is none; the
 * server's own function raises an internal error then.
 */
Oid
partition_parent(Oid relid)
{
	TransactionId detached;

	return tree_parent(relid, &detached);
}

/*
 * root_to_detach_from
 *		Returns the fact table that a table leaves if it is detached or dropped; InvalidOid: none.
 *
 * A partition that is being detached has no entries any more, unless an older version of this
 * library has left them.
 */
Oid
root_to_detach_from(Oid relid)
{
	Oid			root = registered_root(relid);

	return root == relid ? find_root_detached_from(relid) : root;
}

/* delete_entries_of: deletes the entries of a partition that is locked */
static void
delete_entries_of(Detach *d)
{
	d->whole = NIL;
	delete_entries_before_detach(d->root, d->partition, d->parent == d->root ? &d->whole : NULL);
}

/*
 * tables_to_empty
 *		Lists the partitions of index tables that are to be emptied, after their index tables.
 */
static List *
tables_to_empty(Detach *d)
{
	List	   *result = NIL;

	foreach_oid(relid, d->whole)
		result = list_append_unique_oid(result, index_table_of(relid));
	return list_concat(result, d->whole);
}

/*
 * empty_partitions
 *		Empties the partitions of index tables that have entries of a leaving partition alone,
 *		and are locked.
 */
static void
empty_partitions(Detach *d)
{
	foreach_oid(relid, d->whole)
		truncate_index_table(relid);
}

/*
 * delete_entries_before_detach
 *		Deletes the entries of a partition that is about to leave its fact table, or that was
 *		marked before and is about to be detached.  It is locked against writers.  For whole see
 *		update_entries_of_partition().
 *
 * Of a fact table in parts it has no rows.  Each part has partitions of its own, which leave it by
 * commands of their own: see place_follow_partition().
 */
void
delete_entries_before_detach(Oid root, Oid partition, List **whole)
{
	if (catalog_fact_in_use(root))
	{
		if (!place_has_parts(root))
			update_entries_of_partition(root, partition, false, whole);
		note_detaching(partition);
	}
	/* Sessions cache to which fact table the rows belong: see root_of(). */
	foreach_oid(relid, list_with_partitions(partition))
		CacheInvalidateRelcacheByRelid(relid);
}
