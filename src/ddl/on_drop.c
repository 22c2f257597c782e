/*-------------------------------------------------------------------------
 *
 * on_drop.c
 *	  Forgets what a command has dropped, and refuses to drop what is needed.
 *
 * An event trigger calls this for every DROP in the database, so it must be cheap,
 * and work for every user.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/event_trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "ddl.h"

PG_FUNCTION_INFO_V1(indextable_on_drop);

/* What a command has dropped, maybe without the table that it belonged to. */
typedef struct DroppedParts
{
	List	   *triggers;		/* tables that have lost a trigger of the
								 * extension */
	List	   *columns;		/* fact tables that have lost a column, or
								 * whose index tables have */
	List	   *schemas;		/* schemas that have lost an index */
	List	   *own;			/* OIDs of tables in the extension's schema, */
	List	   *own_names;		/* and their names */
} DroppedParts;

static void note_dropped_parts(DroppedParts *parts);
static Oid	table_of_dropped_trigger(Oid trigger);
static void check_dropped_parts(DroppedParts *parts, Node *command);
static bool is_refused(DropStmt *stmt, Oid relid);
static Detach *detach_of(DropStmt *stmt, RangeVar *name, Oid relid);
static bool prepare_under_locks(DropStmt *stmt, RangeVar *name);
static bool lock_as_drop(DropStmt *stmt, RangeVar *name, Oid *relid);
static void refuse_drop_with_entries(Oid index_table, Oid partition);
static bool is_hash_partitioned(Oid relid);
static bool is_dropped_too(DropStmt *stmt, Oid other);

static Oid	root_before_drop(Oid relid);
static Oid	parent_before_drop(Oid relid, TransactionId *detached);
static HeapTuple last_deleted(Oid catalog, Oid index, AttrNumber column, Oid relid, CommandId *when);
static List *lost_partitions(List *dropped);

/*
 * indextable_on_drop
 *		Forgets what was dropped, and refuses to drop what is needed (event
 *		trigger on sql_drop).
 */
Datum
indextable_on_drop(PG_FUNCTION_ARGS)
{
	DroppedParts parts = {0};
	List	   *dropped;
	Node	   *command;

	require_event_trigger(fcinfo, "on_drop");

	note_dropped_parts(&parts);

	dropped = event_trigger_relations("pg_catalog.pg_event_trigger_dropped_objects()", false);
	command = ((EventTriggerData *) fcinfo->context)->parsetree;
	foreach_oid(relid, dropped)
		forget_dropped_relation(relid, false,
								IsA(command, DropStmt) ? ((DropStmt *) command)->behavior :
								IsA(command, DropOwnedStmt) ? ((DropOwnedStmt *) command)->behavior :
								DROP_RESTRICT);
	foreach_oid(relid, lost_partitions(dropped))
	{
		Oid			fact = catalog_fact_of(relid);

		if (names_tables(command) && (OidIsValid(fact) || catalog_fact_in_use(relid)))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("a partition of table \"%s\" was dropped with entries", get_rel_name(relid)),
					 errdetail("When the command began, its names were those of other tables."),
					 errhint("The command might succeed if retried.")));
		if (OidIsValid(fact))
			invalidate_definitions(catalog_read_definitions(InvalidOid, relid),
								   "A partition of the index table was dropped with its entries.");
		else
			invalidate_definitions(catalog_read_definitions(relid, InvalidOid),
								   "A partition of the fact table was dropped, and the entries of its rows were not deleted.");
	}
	check_dropped_parts(&parts, command);
	PG_RETURN_VOID();
}

/*
 * note_dropped_parts
 *		Notes the triggers of the extension, the columns, the indexes and the
 *		queue tables that were dropped, and refuses to drop what the extension
 *		itself needs.
 *
 * They may have been dropped without their table, maybe by CASCADE.
 */
