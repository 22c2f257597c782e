/*-------------------------------------------------------------------------
 *
 * inherit.c
 *	  Lists the partitions of a table, however deep: those that exist now, or those
 *	  that a snapshot sees.
 *
 * A partition that DETACH PARTITION CONCURRENTLY has marked is no longer listed.  As soon
 * as the mark is committed, the partitioned table does not show its rows any more, though
 * another transaction, or FINALIZE later on, has to undo the rest.  In the server's
 * functions it depends on the active snapshot whether such a partition is left out.
 * Here the snapshot is a parameter; without one, what is committed now counts.
 *
 * This is why what is cached of partitions is as new as the snapshot of
 * tree_snapshot().  A transaction becomes visible before it sends its invalidations,
 * and it releases its locks only after that.  So a session that has waited for one of
 * these locks, or that has taken a conflicting lock after the release, has received
 * the invalidations.  A command that changes the columns, the bounds or the partitions
 * of a table locks the table, or the one that it is a partition of, in ACCESS EXCLUSIVE
 * mode.  A command that changes the definition of its index tables locks it in a mode
 * that conflicts with that of writers.  Before the snapshot is taken, the caller has
 * locked the root, as a writer or reader does, and the tables between the root and the
 * leaves are locked here.  So of the changes made under such locks the snapshot sees only
 * those whose invalidations have been received, and none are made while it is in use.
 *
 * Two commands make do with a weaker lock, and can commit between our lock and our
 * snapshot: ATTACH PARTITION and DETACH PARTITION CONCURRENTLY, which lock each other
 * out.  If their lock is free at this moment, neither is under way or in the middle of
 * its commit.  If it is not free, its holder may be one of them that has committed, or
 * any other command.  All that these two change of the table is which partitions it
 * has.  So the partitions are read from pg_inherits with the snapshot itself, and
 * compared with the cached list.
 *
 * If the cached list lacks a partition, the transaction that attached it has not sent
 * its invalidations yet, or they would have been accepted.  So it still holds its
 * ACCESS EXCLUSIVE lock on the partition, and we wait for it by asking for a lock
 * there.  This cannot be a deadlock: the transaction has committed, and waits for
 * nothing.  If the cached list has a partition too many, it is rebuilt, which reads
 * pg_inherits again, and no transaction needs to be waited for.  It does not matter in
 * which subtransaction the command was run, or whether the transaction was prepared
 * before.
 *
 * A leaf is locked when it is opened, and what is cached of it (leaf_of()) is made
 * anew where its definition has become stale.
 *
 * What is cached may be newer than the snapshot, as a partition may be attached at any
 * time.  The drain gives its rows their entries, and does so again when it comes to the
 * keys that the attaching transaction has queued.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "inherit.h"
#include "relation.h"

static bool has_unique_index(Oid relid);
static List *children(Oid parent, Snapshot snapshot, bool detached);
static List *refresh_partition_list(Oid relid, Snapshot snapshot, List *inner);
static void compare_partition_list(Relation rel, Snapshot snapshot);
static List *list_minus(List *a, List *b);

/* list_with_partitions: lists a table and its partitions without those that are being detached; locks none */
List *
list_with_partitions(Oid relid)
{
	if (!OidIsValid(relid))
		return NIL;
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		tree_of(relid, NULL, NoLock, false) : list_make1_oid(relid);
}

/*
 * lock_leaves
 *		Locks, to be read, and lists the tables that hold the rows of a table.
 *
 * These are the leaf partitions that the snapshot sees, or those that exist now if it
 * is NULL.  A table that is not partitioned is listed itself, and is not locked here.
 */
List *
lock_leaves(Oid relid, Snapshot snapshot)
{
	List	   *result = NIL;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relid);
	foreach_oid(table, tree_of(relid, snapshot, AccessShareLock, false))
	{
		if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
			result = lappend_oid(result, table);
	}
	return result;
}

/*
 * foreign_leaves
 *		Lists the partitions of a table, however deep, that are on other servers; locks none.
 *
 * The server allows none under a unique index.  That is looked up first, because a table
 * may have thousands of partitions, and few of those that are asked for have foreign ones.
 */
List *
foreign_leaves(Oid relid)
{
	List	   *result = NIL;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE && has_unique_index(relid))
		return NIL;
	foreach_oid(table, list_with_partitions(relid))
	{
		if (get_rel_relkind(table) == RELKIND_FOREIGN_TABLE)
			result = lappend_oid(result, table);
	}
	return result;
}

/*
 * foreign_table_in_use
 *		Returns a foreign table on one of these servers that this transaction has used, or
 *		InvalidOid.  The locks on foreign tables tell: they are held until it ends.
 */
Oid
foreign_table_in_use(List *servers)
{
	Relation	rel = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	Oid			result = InvalidOid;
	HeapTuple	tuple;

	while (!OidIsValid(result) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);

		if (list_member_oid(servers, form->ftserver) && is_locked_here(form->ftrelid))
			result = form->ftrelid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/* is_locked_here: returns whether this transaction has used a relation, and so has a lock on it until it ends */
bool
is_locked_here(Oid relid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	return lock_held_by_me(&tag);
}

/* has_unique_index: returns whether a table has a unique index that is valid, and so on all of its partitions */
static bool
has_unique_index(Oid relid)
{
	CatalogScan scan = catalog_scan_begin(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, relid, NULL);
	bool		found = false;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

		found |= index->indisunique && index->indisvalid;
	}
	catalog_scan_end(&scan);
	return found;
}

