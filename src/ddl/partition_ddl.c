/*-------------------------------------------------------------------------
 *
 * partition_ddl.c
 *	  Keeps index tables in step when a partition of a fact table or an index table
 *	  is created, attached or detached.
 *
 * When a partition of a fact table is attached or detached, the entries of its rows
 * are written or deleted in the same transaction: after the command, and before it.
 * detach_partition.c says how the latter is done.
 *
 * DETACH PARTITION ... CONCURRENTLY takes two transactions.  The first marks the
 * partition, and when it commits, the fact table does not show the partition's rows
 * any more, except to older snapshots.  The second waits for these and does the rest;
 * if it does not take place, because it was cancelled or the server stopped, FINALIZE
 * does its work.  The mark cannot be undone.
 *
 * So the first transaction takes care of the entries: they are deleted, or the rows
 * queued, before the command marks the partition, and both become visible together.
 * A snapshot sees both, rows and entries, or neither.  The partition is locked
 * against writers from before its rows are read until the mark is visible.  A session
 * that writes the partition after that, by its own name or with an older snapshot
 * through the fact table, writes rows that are not the fact table's, and the triggers
 * of the extension pass over them: see root_of() and check_not_detached().  There can
 * be no other rows with the same primary key: no other partition can have its bounds
 * until it is detached, and a default partition cannot have its rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "ddl.h"

/* How many ms to pause before the lock that locks a partition's writers out is tried again. */
#define PAUSE				50

static List *detached_partitions(Oid parent, CollectedATSubcmd *subcommand);
static void handle_detached_partition(Oid root, Oid partition, AlterTableCmd *cmd);
static void handle_attached_partition(Oid root, Oid partition);
static bool takes_two_transactions(AlterTableCmd *cmd);
static Oid	parent_to_detach_from(AlterTableStmt *stmt);
static void prepare_detach_in_two(AlterTableStmt *stmt, AlterTableCmd *cmd);
static bool lock_for_detach(Oid parent);
static void lock_detached(Oid partition, LOCKMODE mode);
static void handle_new_index_partition(Oid index_table, Oid relid);

/*
 * handle_attach_detach
 *		Writes or deletes entries after a partition of a fact table was attached
 *		or detached.
 */
void
handle_attach_detach(Oid parent, CollectedATSubcmd *subcommand)
{
	AlterTableCmd *cmd = castNode(AlterTableCmd, subcommand->parsetree);
	Oid			root = registered_root(parent);

	if (!catalog_has_fact(root))
	{
		/* Each part of a table has partitions of its own. */
		if (cmd->subtype == AT_AttachPartition)
			place_follow_partition(linitial_oid(attached_partitions(parent, subcommand)), true);
		return;
	}
	if (cmd->subtype != AT_AttachPartition)
	{
		foreach_oid(partition, detached_partitions(parent, subcommand))
			handle_detached_partition(root, partition, cmd);
		return;
	}
	foreach_oid(partition, attached_partitions(parent, subcommand))
	{
		/*
		 * The others were handled by the commands that have attached them, if
		 * they have triggers of ours.
		 */
		if (foreach_current_index(partition) == 0 || !triggers_intact_on(list_make1_oid(partition), root))
			handle_attached_partition(root, partition);
	}
}

/*
 * attached_partitions
 *		Returns the partition of a table that a subcommand has attached, in a list.  Before 16 the server
 *		does not tell which it is: it is among those that this transaction has attached, and the last of
 *		them, which comes first, unless users' event triggers have attached others since.
 */
List *
attached_partitions(Oid parent, CollectedATSubcmd *subcommand)
{
	CatalogScan scan;
	CommandId	when = FirstCommandId;
	List	   *result = NIL;
	HeapTuple	tuple;

	if (OidIsValid(subcommand->address.objectId))
		return list_make1_oid(subcommand->address.objectId);
	scan = catalog_scan_begin(InheritsRelationId, InheritsParentIndexId, Anum_pg_inherits_inhparent, parent, NULL);
	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Oid			relid = ((Form_pg_inherits) GETSTRUCT(tuple))->inhrelid;

		if (!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
			continue;
		if (HeapTupleHeaderGetCmin(tuple->t_data) < when)
		{
			result = lappend_oid(result, relid);
			continue;
		}
		when = HeapTupleHeaderGetCmin(tuple->t_data);
		result = lcons_oid(relid, result);
	}
	catalog_scan_end(&scan);
	return result;
}

