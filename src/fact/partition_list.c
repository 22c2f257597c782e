/*-------------------------------------------------------------------------
 *
 * partition_list.c
 *	  Returns the partitions of a fact table as the server caches them, and sees to it that
 *	  what is cached is as new as it has to be.
 *
 * Which partition takes a row is found out with the server's partition descriptor, because
 * it has the bounds, too.  A list that is out of date does harm: the row of a queued key is
 * not found, counts as gone, and loses its entries for good, because the key is consumed.
 * Beside a default partition the row is looked for there.  So there are two promises, of
 * which the second rests on the first.
 *
 * 1. The list is as new as the news.  The server makes a descriptor from pg_inherits, and
 * looks the partitions up after that.  If the news of ATTACH PARTITION are heard in between,
 * they change nothing, as the table has no descriptor at that moment; and the one that is
 * just being made, without the new partition, is kept until there are other news of the
 * table.  A plain query of the session may have made it.  So a descriptor proves nothing by
 * itself.  Here a table is in a set as long as there are no news of it, and leaves the
 * set with the first news.  When it is put into the set, its descriptor is thrown away.
 * So the descriptor of a table in the set was made after the table was put there, and if the
 * table is still in the set afterwards, no news were heard while it was made.  The server
 * made it from pg_inherits as of a moment after all the news that were heard, and
 * transactions commit before they send their news.
 *
 * This is enough for code that looks for a row in a partition that it has locked as its writers
 * do, like the triggers.  The commands that attach or detach a partition, or one that it is
 * a partition of, lock writers out of it.  So the news of them were heard with the lock.
 *
 * 2. The list is as new as the snapshot of tree_snapshot().  A transaction becomes visible
 * before it sends its invalidations, and it releases its locks only after that.  So a
 * session that has waited for one of these locks, or that has taken a conflicting lock after
 * the release, has received the invalidations.  A command that changes the columns, the
 * bounds or the partitions of a table locks the table, or the one that it is a partition of,
 * in ACCESS EXCLUSIVE mode.  A command that changes the definition of its index tables locks
 * it in a mode that conflicts with that of writers.  Before the snapshot is taken, the caller
 * has locked the root, as a writer or reader does, and the tables between the root and the
 * leaves are locked here.  So of the changes made under such locks the snapshot sees only
 * those whose invalidations have been received, and none are made while it is in use.
 *
 * Two commands make do with a weaker lock, and can commit between our lock and our
 * snapshot: ATTACH PARTITION and DETACH PARTITION CONCURRENTLY, which lock each other
 * out.  If their lock is free at this moment, neither is under way or in the middle of
 * its commit.  If it is not free, its holder may be one of them that has committed, or
 * any other command.  All that these two change of the table is which partitions it has.
 * So the partitions are read from pg_inherits, as they are after the snapshot was taken,
 * and compared with the list.
 *
 * If the list lacks a partition, the transaction that attached it has not sent its
 * invalidations yet, or they would have been accepted.  So it still holds its ACCESS
 * EXCLUSIVE lock on the partition, and we wait for it by asking for a lock there.  This
 * cannot be a deadlock: the transaction has committed, and waits for nothing.  If the list
 * has a partition too many, it is made anew, which reads pg_inherits again, and no
 * transaction needs to be waited for.  Of a partition that is in both, the list has no
 * older bounds than the snapshot.  For if a transaction that the snapshot sees has attached it
 * with others, and has not sent its invalidations yet, then it still holds the lock.  So the
 * one that detached the partition before has released it, and the list was made after the
 * news of that, when the partition had the new bounds.  It does not matter in which
 * subtransaction the command was run, or whether the transaction was prepared before.
 *
 * A leaf is locked when it is opened, and what is cached of it (leaf_of()) is made
 * anew where its definition has become stale.
 *
 * The list may be newer than the snapshot, as a partition may be attached at any
 * time.  The drain gives its rows their entries, and does so again when it comes to the
 * keys that the attaching transaction has queued.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "fact.h"

static HTAB *current = NULL;	/* of Oid: partitioned tables that there were
								 * no news of since their descriptors were
								 * thrown away */

static void forget_current(Oid relid);
static List *refresh_lists(List *tables);
static void compare_partition_list(Relation rel);
static List *list_minus(List *a, List *b);

static ChangeListener listener = {.any_relation = forget_current};

/*
 * partition_list
 *		Returns the descriptor of the partitions of a fact table, or of a partition that is
 *		partitioned itself, as new as the news that this session has heard.  It lasts as long as
 *		the table is open.
 */
PartitionDesc
partition_list(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	PartitionDesc desc;
	bool		found;

	if (current == NULL)
	{
		listen_to_changes(&listener);
		current = hash_by_oid("indextable partitioned tables", 16, sizeof(Oid), NULL);
	}
	do
	{
		CHECK_FOR_INTERRUPTS();
		(void) hash_search(current, &relid, HASH_ENTER, &found);
		if (!found)
			RelationCacheInvalidateEntry(relid);
		desc = RelationGetPartitionDesc(rel, true);
		(void) hash_search(current, &relid, HASH_FIND, &found);
	} while (!found);
	return desc;
}

/*
 * forget_current
 *		Takes a table that there are news of out of the set, or all tables, if relid is
 *		InvalidOid.
 *
 * With debug_discard_caches the server says the latter whenever news might be heard, so that
 * no descriptor would be made without it, and partition_list() would not come to an end.  What
 * has changed is still told table by table.
 */
static void
forget_current(Oid relid)
{
	if (OidIsValid(relid) || debug_discard_caches == 0)
		(void) hash_forget(current, relid);
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
		inner = refresh_lists(inner);

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
 * refresh_partition_lists
 *		Sees to it that what is cached of a partitioned table's partitions is as new as any
 *		snapshot that was taken before.  The caller has locked the table.
 */
void
refresh_partition_lists(Relation root)
{
	list_free(refresh_lists(list_make1_oid(RelationGetRelid(root))));
}

/*
 * refresh_lists
 *		Makes the cached lists of the partitions of tables as new as what is committed now; locks
 *		those that are partitioned themselves, and adds them to the tables, for which it goes on.
 */
static List *
refresh_lists(List *tables)
{
	AcceptInvalidationMessages();
	for (int i = 0; i < list_length(tables); i++)
	{
		Oid			relid = list_nth_oid(tables, i);
		Relation	rel = relation_open(relid, NoLock);
		PartitionDesc desc;

		if (!RecoveryInProgress() && ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
			UnlockRelationOid(relid, ShareUpdateExclusiveLock);
		else
			compare_partition_list(rel);
		desc = partition_list(rel);
		for (int k = 0; k < desc->nparts; k++)
			if (!desc->is_leaf[k] && !list_member_oid(tables, desc->oids[k]) &&
				lock_if_exists(desc->oids[k], AccessShareLock))
				tables = lappend_oid(tables, desc->oids[k]);
		relation_close(rel, NoLock);
	}
	return tables;
}

/*
 * compare_partition_list
 *		Compares the cached list of a table's partitions with those that it has now;
 *		waits for what the list lacks, and has a list with too many made anew.
 */
static void
compare_partition_list(Relation rel)
{
	PartitionDesc desc = partition_list(rel);
	List	   *seen = tree_children(RelationGetRelid(rel), NULL, false);
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
