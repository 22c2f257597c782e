/*-------------------------------------------------------------------------
 *
 * on_alter.c
 *	  Follows what was altered: fact tables, index tables, and what they rest on.
 *
 * An event trigger calls this after every ALTER TABLE in the database, so it must be
 * cheap, and work for every user.  The catalog follows renames and a new owner; what
 * would make an index table wrong has been refused in before_alter.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_trigger.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "ddl.h"

PG_FUNCTION_INFO_V1(indextable_on_alter);

static bool is_relevant(Node *command);
static bool names_table(Node *command);
static void describe_index_tables(Oid relid);
static void handle_altered(CollectedCommand *command);
static void describe_in_schema(Oid schema);
static void check_tables_of_type(List *commands);
static void handle_switched_triggers(Oid relid);
static void warn_subscribed(void);
static void refuse_subscription_of_others(Oid relid);
static void handle_created_trigger(CreateTrigStmt *stmt, Oid trigger);
static bool switches_our_triggers(Oid relid, List *subcommands);
static void check_key_of_partition(Oid root, Oid partition);

/* indextable_on_alter: follows what a command has changed (event trigger on ddl_command_end) */
Datum
indextable_on_alter(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigdata = (EventTriggerData *) fcinfo->context;
	Node	   *command;
	List	   *commands;
	List	   *altered;

	require_event_trigger(fcinfo, "on_alter");

	command = trigdata->parsetree;
	commands = collected_commands();
	if (commands == NIL)
		refuse_uncollected(command);
	refuse_again(command, commands);
	foreach_ptr(CollectedCommand, collected, commands)
	{
		if (collected->type == SCT_AlterTable)
			handle_altered(collected);
		else if (IS_COMMAND(collected, CreateStmt) || IS_COMMAND(collected, CreateForeignTableStmt))
			handle_new_partition(created_object(collected, RelationRelationId));
		else if (IS_COMMAND(collected, CreateTrigStmt))
			handle_created_trigger((CreateTrigStmt *) collected->parsetree,
								   created_object(collected, TriggerRelationId));
		else if (IS_COMMAND(collected, RenameStmt) && OidIsValid(created_object(collected, NamespaceRelationId)))
			describe_in_schema(created_object(collected, NamespaceRelationId));
		warn_of_readers(collected);
	}
	if (IsA(command, CreateSubscriptionStmt) || IsA(command, AlterSubscriptionStmt) ||
		(IsA(command, AlterOwnerStmt) && ((AlterOwnerStmt *) command)->objectType == OBJECT_SUBSCRIPTION))
		warn_subscribed();
	if (may_affect_filters(command))
	{
		rewrite_filters_after_rename(command);
		check_tables_of_type(commands);
	}
	if (!is_relevant(command) && !names_table(command))
		PG_RETURN_VOID();
	altered = event_trigger_relations("pg_catalog.pg_event_trigger_ddl_commands()", true);
	foreach_oid(table, is_relevant(command) ? altered : NIL)
	{
		foreach_oid(relid, list_with_partitions(table))
		{
			Oid			fact = catalog_fact_of(index_table_of(relid));

			if (OidIsValid(fact))
				update_definitions(fact, false, IsA(command, RenameStmt));
			else if (catalog_has_fact(relid))
			{
				if (IsA(command, AlterTableStmt))
					follow_type_change(relid, (AlterTableStmt *) command);
				update_definitions(relid, true, IsA(command, RenameStmt));
			}
			else if (catalog_has_fact(registered_root(relid)))
				check_key_of_partition(registered_root(relid), relid);
		}
	}
	foreach_oid(relid, altered)
		describe_index_tables(relid);
	PG_RETURN_VOID();
}

/* handle_altered: follows the subcommands of an ALTER TABLE */
static void
handle_altered(CollectedCommand *command)
{
	Oid			relid = command->d.alterTable.objectId;

	if (switches_our_triggers(relid, command->d.alterTable.subcmds))
		handle_switched_triggers(relid);
	foreach_ptr(CollectedATSubcmd, subcommand, command->d.alterTable.subcmds)
	{
		AlterTableCmd *cmd = castNode(AlterTableCmd, subcommand->parsetree);

		if (cmd->subtype == AT_AttachPartition || cmd->subtype == AT_DetachPartition ||
			cmd->subtype == AT_DetachPartitionFinalize)
			handle_attach_detach(relid, subcommand);
	}
}

/*
 * names_table
 *		Returns whether a command gives a table another name or schema, or makes a partition.
 */
