/*-------------------------------------------------------------------------
 *
 * inherit.c
 *	  The partitions of a table, however deep: those there are now, and those that
 *	  a snapshot sees.
 *
 * Called by partition.c for whoever wants to know, and by drain.c and foreign.c
 * for a snapshot.
 *
 * A partition that DETACH CONCURRENTLY has marked is not one any more: from the
 * commit of the mark on the root does not show its rows, though it takes another
 * transaction, or FINALIZE later on, to undo the rest.  The server's functions
 * leave such a partition out or not, by whichever snapshot is the active one.
 * Here it is the snapshot that is named, and without one what is committed now.
 *
 * Why what is cached of partitions is as new as the snapshot of tree_snapshot().
 * A transaction is visible before it sends its invalidations, and lets go of its
 * locks only afterwards.  So whoever has waited for one of its locks, or has taken
 * a lock that conflicts with one after it was let go, has heard what it had to
 * tell.  What changes a table's columns, bounds or partitions locks the table, or
 * the one it is a partition of, against everybody; so does what changes the
 * definition of its index tables, against writers.  The caller has locked the
 * root, as a writer or reader does, before the snapshot is taken, and the tables
 * between it and the leaves are locked here: of what was done under such locks the
 * snapshot sees only what has been heard, and nothing is done while it is in use.
 *
 * Two commands are content with less, and can commit between lock and snapshot:
 * ATTACH PARTITION and DETACH PARTITION CONCURRENTLY, which lock each other out.  If
 * their lock is to be had at once, neither is under way, nor committing just now.
 * If not, it may be one that has committed, or anybody else.  All that they change
 * of the table is which partitions it has.  So that is read with the snapshot itself
 * from pg_inherits, and compared with what is cached.  If a partition is lacking, the
 * transaction that has attached it has not sent its invalidations, or they would
 * have been accepted: it still holds the partition against everybody, and is waited
 * for by way of that lock.  It has committed, and waits for nobody.  If there is one
 * too many, the cached list is made anew, which reads pg_inherits again; nobody needs
 * to be waited for.  It does not matter in which subtransaction it was done, or
 * whether it was prepared before.
 *
 * A leaf is locked when it is opened, and what is cached of it (leaf_of()) is made
 * anew where its definition has become stale.
 *
 * What is cached may be newer than the snapshot, as a partition may be attached
 * any time.  The drain gives its rows their entries, and does so again when it
 * comes to the keys that the attaching transaction has queued.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/pg_list.h"
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "inherit.h"

static bool lock_table_if_exists(Oid relid, LOCKMODE mode);
static List *children(Oid parent, Snapshot snapshot, bool detached);
static List *refresh_partition_list(Oid relid, Snapshot snapshot, List *inner);
static void compare_partition_list(Relation rel, Snapshot snapshot);
static List *list_minus(List *a, List *b);

/* list_with_partitions: a relation, and its partitions, which may be fact tables; not those that are being detached */
List *
list_with_partitions(Oid relid)
{
	if (!OidIsValid(relid))
		return NIL;
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		tree_of(relid, NULL, NoLock, false) : list_make1_oid(relid);
}

/* lock_leaves: the tables that hold the rows of a table, as a snapshot sees it, or NULL: now; locked */
List *
lock_leaves(Oid relid, Snapshot snapshot, LOCKMODE mode)
{
	List	   *result = NIL;
	ListCell   *cell;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relid);
	foreach(cell, tree_of(relid, snapshot, mode, false))
	{
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			result = lappend_oid(result, lfirst_oid(cell));
	}
	return result;
}

/* foreign_leaves: those of them that are on other servers, not locked */
List *
foreign_leaves(Oid relid)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, list_with_partitions(relid))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			result = lappend_oid(result, lfirst_oid(cell));
	}
	return result;
}

/*
 * tree_of
 *		A table and its partitions, parents first, those of one parent by OID; locked,
 *		all but the table itself.  As a snapshot sees it, or NULL: as it is now.  With
 *		detached those are included that are being detached.
 */
List *
tree_of(Oid relid, Snapshot snapshot, LOCKMODE mode, bool detached)
{
	List	   *result = list_make1_oid(relid);
	ListCell   *cell;
	ListCell   *inner;

	/* The list grows. */
	foreach(cell, result)
	{
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			continue;
		foreach(inner, children(lfirst_oid(cell), snapshot, detached))
		{
			if (lock_table_if_exists(lfirst_oid(inner), mode))
				result = lappend_oid(result, lfirst_oid(inner));
		}
	}
	return result;
}