static void
note_dropped_parts(DroppedParts *parts)
{
	Rows		rows = query_as(InvalidOid, "SELECT object_type, address_names[1], address_names[2], address_names[3], objid"
								" FROM pg_catalog.pg_event_trigger_dropped_objects()");

	for (uint64 i = 0; i < rows.n; i++)
	{
		char	   *type = row_text(&rows, i, 1);
		char	   *schema = row_text(&rows, i, 2);
		char	   *name = row_text(&rows, i, 3);
		char	   *subobject = row_text(&rows, i, 4);
		bool		is_trigger = strcmp(type, "trigger") == 0;
		Oid			relid = DatumGetObjectId(row_value(&rows, i, 5));

		if (schema != NULL && is_own_schema(get_namespace_oid(schema, true)))
			check_extension_object_drop(type, schema, name, subobject);
		if (strcmp(type, "table") == 0 || strcmp(type, "index") == 0)
		{
			if (strcmp(type, "index") == 0)
				parts->schemas = list_append_unique_oid(parts->schemas, get_namespace_oid(schema, true));
			else if (schema != NULL && is_own_schema(get_namespace_oid(schema, true)))
			{
				parts->own = lappend_oid(parts->own, relid);
				parts->own_names = lappend(parts->own_names, name);
			}
			continue;
		}
		if (!is_trigger && strcmp(type, "table column") != 0)
			continue;
		if (is_trigger && !is_our_trigger(subobject))
			continue;
		if (is_trigger)
			relid = table_of_dropped_trigger(relid);
		if (get_rel_relkind(relid) == '\0')
			continue;
		if (is_trigger)
			parts->triggers = list_append_unique_oid(parts->triggers, relid);
		else
		{
			if (OidIsValid(index_table_of(relid)))
				relid = catalog_fact_of(index_table_of(relid));
			if (catalog_has_fact(relid))
				parts->columns = list_append_unique_oid(parts->columns, relid);
		}
	}
}

/* table_of_dropped_trigger: returns the table of a trigger that this transaction has dropped */
static Oid
table_of_dropped_trigger(Oid trigger)
{
	CommandId	when;
	HeapTuple	tuple = last_deleted(TriggerRelationId, TriggerOidIndexId, Anum_pg_trigger_oid, trigger, &when);

	return tuple == NULL ? InvalidOid : ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid;
}

/*
 * check_dropped_parts
 *		Makes index tables invalid that have lost something, or refuses to drop it.
 */
static void
check_dropped_parts(DroppedParts *parts, Node *command)
{
	ListCell   *cell;
	ListCell   *name;

	forboth(cell, parts->own, name, parts->own_names)
		refuse_drop_of_queue(lfirst_oid(cell), lfirst(name));
	foreach_oid(relid, parts->triggers)
		invalidate_without_triggers(relid);

	/*
	 * DROP INDEX CONCURRENTLY has committed by now that the index is invalid,
	 * so an error would be too late: a drain tells of it.
	 */
	if (!IsA(command, DropStmt) || !((DropStmt *) command)->concurrent)
		foreach_oid(schema, parts->schemas)
			refuse_drop_of_row_index(schema);

	/*
	 * ALTER TABLE has been refused before, or indextable_on_alter() follows
	 * it.
	 */
	if (!IsA(command, AlterTableStmt))
		foreach_oid(relid, parts->columns)
			invalidate_broken_definitions(relid);
}

/* names_tables: returns whether a command drops tables by their names */
bool
names_tables(Node *command)
{
	return IsA(command, DropStmt) && (((DropStmt *) command)->removeType == OBJECT_TABLE ||
									  ((DropStmt *) command)->removeType == OBJECT_FOREIGN_TABLE);
}

/*
 * prepare_drop
 *		Deletes the entries of partitions that are about to be dropped: their
 *		rows, which tell which entries these are, can be read as long as the
 *		partition exists.
 *
 * Refuses to drop a partition of an index table that has entries.
 *
 * Partitions of fact tables are prepared first, which leaves readers alone meanwhile.  All other
 * tables are locked then as the command is going to do it, and looked at again: one of them may
 * become a partition, its parent a fact table, or its name that of another table, while this
 * session waits for another to commit.
 */
void
prepare_drop(DropStmt *stmt)
{
	List	   *detaches;

	do
	{
		detaches = NIL;
		foreach_ptr(List, names, stmt->objects)
		{
			RangeVar   *name = makeRangeVarFromNameList(names);
			Oid			relid = RangeVarGetRelid(name, NoLock, true);
			Detach	   *partition;

			if (is_refused(stmt, relid))
				break;
			partition = detach_of(stmt, name, relid);
			if (partition != NULL)
				detaches = lappend(detaches, partition);
		}
	} while (!prepare_detaches(detaches));
	foreach_ptr(List, names, stmt->objects)
	{
		if (!prepare_under_locks(stmt, makeRangeVarFromNameList(names)))
			break;
	}
}

/*
 * is_refused
 *		Returns whether a DROP is going to say that it cannot drop a table.  Nothing is locked
 *		on behalf of a user who is not allowed to.
 */