/*
 * detached_partitions
 *		Lists the partition that a subcommand has detached, as attached_partitions() lists one that was
 *		attached.  Before 16 the list has all that this transaction has detached and that have triggers of
 *		ours, or of which it is noted that their entries are deleted: neither is so once they were handled.
 */
static List *
detached_partitions(Oid parent, CollectedATSubcmd *subcommand)
{
	CatalogScan scan;
	List	   *result = NIL;
	HeapTuple	tuple;

	if (OidIsValid(subcommand->address.objectId))
		return list_make1_oid(subcommand->address.objectId);
	scan = catalog_scan_begin(InheritsRelationId, InheritsParentIndexId, Anum_pg_inherits_inhparent, parent,
							  SnapshotAny);
	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Oid			relid = ((Form_pg_inherits) GETSTRUCT(tuple))->inhrelid;

		if (is_deleted_here(tuple->t_data) && (has_triggers_of_ours(relid, false) || is_detaching(relid)))
			result = list_append_unique_oid(result, relid);
	}
	catalog_scan_end(&scan);
	return result;
}

/*
 * handle_detached_partition
 *		Removes our triggers from a partition whose entries are deleted already: see
 *		prepare_detach().
 *
 * Users' event triggers fire meanwhile, and may not attach it until that is done.
 */
static void
handle_detached_partition(Oid root, Oid partition, AlterTableCmd *cmd)
{
	/* They may have dropped it, or attached it again, before. */
	if (get_rel_name(partition) == NULL || registered_root(partition) == root)
		return;
	if (!takes_two_transactions(cmd) && catalog_fact_in_use(root) && !is_detaching(partition))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("partition \"%s\" was detached with entries", get_rel_name(partition)),
				 errdetail("When the command began, its name was that of another table."),
				 errhint("The command might succeed if retried.")));
	/* Users' event triggers may have attached it elsewhere. */
	if (catalog_fact_in_use(registered_root(partition)))
		return;
	note_detaching(partition);
	triggers_remove_from(partition);
	forget_detaching(partition);
}

/*
 * handle_attached_partition
 *		Puts our triggers on a partition of a fact table, and writes its entries, unless event
 *		triggers of users drop or detach it meanwhile.
 */
static void
handle_attached_partition(Oid root, Oid partition)
{
	Relation	rel = relation_open(root, AccessShareLock);

	if (registered_root(partition) != root)
	{
		relation_close(rel, NoLock);
		return;
	}
	if (is_detaching(partition))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot attach partition \"%s\" while it is being detached", get_rel_name(partition)),
				 errhint("Check the event triggers of the database.")));
	lock_tree(partition, AccessExclusiveLock);
	check_partitions(rel);
	if (place_has_parts(root))
	{
		relation_close(rel, NoLock);
		return;
	}
	foreach_oid(relid, list_with_partitions(partition))
	{
		if (registered_root(relid) == root)
			triggers_install_on(relid, root);
	}
	CommandCounterIncrement();
	if (registered_root(partition) != root)
	{
		relation_close(rel, NoLock);
		return;
	}
	if (!catalog_fact_in_use(root))
	{
		relation_close(rel, NoLock);
		return;
	}
	check_row_key(definition_of_fact(rel, root), rel);
	if (elsewhere->feeds->of(root) != NIL)
		elsewhere->feeds->require_of(rel, partition);
	relation_close(rel, NoLock);
	if (elsewhere->leaves(partition) != NIL)
		elsewhere->snapshots->warn(root, elsewhere->feeds->of(root) != NIL);
	update_entries_of_partition(root, partition, true, NULL);

	/*
	 * An older snapshot sees the rows, but not their entries.  So the index
	 * tables' rows of the catalog are written anew, by which a look-up knows
	 * that the entries are newer than its snapshot.
	 */
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(root, InvalidOid))
		catalog_set_state(row->index_table, row->state, row->problem);
	CacheInvalidateRelcacheByRelid(root);
}

