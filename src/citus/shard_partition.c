/*-------------------------------------------------------------------------
 *
 * shard_partition.c
 *	  Fact tables that are partitioned and distributed: has index tables follow partitions that come and go, and
 *	  finds the partitions of shards.
 *
 * Each partition of a distributed table is a distributed table itself, with shards of the same bounds on the
 * same nodes.  On a node, the shards of the partitions are the partitions of the shard of the root, which is a
 * partitioned table like any other.  So the queue is that of the root.  Which shard a partition belongs to is
 * read in the server's own catalog (root_of_shard()): that of Citus may not tell of the shards of a new
 * partition yet, as it is written over another connection.
 *
 * What Citus 13.2 does, from trials by hand:
 *
 * 1. A row trigger of the root is on the root's shards, and the server clones it to their partitions, also
 *	  when Citus attaches them.  So a table has the trigger as long as it is a partition.
 *
 * 2. CREATE TABLE ... PARTITION OF, ATTACH, DETACH, DROP TABLE and TRUNCATE of a partition become commands for
 *	  each of its shards, where a new one is attached.  The nodes run them with event triggers.  What one
 *	  transaction does to shards with the same bounds it does over one connection, so that the keys which are
 *	  queued here become visible together with what the command does.  The rows of a local table that is
 *	  attached are copied to its shards before, when these have no triggers.  The fact table itself may be locked
 *	  meanwhile by another session of the transaction, on each node.  So nothing here opens it.
 *
 * 3. A move and a split copy all shards of the same bounds, those of the queue too, from one snapshot.  They
 *	  attach the partitions on the target when their rows have been copied, and later drop what is left at the
 *	  source.  Neither changes what rows the fact table has, and neither is done while Citus places the root's
 *	  shard there: it tells the nodes of the new places after the one and before the other.  So only partitions
 *	  of shards count that Citus has placed on this node.  There is one exception: a split that blocks writers
 *	  tells first, in the transaction that attaches the partitions (came_with_rows()).
 *
 * What partitions there are changes as if all rows of one changed: entries beside the root's shard are written or
 * deleted, as those of a partitioned table elsewhere are, and keys are queued, whether rows come or
 * go, and the drain finds out which rows are there.  It does so by a list of the partitions that is as new as
 * its snapshot (snapshot_of_shards()).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../maintain/maintain.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "citus.h"

static bool came_with_rows(Relation shard);
static void require_owner_of_shard(Oid shard);
static void note_truncated(Oid root);
static bool is_truncated_too(Oid root);
static bool is_followed(Oid partition);
static void note_followed(Oid partition);

/* The partitioned table that was truncated last, and by which statement and (sub)transaction. */
static Oid	truncated = InvalidOid;
static TimestampTz truncated_at = 0;
static LocalTransactionId truncated_in = InvalidLocalTransactionId;
static SubTransactionId truncated_within = InvalidSubTransactionId;

/* The partitions whose rows have been queued, or their entries deleted, for one TRUNCATE, and which that is. */
static List *followed = NIL;
static LocalTransactionId followed_in = InvalidLocalTransactionId;
static SubTransactionId followed_within = InvalidSubTransactionId;
static CommandId followed_by = InvalidCommandId;

/*
 * follow_partition_of_shard
 *		Queues the keys of all rows of a partition of a shard of a fact table, and writes or deletes their entries
 *		beside it, if the partition was attached, or is about to be detached, dropped or truncated.  It is locked
 *		as the command does it.
 */
void
follow_partition_of_shard(Oid partition, bool attached)
{
	Oid			root = root_of_shard(partition);
	Oid			table = root == partition ? InvalidOid : citus_table_of_part(root);
	FactTableRow row;
	Relation	rel;
	char	   *numbers;
	bool		follows;

	if (!OidIsValid(table) || !catalog_fact_in_use(table) || !catalog_read_fact(table, &row) ||
		!list_member_oid(citus_shards_here(table, &numbers), root))
		return;
	rel = relation_open(root, AccessShareLock);
	follows = !attached || !came_with_rows(rel);
	if (follows && catalog_queued_definitions(table) != NIL)
		queue_all_rows(rel, partition, queue_of_shard(root, table, row.queue), 0);
	relation_close(rel, NoLock);
	if (follows && catalog_has_transactional(table))
		update_entries_of_partition(root, partition, attached, NULL);
}

/*
 * came_with_rows
 *		Returns whether a shard has come to this node with all of its rows, and with their entries, in this
 *		transaction: a split that blocks writers tells the nodes of the new shards before it attaches the
 *		partitions, but copies rows before, in other transactions.
 */
static bool
came_with_rows(Relation shard)
{
	return citus_places_now(RelationGetRelid(shard)) &&
		!is_altered_here(shard, TableOidAttributeNumber);
}

