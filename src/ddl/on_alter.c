/*-------------------------------------------------------------------------
 *
 * on_alter.c
 *	  What follows when a fact table or an index table is altered.
 *
 * Called by event triggers for every ALTER TABLE in the database: it must be
 * cheap and work for everybody.  Renames and a new owner are followed; what
 * would make an index table wrong has been refused (refuse.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../catalog/trigger_names.h"
#include "../definition/cache.h"
#include "../definition/fact_key.h"
#include "../definition/index_partition.h"
#include "../definition/roots.h"
#include "../indextable.h"
#include "../maintain/follow_ddl.h"
#include "../maintain/guard.h"
#include "../maintain/install_triggers.h"
#include "../queue/adopt_restored.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "event_trigger.h"
#include "filter_rename.h"
#include "partition_ddl.h"

PG_FUNCTION_INFO_V1(indextable_on_alter);

static bool is_relevant(Node *command);
static void check_typed(Node *command);
static Oid	type_of_table(Oid relid);
static void handle_switched_triggers(AlterTableStmt *stmt);
static void warn_subscribed(void);
static void handle_created_trigger(CreateTrigStmt *stmt);
static bool switches_our_triggers(AlterTableStmt *stmt);
static void check_key_of_partition(Oid root, Oid partition);

/*
 * indextable_on_alter
 *		Event trigger on ddl_command_end.
 */
Datum
indextable_on_alter(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigdata = (EventTriggerData *) fcinfo->context;
	List	   *altered;
	ListCell   *cell;

	require_event_trigger(fcinfo, "on_alter");

	if (OidIsValid(guard_lifted))
		PG_RETURN_VOID();
	if (IsA(trigdata->parsetree, AlterTableStmt))
	{
		handle_switched_triggers((AlterTableStmt *) trigdata->parsetree);
		handle_attach_detach((AlterTableStmt *) trigdata->parsetree);
	}
	else if (IsA(trigdata->parsetree, CreateStmt) || IsA(trigdata->parsetree, CreateForeignTableStmt))
		handle_new_partition((CreateStmt *) trigdata->parsetree, NULL);
	else if (IsA(trigdata->parsetree, CreateSchemaStmt))
	{
		foreach(cell, ((CreateSchemaStmt *) trigdata->parsetree)->schemaElts)
		{
			if (IsA(lfirst(cell), CreateStmt))
				handle_new_partition(lfirst(cell), ((CreateSchemaStmt *) trigdata->parsetree)->schemaname);
		}
	}
	else if (IsA(trigdata->parsetree, CreateTrigStmt))
		handle_created_trigger((CreateTrigStmt *) trigdata->parsetree);
	else if (IsA(trigdata->parsetree, CreateSubscriptionStmt) ||
			 IsA(trigdata->parsetree, AlterSubscriptionStmt))
		warn_subscribed();
	if (may_affect_filters(trigdata->parsetree))
	{
		rewrite_filters_after_rename();
		check_typed(trigdata->parsetree);
	}
	if (!is_relevant(trigdata->parsetree))
		PG_RETURN_VOID();
	altered = event_trigger_relations("pg_catalog.pg_event_trigger_ddl_commands()", true);
	foreach(cell, altered)
	{
		ListCell   *inner;

		foreach(inner, list_with_partitions(lfirst_oid(cell)))
		{
			Oid			relid = lfirst_oid(inner);
			Oid			fact = catalog_fact_of(index_table_of(relid));

			if (OidIsValid(fact))
				update_definitions(fact, false, IsA(trigdata->parsetree, RenameStmt));
			else if (catalog_has_fact(relid))
				update_definitions(relid, true, IsA(trigdata->parsetree, RenameStmt));
			else if (catalog_has_fact(registered_root(relid)))
				check_key_of_partition(registered_root(relid), relid);
		}
	}
	PG_RETURN_VOID();
}

/*
 * is_relevant
 *		Whether a command can change what index tables rest on.  What a restore
 *		does to tables whose definitions are there already, but not yet all of
 *		their constraints and triggers, cannot.
 */
static bool
is_relevant(Node *command)
{
	ListCell   *cell;

	if (IsA(command, RenameStmt))
		return ((RenameStmt *) command)->renameType == OBJECT_COLUMN;
	if (!IsA(command, AlterTableStmt))
		return false;
	foreach(cell, ((AlterTableStmt *) command)->cmds)
	{
		switch (((AlterTableCmd *) lfirst(cell))->subtype)
		{
			case AT_AddColumn:
			case AT_DropColumn:
			case AT_AlterColumnType:
			case AT_DropConstraint:
			case AT_SetNotNull:
			case AT_ChangeOwner:
				return true;
			default:
				break;
		}
	}
	return false;
}