/*
 * takes_two_transactions
 *		Returns whether a command detaches a partition in more than one
 *		transaction, or completes that.
 */
static bool
takes_two_transactions(AlterTableCmd *cmd)
{
	return cmd->subtype == AT_DetachPartitionFinalize ||
		(cmd->subtype == AT_DetachPartition && castNode(PartitionCmd, cmd->def)->concurrent);
}

/*
 * prepare_detach
 *		Deletes the entries of a partition that a command is about to detach.
 *
 * If it is not yet known to be a partition of a fact table, it and its parent are locked first, as
 * the command is going to do it.  While this session waits for that, another may attach the
 * partition, make a fact table of the root, or give names to other tables.
 */
void
prepare_detach(AlterTableStmt *stmt, AlterTableCmd *cmd)
{
	Detach		detach = {.name = castNode(PartitionCmd, cmd->def)->name};
	Oid			locked_parent = InvalidOid;
	Oid			locked = InvalidOid;

	if (takes_two_transactions(cmd))
	{
		prepare_detach_in_two(stmt, cmd);
		return;
	}
	for (;;)
	{
		AcceptInvalidationMessages();
		detach.parent = parent_to_detach_from(stmt);
		detach.partition = RangeVarGetRelid(detach.name, NoLock, true);
		detach.root = root_to_detach_from(detach.partition);
		if (!OidIsValid(detach.parent))
			return;
		if (partition_parent(detach.partition) == detach.parent && catalog_fact_in_use(detach.root))
		{
			if (locked_parent == detach.parent ? detach_under_locks(list_make1(&detach)) :
				prepare_detaches(list_make1(&detach)))
				return;
		}
		else if (locked_parent == detach.parent && locked == detach.partition)
		{
			place_follow_partition(detach.partition, false);
			return;
		}
		else
		{
			locked_parent = detach.parent;
			LockRelationOid(locked_parent, AccessExclusiveLock);
			locked = RangeVarGetRelid(detach.name, AccessExclusiveLock, true);
		}
	}
}

/*
 * parent_to_detach_from
 *		Returns the table that a command detaches a partition from, or InvalidOid if it is going to
 *		say what is wrong: until then nothing is locked on behalf of a user who is not allowed to.
 */
static Oid
parent_to_detach_from(AlterTableStmt *stmt)
{
	Oid			parent = RangeVarGetRelid(stmt->relation, NoLock, true);

	return OidIsValid(parent) && owns_relation(parent, GetUserId()) &&
		get_rel_relkind(parent) == RELKIND_PARTITIONED_TABLE ? parent : InvalidOid;
}

/* prepare_detach_in_two: prepares a DETACH that takes two transactions, CONCURRENTLY or FINALIZE */
static void
prepare_detach_in_two(AlterTableStmt *stmt, AlterTableCmd *cmd)
{
	RangeVar   *name = castNode(PartitionCmd, cmd->def)->name;
	bool		finalize = cmd->subtype == AT_DetachPartitionFinalize;
	bool		is_partition;
	Oid			parent;
	Oid			partition;

	do
	{
		parent = parent_to_detach_from(stmt);
		if (!OidIsValid(parent) || !lock_for_detach(parent))
			return;

		/*
		 * No partition is attached or detached any more, but names may still
		 * change.
		 */
		partition = RangeVarGetRelid(name, NoLock, true);
		is_partition = partition_parent(partition) == parent;
		if (is_partition)
			lock_detached(partition, finalize ? AccessExclusiveLock : ShareRowExclusiveLock);
		else
			(void) RangeVarGetRelid(name, finalize ? AccessExclusiveLock : ShareUpdateExclusiveLock, true);
		AcceptInvalidationMessages();
	} while (parent_to_detach_from(stmt) != parent || RangeVarGetRelid(name, NoLock, true) != partition);
	if (is_partition)
		delete_entries_before_detach(registered_root(parent), partition, NULL);
}

/*
 * lock_for_detach
 *		Locks the parent of a partition as the command will; returns false if it does not belong to
 *		a fact table.
 *
 * The root is locked first, as everywhere.  If it is not a fact table now, it cannot
 * become one either: create() locks every partitioned table of the tree.
 */