static bool
is_refused(DropStmt *stmt, Oid relid)
{
	char		kind;

	if (!OidIsValid(relid))
		return !stmt->missing_ok;
	kind = get_rel_relkind(relid);
	return IsCatalogRelationOid(relid) ||
		(stmt->removeType == OBJECT_FOREIGN_TABLE ? kind != RELKIND_FOREIGN_TABLE :
		 kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		(!owns_relation(relid, GetUserId()) && !owns_schema(get_rel_namespace(relid), GetUserId()));
}

/*
 * detach_of
 *		Returns what is to be done for a table that a DROP names, if it is a partition of a
 *		fact table that stays, or NULL.
 */
static Detach *
detach_of(DropStmt *stmt, RangeVar *name, Oid relid)
{
	Detach	   *result;
	Oid			root;

	if (!OidIsValid(relid) || is_detaching(relid))
		return NULL;
	adopt_restored(relid);
	root = root_to_detach_from(relid);
	if (!catalog_fact_in_use(root) || is_dropped_too(stmt, root))
		return NULL;
	result = palloc0(sizeof(Detach));
	result->name = name;
	result->partition = relid;
	result->parent = partition_parent(relid);
	result->root = root;
	return result;
}

/*
 * prepare_under_locks
 *		Locks a table as a DROP is going to do it, and prepares it; returns false if it is
 *		going to be refused.
 */
static bool
prepare_under_locks(DropStmt *stmt, RangeVar *name)
{
	Oid			relid;
	Oid			index_table;
	Detach	   *detach;

	do
	{
		if (!lock_as_drop(stmt, name, &relid))
			return false;
		detach = detach_of(stmt, name, relid);
	} while (detach != NULL && !detach_under_locks(list_make1(detach)));
	place_follow_partition(relid, false);

	/*
	 * The entries of a partition of an index table may have been those of the
	 * partitions that are dropped by the same command.
	 */
	index_table = index_table_of(relid);
	if (OidIsValid(index_table) && index_table != relid && !is_dropped_too(stmt, index_table))
		refuse_drop_with_entries(index_table, relid);
	return true;
}

/*
 * lock_as_drop
 *		Locks a table, and its parent first, as a DROP is going to do it, until both are what the
 *		name means; *relid is InvalidOid if it means nothing.  Returns false, and locks nothing, if
 *		the command is going to be refused.
 */
static bool
lock_as_drop(DropStmt *stmt, RangeVar *name, Oid *relid)
{
	Oid			parent = InvalidOid;

	*relid = InvalidOid;
	for (;;)
	{
		Oid			found;
		bool		refused;

		AcceptInvalidationMessages();
		found = RangeVarGetRelid(name, NoLock, true);
		refused = is_refused(stmt, found);
		if (!refused && found == *relid && partition_parent(found) == parent)
			return true;
		if (OidIsValid(*relid))
			UnlockRelationOid(*relid, AccessExclusiveLock);
		if (OidIsValid(parent))
			UnlockRelationOid(parent, AccessExclusiveLock);
		if (refused)
			return false;
		*relid = found;
		parent = partition_parent(found);
		if (OidIsValid(parent))
			LockRelationOid(parent, AccessExclusiveLock);
		if (OidIsValid(found))
			LockRelationOid(found, AccessExclusiveLock);
	}
}

/*
 * refuse_drop_with_entries
 *		Refuses to drop a partition of an index table that has entries, which
 *		would be lost, or that takes the entries that fit no other: the default one,
 *		or a hash partition.
 */
static void
refuse_drop_with_entries(Oid index_table, Oid partition)
{
	Relation	rel;
	TableScanDesc scan;
	TupleTableSlot *slot;
	DefinitionRow *stored;
	bool		is_default;
	bool		is_hash;

	LockRelationOid(index_table, AccessExclusiveLock);
	rel = try_relation_open(partition, AccessExclusiveLock);
	if (rel == NULL)
		return;
	note_detaching(partition);
	is_default = get_default_partition_oid(index_table) == partition;
	is_hash = is_hash_partitioned(index_table);
	slot = table_slot_create(rel, NULL);
	scan = table_beginscan_compat(rel, SnapshotSelf);
	if (is_default || is_hash || table_scan_getnextslot(scan, ForwardScanDirection, slot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop partition \"%s\" of index table \"%s\"", RelationGetRelationName(rel),
						get_rel_name(index_table)),
				 is_default ? errdetail("It is the default partition, which holds the entries that fit no other partition.") :
				 is_hash ? errdetail("It is a hash partition: the entries that belong in it fit no other partition.") :
				 errdetail("It has entries."),
				 is_hash ? errhint("To have two partitions, for example, run %s", told_select("alter", index_table, ", partitions => 2")) :
				 errhint("Change the partitions with indextable.alter().")));
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	relation_close(rel, NoLock);

	/*
	 * An older snapshot may see rows whose entries were in the partition.  So
	 * the index table's row of the catalog is written anew, by which a
	 * look-up knows that the entries are newer than its snapshot.
	 */
	stored = stored_definition(index_table);
	if (stored != NULL)
	{
		catalog_set_state(index_table, stored->state, stored->problem);
		CacheInvalidateRelcacheByRelid(stored->fact_table);
	}
}