static bool
names_table(Node *command)
{
	if (IsA(command, RenameStmt))
		return ((RenameStmt *) command)->renameType == OBJECT_TABLE;
	if (IsA(command, CreateStmt))
		return ((CreateStmt *) command)->partbound != NULL;
	return IsA(command, AlterObjectSchemaStmt) && ((AlterObjectSchemaStmt *) command)->objectType == OBJECT_TABLE;
}

/* describe_index_tables: has the comments follow of the index tables that a table has, or is */
static void
describe_index_tables(Oid relid)
{
	Oid			index_table = index_table_of(relid);

	if (OidIsValid(index_table))
		describe_index_table(index_table, false);
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(relid, InvalidOid))
		describe_index_table(row->index_table, false);
}

/* describe_in_schema: has those follow that name a schema, which has been renamed */
static void
describe_in_schema(Oid schema)
{
	foreach_oid(index_table, catalog_index_tables())
	{
		if (get_rel_namespace(index_table) == schema || get_rel_namespace(catalog_fact_of(index_table)) == schema)
			describe_index_table(index_table, false);
	}
}

/*
 * is_relevant
 *		Returns whether a command can change what index tables rest on.
 *
 * A restore alters tables whose definitions are there already, but not yet all of
 * their constraints and triggers; what it does to them is not among these commands.
 */
static bool
is_relevant(Node *command)
{
	if (IsA(command, RenameStmt))
		return ((RenameStmt *) command)->renameType == OBJECT_COLUMN;
	if (!IsA(command, AlterTableStmt))
		return false;
	foreach_ptr(AlterTableCmd, cmd, ((AlterTableStmt *) command)->cmds)
	{
		switch (cmd->subtype)
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
 * check_tables_of_type
 *		Checks fact tables after a command on a composite type, or on the
 *		attributes of a table's own type: the tables of that type have been
 *		altered without being named.
 */
static void
check_tables_of_type(List *commands)
{
	Oid			relid = altered_relation(commands);

	foreach_ptr(CollectedCommand, command, commands)
	{
		if (IS_COMMAND(command, RenameStmt) && ((RenameStmt *) command->parsetree)->renameType == OBJECT_ATTRIBUTE)
			relid = created_object(command, RelationRelationId);
	}
	if (!OidIsValid(relid))
		return;
	foreach_oid(fact, catalog_fact_tables())
	{
		/* CREATE TABLE ... OF has made a table of a type. */
		if (fact == relid ||
			GetSysCacheOid1(RELOID, Anum_pg_class_reloftype, ObjectIdGetDatum(fact)) == get_rel_type_id(relid))
			invalidate_broken_definitions(fact);
	}
}

/* handle_switched_triggers: makes index tables invalid whose triggers a command has disabled */
static void
handle_switched_triggers(Oid relid)
{
	invalidate_without_triggers(relid);

	/*
	 * A restore of data with triggers disabled ends by enabling those of the
	 * extension's own tables.  What it did to the triggers of fact tables and
	 * index tables was not seen until now.
	 */
	if (is_own_schema(get_rel_namespace(relid)) && OidIsValid(get_trigger_oid(relid, OWN_GUARD, true)))
		guard_own_table(relid);
	if (!is_extension_table(relid))
		return;
	adopt_all();
	foreach_oid(fact, catalog_fact_tables())
		invalidate_without_triggers(fact);
	foreach_oid(index_table, catalog_index_tables())
		invalidate_without_triggers(index_table);
}

/*
 * warn_subscribed
 *		Warns of index tables whose entries come from a publisher, and from the
 *		fact table's triggers, too.
 */
static void
warn_subscribed(void)
{
	foreach_oid(index_table, catalog_index_tables())
	{
		foreach_oid(relid, list_with_partitions(index_table))
			refuse_subscription_of_others(relid);
		if (subscriptions_of(index_table) != NIL)
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("index table \"%s\" is written by a subscription and by its fact table's triggers",
							get_rel_name(index_table)),
					 errdetail("Each of them overwrites or rejects what the other has written."),
					 errhint("Publish the fact table instead of the index table, or replace the index table on the subscriber with a plain table.")));
	}
}

/*
 * refuse_subscription_of_others
 *		Refuses an enabled subscription that writes an index table, or a partition of one, as another role than
 *		its owner.
 *
 * The triggers of an index table do not fire for it, and members of pg_write_all_data may have subscriptions.
 */