/*
 * queue_truncated
 *		Queues the keys of all rows of a table that is about to be truncated, if it is a partition of a shard,
 *		unless the whole shard is.
 *
 * Of a table that the command names, the server tells before it has locked it, or has checked whether the user
 * may truncate it.  And it tells once more if it has heard news meanwhile, or if the table is named twice.
 */
void
queue_truncated(Oid relid)
{
	Oid			root = root_of_shard(relid);

	if (root == relid)
	{
		require_owner_of_shard(relid);
		if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
			note_truncated(relid);
		return;
	}
	if (!OidIsValid(citus_table_of_part(root)) || is_truncated_too(root) ||
		pg_class_aclcheck(relid, GetUserId(), ACL_TRUNCATE) != ACLCHECK_OK)
		return;
	LockRelationOid(relid, AccessExclusiveLock);
	if (root_of_shard(relid) != root || is_followed(relid))
		return;
	follow_partition_of_shard(relid, false);
	note_followed(relid);
}

/*
 * is_followed
 *		Returns whether a partition is about to be truncated for which this has been done already.  Once rows are
 *		written to it, there is another command.
 */
static bool
is_followed(Oid partition)
{
	if (followed_in != current_lxid() || followed_within != GetCurrentSubTransactionId() ||
		followed_by != GetCurrentCommandId(false))
	{
		list_free(followed);
		followed = NIL;
	}
	return list_member_oid(followed, partition);
}

/* note_followed: notes that index tables have followed a partition that is about to be truncated */
static void
note_followed(Oid partition)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	followed = lappend_oid(followed, partition);
	MemoryContextSwitchTo(old);
	followed_in = current_lxid();
	followed_within = GetCurrentSubTransactionId();
	followed_by = GetCurrentCommandId(false);
}

/*
 * require_owner_of_shard
 *		Raises an error if another role than the owner is about to truncate a shard of a fact table.
 *
 * Index tables are emptied by the trigger of the fact table, on another node.  Of a role that has no more than the
 * right to truncate it, nothing tells here that this was done: it may pretend to come from that node.  To queue
 * the keys of all rows would take locks that another session of the same transaction may hold.
 */
static void
require_owner_of_shard(Oid shard)
{
	Oid			table = owns_relation(shard, GetUserId()) ? InvalidOid : citus_table_of_part(shard);

	if (OidIsValid(table) && catalog_read_unchecked_definitions(table, InvalidOid) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of table \"%s\" to truncate it", get_rel_name(table)),
				 errdetail("Citus has distributed it, and it has index tables."),
				 errhint("Run SET ROLE %s; first.", quote_identifier(GetUserNameFromId(table_owner(table), false)))));
}

/* note_truncated: notes that a partitioned table is about to be truncated */
static void
note_truncated(Oid root)
{
	truncated = root;
	truncated_at = GetCurrentStatementStartTimestamp();
	truncated_in = current_lxid();
	truncated_within = GetCurrentSubTransactionId();
}

/*
 * is_truncated_too
 *		Returns whether this subtransaction has truncated a partitioned table in the statement that the client
 *		has sent.  Rows that are written afterwards have keys of their own.
 */
static bool
is_truncated_too(Oid root)
{
	return truncated == root && truncated_at == GetCurrentStatementStartTimestamp() &&
		truncated_in == current_lxid() && truncated_within == GetCurrentSubTransactionId();
}

/*
 * snapshot_of_shards
 *		Returns the latest snapshot, registered, with which shards of a fact table are read (ShardPair *).  What
 *		is cached of their partitions is at least as new: see fact/partition_list.c.
 */
Snapshot
snapshot_of_shards(FactDef *def, List *shards)
{
	List	   *partitioned = def->layout.partitioned ? shards : NIL;
	Snapshot	snapshot;

	foreach_ptr(ShardPair, pair, partitioned)
		LockRelationOid(pair->fact, AccessShareLock);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	foreach_ptr(ShardPair, pair, partitioned)
	{
		Relation	rel = relation_open(pair->fact, NoLock);

		refresh_partition_lists(rel);
		relation_close(rel, NoLock);
	}
	return snapshot;
}

/*
 * leaf_of_shard
 *		Returns the table that has the row with a primary key which belongs to a shard: that, or a partition of
 *		it, or InvalidOid.
 */
Oid
leaf_of_shard(FactDef *def, Oid shard, Datum *key)
{
	Relation	rel;
	Oid			result;

	if (!def->layout.partitioned)
		return shard;
	rel = relation_open(shard, NoLock);
	result = route_key(def, rel, key);
	relation_close(rel, NoLock);
	return result;
}