/*
 * tree_of
 *		Lists a table and its partitions, however deep, and locks all of them but the
 *		table itself, unless mode is NoLock.
 *
 * A parent comes before its partitions, and the partitions of one parent are in the
 * order of their OIDs.  They are those that the snapshot sees, or those that exist now
 * if it is NULL.  With detached, partitions that are being detached are included.
 */
List *
tree_of(Oid relid, Snapshot snapshot, LOCKMODE mode, bool detached)
{
	List	   *result = list_make1_oid(relid);

	/* The list grows. */
	foreach_oid(table, result)
	{
		if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
			continue;
		foreach_oid(child, children(table, snapshot, detached))
		{
			if (mode == NoLock || lock_if_exists(child, mode))
				result = lappend_oid(result, child);
		}
	}
	return result;
}

/* children: lists the direct partitions of a table in the order of their OIDs; see tree_of() */
static List *
children(Oid parent, Snapshot snapshot, bool detached)
{
	CatalogScan scan = catalog_scan_begin(InheritsRelationId, InheritsParentIndexId, Anum_pg_inherits_inhparent,
										  parent, snapshot);
	List	   *result = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		if (detached || !form->inhdetachpending)
			result = lappend_oid(result, form->inhrelid);
	}
	catalog_scan_end(&scan);
	list_sort(result, list_oid_cmp);
	return result;
}

/*
 * tree_parent
 *		Returns the table that a table is a partition of, or InvalidOid.
 *
 * Sets *detached to the transaction that has marked the partition if it is being
 * detached, and to InvalidTransactionId if it is not.
 */
Oid
tree_parent(Oid relid, TransactionId *detached)
{
	Oid			result = InvalidOid;
	CatalogScan scan;
	HeapTuple	tuple;

	*detached = InvalidTransactionId;
	if (!get_rel_relispartition(relid))
		return InvalidOid;
	scan = catalog_scan_begin(InheritsRelationId, InheritsRelidSeqnoIndexId, Anum_pg_inherits_inhrelid, relid, NULL);
	tuple = catalog_scan_next(&scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		result = form->inhparent;
		if (form->inhdetachpending)
			*detached = HeapTupleHeaderGetXmin(tuple->t_data);
	}
	catalog_scan_end(&scan);
	return result;
}

/*
 * tree_snapshot
 *		Returns the latest snapshot, registered, and sees to it that what is cached of
 *		a table's partitions is at least as new until the transaction ends.
 *
 * The caller has locked the table.  The file comment tells why this holds.
 */
Snapshot
tree_snapshot(Relation root)
{
	List	   *inner = list_make1_oid(RelationGetRelid(root));
	Snapshot	snapshot;

	for (;;)
	{
		int			n = list_length(inner);

		snapshot = RegisterSnapshot(GetLatestSnapshot());
		if (root->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			break;
		AcceptInvalidationMessages();
		PushActiveSnapshot(snapshot);
		for (int i = 0; i < list_length(inner); i++)
			inner = refresh_partition_list(list_nth_oid(inner, i), snapshot, inner);
		PopActiveSnapshot();

		/*
		 * A table that was not yet locked when the snapshot was taken may
		 * have changed since.
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
 *		Makes the cached list of a table's partitions as new as the snapshot, which is
 *		the active one; locks those that are partitioned themselves, and adds them to
 *		the list inner.
 */
static List *
refresh_partition_list(Oid relid, Snapshot snapshot, List *inner)
{
	Relation	rel = relation_open(relid, NoLock);
	PartitionDesc desc;

	if (!RecoveryInProgress() && ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
		UnlockRelationOid(relid, ShareUpdateExclusiveLock);
	else
		compare_partition_list(rel, snapshot);
	desc = RelationGetPartitionDesc(rel, true);
	for (int i = 0; i < desc->nparts; i++)
		if (!desc->is_leaf[i] && !list_member_oid(inner, desc->oids[i]) &&
			lock_if_exists(desc->oids[i], AccessShareLock))
			inner = lappend_oid(inner, desc->oids[i]);
	relation_close(rel, NoLock);
	return inner;
}

/*
 * compare_partition_list
 *		Compares the cached list of a table's partitions with those that the snapshot
 *		sees; waits for what the list lacks, and has a list with too many rebuilt.
 */
static void
compare_partition_list(Relation rel, Snapshot snapshot)
{
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	List	   *seen = children(RelationGetRelid(rel), snapshot, false);
	List	   *cached = NIL;

	for (int i = 0; i < desc->nparts; i++)
		cached = lappend_oid(cached, desc->oids[i]);
	list_sort(cached, list_oid_cmp);
	foreach_oid(relid, list_minus(seen, cached))
	{
		LockRelationOid(relid, AccessShareLock);
		UnlockRelationOid(relid, AccessShareLock);
	}
	if (list_minus(cached, seen) != NIL)
		RelationCacheInvalidateEntry(RelationGetRelid(rel));
}

/* list_minus: returns the OIDs of a that b lacks; both are in order */
static List *
list_minus(List *a, List *b)
{
	List	   *result = NIL;
	int			i = 0;

	foreach_oid(relid, a)
	{
		while (i < list_length(b) && list_nth_oid(b, i) < relid)
			i++;
		if (i == list_length(b) || list_nth_oid(b, i) != relid)
			result = lappend_oid(result, relid);
	}
	return result;
}