static bool
lock_for_detach(Oid parent)
{
	Oid			root = registered_root(parent);

	if (catalog_has_fact(root))
		LockRelationOid(root, AccessShareLock);
	LockRelationOid(parent, ShareUpdateExclusiveLock);
	return catalog_has_fact(registered_root(parent));
}

/*
 * lock_detached
 *		Locks a partition as the command will, and locks its writers out.
 *
 * A session that writes for long must not hold up others, which would wait behind this one.  If
 * the user has set lock_timeout, that says how long to wait.
 */
static void
lock_detached(Oid partition, LOCKMODE mode)
{
	if (mode == AccessExclusiveLock || LockTimeout > 0)
		lock_tree(partition, mode);
	else
		while (!lock_with_timeout(partition, mode))
			sleep_interruptibly(PAUSE);
}

/*
 * handle_new_partition
 *		Prepares a table that was created, if it is a partition; it has no rows, unless it is on
 *		another server, or event triggers of users have written some.
 */
void
handle_new_partition(Oid relid)
{
	Oid			root;
	Relation	rel;
	bool		written;

	if (!get_rel_relispartition(relid))
		return;
	if (OidIsValid(index_table_of(relid)))
	{
		handle_new_index_partition(index_table_of(relid), relid);
		return;
	}
	root = registered_root(relid);
	if (root == relid || !catalog_has_fact(root))
		return;
	if (elsewhere->has(relid))
	{
		handle_attached_partition(root, relid);
		return;
	}
	rel = relation_open(root, AccessShareLock);
	check_partitions(rel);
	if (catalog_fact_in_use(root))
		check_row_key(definition_of_fact(rel, root), rel);
	relation_close(rel, NoLock);
	triggers_install_on(relid, root);

	/*
	 * Event triggers of users may have dropped it, or written rows before it
	 * had all of these.
	 */
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		return;
	written = rel->rd_rel->relkind == RELKIND_RELATION && RelationGetNumberOfBlocks(rel) > 0;
	relation_close(rel, NoLock);
	if (written)
		handle_attached_partition(root, relid);
}

/*
 * handle_new_index_partition
 *		Prepares a partition of an index table that a user has created: it has to
 *		be as those that the extension creates.
 */
static void
handle_new_index_partition(Oid index_table, Oid relid)
{
	Relation	parent = relation_open(index_table, NoLock);
	Relation	rel = relation_open(relid, NoLock);
	TupleDesc	a = RelationGetDescr(parent);
	TupleDesc	b = RelationGetDescr(rel);
	const char *why = NULL;
	bool		plain = rel->rd_options == NULL;

	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		why = "It is not an ordinary table.";
	else if (rel->rd_rel->relpersistence != parent->rd_rel->relpersistence)
		why = "Only one of the two tables is unlogged.";
	else if (a->natts != b->natts)
		why = "The index table has dropped columns that the partition does not have.";
	for (int i = 0; why == NULL && i < a->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(b, i);

		if (strcmp(NameStr(TupleDescAttr(a, i)->attname), NameStr(att->attname)) != 0)
			why = "Its columns are not in the order of those of the index table.";
		else if (att->atthasdef || (att->attnotnull && !TupleDescAttr(a, i)->attnotnull))
			why = "It has a default or a constraint of its own.";
	}
	if (rel->rd_att->constr != NULL && rel->rd_att->constr->num_check > 0)
		why = "It has a default or a constraint of its own.";
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be a partition of index table \"%s\"",
						RelationGetRelationName(rel), RelationGetRelationName(parent)),
				 errdetail("%s", why),
				 errhint("Change the partitions with indextable.alter().")));
	relation_close(rel, NoLock);
	rel = relation_open(catalog_fact_of(index_table), AccessShareLock);
	sync_index_table_owner(index_table, rel, true);
	relation_close(rel, NoLock);
	CommandCounterIncrement();
	if (plain)
		run_on_table(relid, "ALTER TABLE t SET (" STORAGE_PARAMETERS ")");
	revoke_all(relid, table_owner(relid));
	triggers_install_guard(index_table);
	CommandCounterIncrement();
	relation_close(parent, NoLock);
}