/*
 * check_typed
 *		After a command on a composite type, or on the attributes of a table's own:
 *		tables of that type were altered without a word about them.
 */
static void
check_typed(Node *command)
{
	RangeVar   *type = NULL;
	Oid			relid;
	ListCell   *cell;

	if (IsA(command, AlterTableStmt))
		type = ((AlterTableStmt *) command)->relation;
	else if (IsA(command, RenameStmt) && ((RenameStmt *) command)->renameType == OBJECT_ATTRIBUTE)
		type = ((RenameStmt *) command)->relation;
	relid = type == NULL ? InvalidOid : RangeVarGetRelid(type, NoLock, true);
	if (!OidIsValid(relid))
		return;
	foreach(cell, catalog_fact_tables())
	{
		if (lfirst_oid(cell) == relid || type_of_table(lfirst_oid(cell)) == get_rel_type_id(relid))
			invalidate_broken_definitions(lfirst_oid(cell));
	}
}

/* type_of_table: for CREATE TABLE ... OF */
static Oid
type_of_table(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			result = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->reloftype;
		ReleaseSysCache(tuple);
	}
	return result;
}

/* handle_switched_triggers: triggers may have been enabled or disabled */
static void
handle_switched_triggers(AlterTableStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	ListCell   *cell;

	if (!OidIsValid(relid) || !switches_our_triggers(stmt))
		return;
	invalidate_without_triggers(relid);

	/*
	 * So ends a restore of data without triggers: what it did to ours was not
	 * seen by then.
	 */
	if (!is_extension_table(relid))
		return;
	adopt_all();
	foreach(cell, catalog_fact_tables())
		invalidate_without_triggers(lfirst_oid(cell));
	foreach(cell, catalog_index_tables())
		invalidate_without_triggers(lfirst_oid(cell));
}

/* warn_subscribed: entries that come from a publisher and from our triggers, too */
static void
warn_subscribed(void)
{
	ListCell   *cell;

	foreach(cell, catalog_index_tables())
	{
		if (is_subscribed(lfirst_oid(cell)))
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("index table \"%s\" is written by a subscription and by its fact table's triggers",
							get_rel_name(lfirst_oid(cell))),
					 errdetail("Each of them overwrites or rejects what the other has written."),
					 errhint("Publish the fact table instead of the index table, or replace the index table on the subscriber with a plain table.")));
	}
}

/* handle_created_trigger: a trigger of ours may be somebody else's now; or a restore has made it */
static void
handle_created_trigger(CreateTrigStmt *stmt)
{
	char	   *schema;
	char	   *function;
	Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	Oid			fact;

	if (!is_our_trigger(stmt->trigname))
		return;
	DeconstructQualifiedName(stmt->funcname, &schema, &function);
	if (schema == NULL || !is_own_schema(get_namespace_oid(schema, true)))
	{
		invalidate_without_triggers(relid);
		return;
	}
	/* A library that is older or newer than the catalog has nothing to adopt. */
	if (!catalog_is_current_version())
		return;
	fact = catalog_fact_of(index_table_of(relid));
	adopt_restored(OidIsValid(fact) ? fact : registered_root(relid));
}

/*
 * switches_our_triggers
 *		Whether a command enables or disables triggers of ours.  A restore does so
 *		with the users' own before all of ours are there.
 */
static bool
switches_our_triggers(AlterTableStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst(cell);

		switch (cmd->subtype)
		{
			case AT_DisableTrigAll:
			case AT_DisableTrigUser:
			case AT_EnableTrigAll:
			case AT_EnableTrigUser:
				return true;
			case AT_DisableTrig:
			case AT_EnableTrig:
			case AT_EnableReplicaTrig:
				if (is_our_trigger(cmd->name))
					return true;
				break;
			case AT_EnableAlwaysTrig:
				/* Which is as it should be, on a fact table. */
				if (is_our_trigger(cmd->name) &&
					OidIsValid(index_table_of(RangeVarGetRelid(stmt->relation, NoLock, true))))
					return true;
				break;
			default:
				break;
		}
	}
	return false;
}

/* check_key_of_partition: it may have lost the index that its rows are found by */
static void
check_key_of_partition(Oid root, Oid partition)
{
	Relation	fact;
	Relation	rel;
	FactDef    *def;

	if (get_rel_relkind(partition) != RELKIND_RELATION || !triggers_intact(root))
		return;
	fact = relation_open(root, AccessShareLock);
	def = definition_of_fact(fact, root);
	if (def->ndefs > 0 && !OidIsValid(def->pk_index))
	{
		/* Not locked by a command on the table that it is a partition of. */
		rel = try_relation_open(partition, AccessShareLock);
		if (rel != NULL)
		{
			(void) row_key_index(def, rel);
			relation_close(rel, NoLock);
		}
	}
	relation_close(fact, NoLock);
}
