/*-------------------------------------------------------------------------
 *
 * drop.c
 *	  indextable.drop(), and what follows when an index table or a fact table is
 *	  dropped in any other way.
 *
 * Called by users, and by the event trigger for every DROP in the database: it
 * must be cheap and work for everybody.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(indextable_drop);
PG_FUNCTION_INFO_V1(indextable_on_drop);

/* What was dropped without its table. */
typedef struct DroppedParts
{
	List	   *triggers;		/* tables that triggers of ours were on */
	List	   *columns;		/* fact tables that columns were of, or of their index tables */
	List	   *schemas;		/* that indexes were in */
	List	   *own;			/* tables in the extension's schema, by OID, */
	List	   *own_names;		/* and their names */
} DroppedParts;

static void note_dropped_parts(DroppedParts *parts);
static void check_dropped_parts(DroppedParts *parts, Node *command);
static void refuse_entries(Oid index_table, Oid partition);
static bool named_too(DropStmt *stmt, Oid other);
static void forget(Oid relid, bool wait, DropBehavior behavior);

Datum
indextable_drop(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	bool		doubtful = catalog_read_any(InvalidOid, relid) != NIL;

	if (!OidIsValid(catalog_fact_of(relid)) && !doubtful)
		not_an_index_table(relid);
	if (get_rel_name(relid) != NULL && !owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	forget_dangling(relid);
	/* Of a table that is none, the definition is all that goes. */
	if (OidIsValid(catalog_fact_of(relid)))
		drop_index_table(relid);
	PG_RETURN_VOID();
}

/* drop_index_table: as the caller, who may */
void
drop_index_table(Oid relid)
{
	Oid			fact = catalog_fact_of(relid);
	bool		exists;

	/* The fact table first, as its writers do, then the queue, should it go, too. */
	exists = lock_if_exists(fact, list_length(catalog_read(fact, InvalidOid)) > 1 ?
							ShareRowExclusiveLock : AccessExclusiveLock);
	if (exists)
	{
		lock_tree(fact, ShareRowExclusiveLock);
		queues_lock_if_last(fact, relid);
	}
	if (!lock_if_exists(relid, AccessExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the index table was dropped concurrently")));
	run_sql(InvalidOid, "DROP TABLE %s", quoted_relation(relid));
	forget(relid, true, DROP_RESTRICT); /* where event triggers do not fire */
	/* Where they do, they do not wait for locks. */
	if (catalog_has_fact(fact) && !catalog_fact_in_use(fact))
		triggers_remove(fact, true);
}

/*
 * indextable_on_drop
 *		Event trigger on sql_drop.
 */
Datum
indextable_on_drop(PG_FUNCTION_ARGS)
{
	DroppedParts parts = {0};
	List	   *dropped;
	Node	   *command;
	ListCell   *cell;

	require_event_trigger(fcinfo, "on_drop");

	if (!OidIsValid(guard_lifted))
		note_dropped_parts(&parts);

	dropped = event_trigger_relations("pg_catalog.pg_event_trigger_dropped_objects()", false);
	command = ((EventTriggerData *) fcinfo->context)->parsetree;
	foreach(cell, dropped)
		forget(lfirst_oid(cell), false,
			   IsA(command, DropStmt) ? ((DropStmt *) command)->behavior :
			   IsA(command, DropOwnedStmt) ? ((DropOwnedStmt *) command)->behavior : DROP_RESTRICT);
	foreach(cell, lost_partitions())
	{
		Oid			fact = catalog_fact_of(lfirst_oid(cell));

		if (OidIsValid(fact))
			invalidate_definitions(catalog_read(InvalidOid, lfirst_oid(cell)), fact,
								   "A partition of it was dropped with its entries.");
		else
			invalidate_definitions(catalog_read(lfirst_oid(cell), InvalidOid), lfirst_oid(cell),
								   "A partition was dropped with its rows, and their entries are still there.");
	}
	if (!OidIsValid(guard_lifted))
		check_dropped_parts(&parts, command);
	PG_RETURN_VOID();
}

/*
 * note_dropped_parts
 *		Triggers of ours, columns and indexes may have gone without their table, by a
 *		CASCADE maybe.  Refuses what the extension itself cannot do without.
 */
static void
note_dropped_parts(DroppedParts *parts)
{
	MemoryContext cxt = CurrentMemoryContext;
	uint64		i;

	SPI_connect();
	if (SPI_execute("SELECT object_type, address_names[1], address_names[2], address_names[3], objid"
					" FROM pg_catalog.pg_event_trigger_dropped_objects()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the objects of the event");
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		char	   *type = SPI_getvalue(tuple, desc, 1);
		char	   *schema = SPI_getvalue(tuple, desc, 2);
		char	   *name = SPI_getvalue(tuple, desc, 3);
		char	   *part = SPI_getvalue(tuple, desc, 4);
		bool		is_trigger = strcmp(type, "trigger") == 0;
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(tuple, desc, 5, &isnull));
		MemoryContext old;

		if (schema != NULL && is_own_schema(get_namespace_oid(schema, true)))
			refuse_drop_of_own(type, schema, name, part);
		if (strcmp(type, "table") == 0 || strcmp(type, "index") == 0)
		{
			old = MemoryContextSwitchTo(cxt);
			if (strcmp(type, "index") == 0)
				parts->schemas = list_append_unique_oid(parts->schemas, get_namespace_oid(schema, true));
			else if (schema != NULL && is_own_schema(get_namespace_oid(schema, true)))
			{
				parts->own = lappend_oid(parts->own, relid);
				parts->own_names = lappend(parts->own_names, pstrdup(name));
			}
			MemoryContextSwitchTo(old);
			continue;
		}
		if (!is_trigger && strcmp(type, "table column") != 0)
			continue;
		if (is_trigger && !is_our_trigger(part))
			continue;
		relid = RangeVarGetRelid(makeRangeVar(schema, name, -1), NoLock, true);
		if (!OidIsValid(relid))
			continue;
		old = MemoryContextSwitchTo(cxt);
		if (is_trigger)
			parts->triggers = list_append_unique_oid(parts->triggers, relid);
		else
		{
			if (OidIsValid(index_table_of(relid)))
				relid = catalog_fact_of(index_table_of(relid));
			if (catalog_has_fact(relid))
				parts->columns = list_append_unique_oid(parts->columns, relid);
		}
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
}

static void
check_dropped_parts(DroppedParts *parts, Node *command)
{
	ListCell   *cell;
	ListCell   *name;

	forboth(cell, parts->own, name, parts->own_names)
		refuse_drop_of_queue(lfirst_oid(cell), lfirst(name));
	foreach(cell, parts->triggers)
		follow_triggers(lfirst_oid(cell));
	/* CONCURRENTLY has left the index invalid by then: that is told when something is drained. */
	if (!IsA(command, DropStmt) || !((DropStmt *) command)->concurrent)
		foreach(cell, parts->schemas)
			refuse_drop_of_row_index(lfirst_oid(cell));
	/* ALTER TABLE is refused, or followed. */
	if (!IsA(command, AlterTableStmt))
		foreach(cell, parts->columns)
			check_definitions(lfirst_oid(cell));
}

/*
 * before_drop
 *		A partition's rows tell which entries go with it, as long as it is there.
 */
void
before_drop(DropStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->objects)
	{
		Oid			relid = RangeVarGetRelid(makeRangeVarFromNameList(lfirst(cell)), NoLock, true);
		Oid			root;

		if (!OidIsValid(relid) || (!owns_relation(relid, GetUserId()) &&
								   !owns_schema(get_rel_namespace(relid), GetUserId())))
			continue;
		adopt_restored(relid);
		root = index_table_of(relid);
		if (OidIsValid(root) && root != relid && !named_too(stmt, root))
			refuse_entries(root, relid);
		root = registered_root(relid);
		/* One that is being detached has none, unless an older version of this library has left them. */
		if (root == relid)
			root = root_before(relid);
		if (!catalog_fact_in_use(root) || named_too(stmt, root))
			continue;
		/* As DROP TABLE does: the parent first. */
		LockRelationOid(get_partition_parent(relid, true), AccessExclusiveLock);
		lock_tree(relid, AccessExclusiveLock);
		if (get_rel_relispartition(relid))
			partition_rows(root, relid, false);
	}
}

/* refuse_entries: of a partition of an index table, which would be lost; the default one is there for all others */
static void
refuse_entries(Oid index_table, Oid partition)
{
	Relation	rel;
	TableScanDesc scan;
	TupleTableSlot *slot;
	ListCell   *cell;
	bool		is_default;

	LockRelationOid(index_table, AccessExclusiveLock);
	rel = try_relation_open(partition, AccessExclusiveLock);
	if (rel == NULL)
		return;
	is_default = get_default_partition_oid(index_table) == partition;
	slot = table_slot_create(rel, NULL);
	scan = table_beginscan(rel, SnapshotSelf, 0, NULL);
	if (is_default || table_scan_getnextslot(scan, ForwardScanDirection, slot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop partition \"%s\" of index table \"%s\"", RelationGetRelationName(rel),
						get_rel_name(index_table)),
				 is_default ? errdetail("It takes the entries that no other partition takes.") :
				 errdetail("It has entries."),
				 errhint("Change the partitions with indextable.alter().")));
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	relation_close(rel, NoLock);
	/* An older snapshot may see entries that were in it: for look-ups the index table is as young. */
	foreach(cell, catalog_read(InvalidOid, index_table))
	{
		DefinitionRow *row = &((StoredDefinition *) lfirst(cell))->row;

		catalog_set_state(index_table, row->state, row->problem);
		CacheInvalidateRelcacheByRelid(row->fact_table);
	}
}

/* named_too: whether the same command drops another table */
static bool
named_too(DropStmt *stmt, Oid other)
{
	ListCell   *cell;

	foreach(cell, stmt->objects)
		if (RangeVarGetRelid(makeRangeVarFromNameList(lfirst(cell)), NoLock, true) == other)
			return true;
	return false;
}

/* forget: a relation that is gone, if it was ours; wait as in triggers_remove() */
static void
forget(Oid relid, bool wait, DropBehavior behavior)
{
	Oid			fact = catalog_forget_index_table(relid);
	FactTableRow tables;
	ListCell   *cell;

	if (catalog_read_fact(relid, &tables))
	{
		(void) queue_tables(&tables, NULL);
		queue_table_drop(tables.queue);
		queue_table_drop(tables.spare);
		catalog_forget_fact(relid);
	}

	/* After a restore no dependency takes its index tables along, or its replacement: none is dumped. */
	foreach(cell, catalog_read(OidIsValid(fact) ? fact : relid, InvalidOid))
	{
		DefinitionRow *row = &((StoredDefinition *) lfirst(cell))->row;
		Oid			index_table = row->index_table;

		if (OidIsValid(fact) && row->replaces != relid)
			continue;
		if (believed(row) && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(index_table)))
		{
			ObjectAddress object;

			ObjectAddressSet(object, RelationRelationId, index_table);
			performDeletion(&object, behavior, PERFORM_DELETION_INTERNAL);
		}
		catalog_forget_index_table(index_table);
	}
	if (!OidIsValid(fact) || !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(fact)))
		return;
	CacheInvalidateRelcacheByRelid(fact);
	(void) queues_drop(fact, wait);
	if (!catalog_fact_in_use(fact))
		triggers_remove(fact, wait);
}