static void
refuse_subscription_of_others(Oid relid)
{
	foreach_oid(subscription, subscriptions_of(relid))
	{
		HeapTuple	tuple = SearchSysCache1(SUBSCRIPTIONOID, ObjectIdGetDatum(subscription));
		Form_pg_subscription form = HeapTupleIsValid(tuple) ? (Form_pg_subscription) GETSTRUCT(tuple) : NULL;

		if (form != NULL && form->subenabled && !owns_relation(relid, form->subowner))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied for index table \"%s\"", get_rel_name(relid)),
					 errdetail("Subscription \"%s\" would write it, and does not belong to its owner or a superuser.",
							   NameStr(form->subname)),
					 errhint("Publish the fact table instead of the index table. A replication slot that was created on the publisher has to be dropped there.")));
		if (form != NULL)
			ReleaseSysCache(tuple);
	}
}

/*
 * handle_created_trigger
 *		After CREATE TRIGGER with the name of a trigger of the extension: adopts the index tables
 *		if a restore has created it, or refuses it if it is another trigger.  Refuses triggers
 *		for rows of index tables, too.
 */
static void
handle_created_trigger(CreateTrigStmt *stmt, Oid trigger)
{
	CatalogScan scan = catalog_scan_begin(TriggerRelationId, TriggerOidIndexId, Anum_pg_trigger_oid, trigger,
										  NULL);
	HeapTuple	tuple = catalog_scan_next(&scan);
	Oid			relid = HeapTupleIsValid(tuple) ? ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid : InvalidOid;
	Oid			function = HeapTupleIsValid(tuple) ? ((Form_pg_trigger) GETSTRUCT(tuple))->tgfoid : InvalidOid;
	Oid			fact;

	catalog_scan_end(&scan);
	if (!OidIsValid(relid))
		return;
	refuse_trigger_of_others(relid, stmt, function);
	if (!is_our_trigger(stmt->trigname))
	{
		refuse_misused_function(relid, stmt, function);
		if (stmt->row)
			refuse_row_trigger(relid, stmt->trigname, function);
		/* The first part of a table may come to a new node. */
		if (stmt->args != NIL && is_our_copied_trigger(stmt->trigname) &&
			OidIsValid(place_table_of_part(relid)) && !catalog_has_fact(place_table_of_part(relid)))
			place_adopt();
		return;
	}
	refuse_forged_trigger(stmt->trigname, stmt->args != NIL);
	if (stmt->args != NIL)
		place_check_trigger(relid, stmt->trigname, strVal(linitial(stmt->args)));

	/*
	 * Where the catalog is of another version than the library, there is
	 * nothing to adopt.
	 */
	if (!catalog_is_current_version())
		return;
	refuse_other_trigger(relid, stmt);
	refuse_misused_function(relid, stmt, function);

	/*
	 * Each node of Citus learns in this way of an index table that is created
	 * on another one.
	 */
	if (stmt->args != NIL && place_of(relid)->triggers->adopt != NULL)
		place_of(relid)->triggers->adopt();
	if (strcmp(stmt->trigname, GUARD) == 0)
		revoke_default_privileges(relid);
	fact = catalog_fact_of(index_table_of(relid));
	adopt_restored(OidIsValid(fact) ? fact : registered_root(relid));
	/* Those of Citus have arguments. */
	if (strcmp(stmt->trigname, GUARD) == 0 && stmt->args == NIL)
		warn_undefined(relid);
}

/*
 * switches_our_triggers
 *		Returns whether a command enables or disables triggers of the extension.
 *
 * A restore enables and disables the triggers of users before all of the extension's
 * triggers are there.
 */
static bool
switches_our_triggers(Oid relid, List *subcommands)
{
	foreach_ptr(CollectedATSubcmd, subcommand, subcommands)
	{
		AlterTableCmd *cmd = castNode(AlterTableCmd, subcommand->parsetree);

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
				/* The triggers of a fact table are to be enabled like this. */
				if (is_our_trigger(cmd->name) && OidIsValid(index_table_of(relid)))
					return true;
				break;
			default:
				break;
		}
	}
	return false;
}

/*
 * check_key_of_partition
 *		Checks that a partition, if its fact table has no primary key, still has
 *		the index that its rows are found by.
 */
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
	if (def->ndefs > 0 && !OidIsValid(def->layout.pk_index))
	{
		/* The partition is not locked by a command on its parent. */
		rel = try_relation_open(partition, AccessShareLock);
		if (rel != NULL)
		{
			(void) row_key_index(def, rel);
			relation_close(rel, NoLock);
		}
	}
	relation_close(fact, NoLock);
}