/*
 * is_hash_partitioned
 *		Returns whether a partitioned table, which is locked, is partitioned by hash.
 */
static bool
is_hash_partitioned(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	bool		result = RelationGetPartitionKey(rel)->strategy == PARTITION_STRATEGY_HASH;

	relation_close(rel, NoLock);
	return result;
}

/* is_dropped_too: returns whether a DROP names another table, too */
static bool
is_dropped_too(DropStmt *stmt, Oid other)
{
	foreach_ptr(List, names, stmt->objects)
	{
		if (RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true) == other)
			return true;
	}
	return false;
}

/*-------------------------------------------------------------------------
 * Finds the fact tables and index tables that have lost partitions, with the entries of their
 * rows, or with entries, by a command that has not prepared for it.
 *
 * DROP SCHEMA, DROP OWNED and others drop partitions without naming them, and while a command
 * waits for its locks, or event triggers of users fire, a table may become a partition.  So it
 * counts what a table was a partition of when it was dropped.  The server's catalogs tell: this
 * transaction has deleted its rows there, and they are still to be read.
 *-------------------------------------------------------------------------
 */

/*
 * lost_partitions
 *		Returns the fact tables and index tables that exist and have lost partitions, which are
 *		among the relations that a command has dropped, but for those that it had prepared.
 */
static List *
lost_partitions(List *dropped)
{
	List	   *result = NIL;

	foreach_oid(relid, dropped)
	{
		Oid			root = is_detaching(relid) ? InvalidOid : root_before_drop(relid);

		if (OidIsValid(root))
			result = list_append_unique_oid(result, root);
	}
	return result;
}

/*
 * root_before_drop
 *		Returns the fact table or the index table of which a table was a partition when it was
 *		dropped, at whatever depth, or InvalidOid.  Those that were dropped, too, are forgotten
 *		already, and partitions that were being detached do not count.
 */
static Oid
root_before_drop(Oid relid)
{
	Oid			result = InvalidOid;
	TransactionId detached;

	for (;;)
	{
		relid = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)) ? tree_parent(relid, &detached) :
			parent_before_drop(relid, &detached);
		if (!OidIsValid(relid) || TransactionIdIsValid(detached))
			return result;
		if (catalog_has_fact(relid) || OidIsValid(catalog_fact_of(relid)))
			result = relid;
	}
}

/*
 * parent_before_drop
 *		Returns the same as tree_parent() did for a table when this transaction dropped it.
 *
 * The server deletes the rows of a table in pg_class and pg_inherits with one command id.  If the
 * row in pg_inherits has an earlier one, the table was detached before.
 */
static Oid
parent_before_drop(Oid relid, TransactionId *detached)
{
	CommandId	dropped;
	CommandId	left;
	HeapTuple	tuple = last_deleted(InheritsRelationId, InheritsRelidSeqnoIndexId, Anum_pg_inherits_inhrelid,
									 relid, &left);
	HeapTuple	table = last_deleted(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, relid, &dropped);
	Form_pg_inherits form;

	*detached = InvalidTransactionId;
	/* A child that is no partition has no entries. */
	if (tuple == NULL || table == NULL || !((Form_pg_class) GETSTRUCT(table))->relispartition || dropped != left)
		return InvalidOid;
	form = (Form_pg_inherits) GETSTRUCT(tuple);
	if (form->inhdetachpending)
		*detached = HeapTupleHeaderGetXmin(tuple->t_data);
	return form->inhparent;
}

/*
 * last_deleted
 *		Returns the row of a table that this transaction has deleted last from a catalog, and with
 *		which command id, or NULL.
 */
static HeapTuple
last_deleted(Oid catalog, Oid index, AttrNumber column, Oid relid, CommandId *when)
{
	CatalogScan scan = catalog_scan_begin(catalog, index, column, relid, SnapshotAny);
	HeapTuple	result = NULL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		HeapTupleHeader header = tuple->t_data;

		if (!is_deleted_here(header))
			continue;
		if (result != NULL && HeapTupleHeaderGetCmax(header) < *when)
			continue;
		*when = HeapTupleHeaderGetCmax(header);
		result = heap_copytuple(tuple);
	}
	catalog_scan_end(&scan);
	return result;
}