/* lock_table_if_exists: false if a relation is gone by then */
static bool
lock_table_if_exists(Oid relid, LOCKMODE mode)
{
	if (mode == NoLock)
		return true;
	LockRelationOid(relid, mode);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		return true;
	UnlockRelationOid(relid, mode);
	return false;
}

/* children: the partitions of a table, not theirs, by OID */
static List *
children(Oid parent, Snapshot snapshot, bool detached)
{
	Relation	rel = table_open(InheritsRelationId, AccessShareLock);
	List	   *result = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(parent));

	/*
	 * Without a snapshot the server takes a new one for this catalog, each
	 * time.
	 */
	scan = systable_beginscan(rel, InheritsParentIndexId, true, snapshot, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		if (detached || !form->inhdetachpending)
			result = lappend_oid(result, form->inhrelid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(result, list_oid_cmp);
	return result;
}

/*
 * tree_parent
 *		The table that one is a partition of; InvalidOid: none.  If it is being
 *		detached, *detached is the transaction that has marked it, otherwise invalid.
 */
Oid
tree_parent(Oid relid, TransactionId *detached)
{
	Oid			result = InvalidOid;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	*detached = InvalidTransactionId;
	if (!get_rel_relispartition(relid))
		return InvalidOid;
	rel = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		result = form->inhparent;
		if (form->inhdetachpending)
			*detached = HeapTupleHeaderGetXmin(tuple->t_data);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * tree_snapshot
 *		The latest snapshot, registered; what is cached of the partitions of a table
 *		is as new, for as long as the transaction lasts.  The table is locked.
 */
Snapshot
tree_snapshot(Relation root)
{
	List	   *inner = list_make1_oid(RelationGetRelid(root));
	Snapshot	snapshot;

	for (;;)
	{
		int			n = list_length(inner);
		int			i;

		snapshot = RegisterSnapshot(GetLatestSnapshot());
		if (root->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			break;
		AcceptInvalidationMessages();
		PushActiveSnapshot(snapshot);
		for (i = 0; i < list_length(inner); i++)
			inner = refresh_partition_list(list_nth_oid(inner, i), snapshot, inner);
		PopActiveSnapshot();

		/*
		 * A table that was not locked when the snapshot was taken may have
		 * changed since.
		 */
		if (list_length(inner) == n)
			break;
		UnregisterSnapshot(snapshot);
	}
	list_free(inner);
	return snapshot;
}

/*
 * refresh_partition_list
 *		Has the cached list of a table's partitions be as new as the active snapshot;
 *		locks those that are partitioned themselves, and adds them to the list.
 */
static List *
refresh_partition_list(Oid relid, Snapshot snapshot, List *inner)
{
	Relation	rel = relation_open(relid, NoLock);
	PartitionDesc desc;
	int			i;

	if (!RecoveryInProgress() && ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
		UnlockRelationOid(relid, ShareUpdateExclusiveLock);
	else
		compare_partition_list(rel, snapshot);
	desc = RelationGetPartitionDesc(rel, true);
	for (i = 0; i < desc->nparts; i++)
		if (!desc->is_leaf[i] && !list_member_oid(inner, desc->oids[i]) &&
			lock_table_if_exists(desc->oids[i], AccessShareLock))
			inner = lappend_oid(inner, desc->oids[i]);
	relation_close(rel, NoLock);
	return inner;
}

/* compare_partition_list: the cached list with what the snapshot sees */
static void
compare_partition_list(Relation rel, Snapshot snapshot)
{
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	List	   *seen = children(RelationGetRelid(rel), snapshot, false);
	List	   *cached = NIL;
	ListCell   *cell;
	int			i;

	for (i = 0; i < desc->nparts; i++)
		cached = lappend_oid(cached, desc->oids[i]);
	list_sort(cached, list_oid_cmp);
	foreach(cell, list_minus(seen, cached))
	{
		LockRelationOid(lfirst_oid(cell), AccessShareLock);
		UnlockRelationOid(lfirst_oid(cell), AccessShareLock);
	}
	if (list_minus(cached, seen) != NIL)
		RelationCacheInvalidateEntry(RelationGetRelid(rel));
}

/* list_minus: what one list has and another lacks, both in order */
static List *
list_minus(List *a, List *b)
{
	List	   *result = NIL;
	ListCell   *cell;
	int			i = 0;

	foreach(cell, a)
	{
		while (i < list_length(b) && list_nth_oid(b, i) < lfirst_oid(cell))
			i++;
		if (i == list_length(b) || list_nth_oid(b, i) != lfirst_oid(cell))
			result = lappend_oid(result, lfirst_oid(cell));
	}
	return result;
}
