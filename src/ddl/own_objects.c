/*-------------------------------------------------------------------------
 *
 * own_objects.c
 *	  Refuses DDL on what the extension itself needs: its tables, the queue tables,
 *	  and the indexes that asynchronous index tables are kept in step by.
 *
 * Event triggers call this before a command and after a DROP.  A superuser is
 * refused, too: nobody means to lose changes that were committed.
 *
 * The extension's scripts, pg_upgrade and a DROP of the extension itself are not
 * refused anything.  Neither is a restore: it drops the triggers of index tables
 * first, which makes these invalid, and what belongs to invalid index tables may be
 * dropped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "ddl.h"

/* The tables of the extension, and the indexes that it reads them by. */
static const char *const catalog_relations[] = {
	"fact", "fact_pkey", "definition", "definition_pkey", "definition_fact_table",
	"skipped", "skipped_index_table", "rejection", "rejection_index_table", "rejection_key",
	"build", "build_pkey", "checked", "checked_index_table", "counted", "counted_pkey",
	"completeness", "completeness_index_table", "hidden", "hidden_index_table", "timeline", "timeline_pkey"
};

static bool is_protection_off(void);
static Oid	some_index_table(Oid relid);
static void refuse_on_relation(RangeVar *table, List *commands);
static bool is_harmless(AlterTableCmd *cmd);
static void refuse_index_tables(DropStmt *stmt);
static void refuse_on_function(ObjectType type, Node *function);
static Oid	fact_of_queue(Oid relid);
static bool has_valid_queued_index_tables(Oid fact);
pg_noreturn static void refuse(bool drop, Oid class, Oid object);
pg_noreturn static void refuse_queue(bool drop, const char *name, Oid fact);

/*
 * check_extension_object_change
 *		Refuses a command that is about to be run, if it changes an object that
 *		the extension needs.
 */
void
check_extension_object_change(Node *command)
{
	if (is_protection_off())
		return;
	if (IsA(command, RenameStmt))
	{
		RenameStmt *stmt = (RenameStmt *) command;

		if (stmt->renameType == OBJECT_SCHEMA && is_own_schema(get_namespace_oid(stmt->subname, true)))
			refuse(false, NamespaceRelationId, get_namespace_oid(stmt->subname, false));
		if (stmt->relation != NULL)
			refuse_on_relation(stmt->relation, NIL);
		else
			refuse_on_function(stmt->renameType, stmt->object);
	}
	else if (IsA(command, AlterObjectSchemaStmt))
	{
		AlterObjectSchemaStmt *stmt = (AlterObjectSchemaStmt *) command;

		if (stmt->relation != NULL)
			refuse_on_relation(stmt->relation, NIL);
		else
			refuse_on_function(stmt->objectType, stmt->object);
	}
	else if (IsA(command, AlterTableStmt))
		refuse_on_relation(((AlterTableStmt *) command)->relation, ((AlterTableStmt *) command)->cmds);
	else if (IsA(command, AlterExtensionContentsStmt))
	{
		AlterExtensionContentsStmt *stmt = (AlterExtensionContentsStmt *) command;

		if (stmt->action < 0 && strcmp(stmt->extname, IT_SCHEMA) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot remove objects from extension " IT_SCHEMA),
					 errdetail("Index tables need all objects of the extension.")));

		/* The role that has installed it owns it, but nothing in it. */
		if (stmt->action > 0 && strcmp(stmt->extname, IT_SCHEMA) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot add objects to extension " IT_SCHEMA),
					 errdetail("What belongs to an extension is neither dumped nor dropped by itself, and is taken for a part of it.")));
	}
	else if (IsA(command, DropStmt) && ((DropStmt *) command)->removeType == OBJECT_TABLE && !setting_drop_table)
		refuse_index_tables((DropStmt *) command);
	else if (IsA(command, DropStmt) && ((DropStmt *) command)->removeType == OBJECT_SCHEMA &&
			 ((DropStmt *) command)->behavior == DROP_CASCADE)
	{
		foreach_ptr(void, schema, ((DropStmt *) command)->objects)
		{
			if (is_own_schema(get_namespace_oid(strVal(schema), true)))
				refuse(true, NamespaceRelationId, get_namespace_oid(strVal(schema), false));
		}
	}
}

static bool
is_protection_off(void)
{
	return creating_extension || IsBinaryUpgrade || !OidIsValid(get_extension_oid(IT_SCHEMA, true));
}

/*
 * refuse_on_relation
 *		Refuses a command on a relation of the extension, or on a queue table that
 *		is in use.
 *
 * 'commands' has the subcommands of ALTER TABLE; NIL: it is another command.
 */
static void
refuse_on_relation(RangeVar *table, List *commands)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);
	bool		harmless = commands != NIL;
	Oid			fact;

	if (!OidIsValid(relid) || !is_own_schema(get_rel_namespace(relid)))
		return;
	foreach_ptr(AlterTableCmd, cmd, commands)
		harmless &= is_harmless(cmd);
	if (harmless)
		return;
	if (get_rel_relkind(relid) == RELKIND_INDEX)
	{
		/* The command may be ALTER INDEX, or ALTER TABLE on an index. */
		for (int i = 0; i < (int) lengthof(catalog_relations); i++)
			if (strcmp(get_rel_name(relid), catalog_relations[i]) == 0)
				refuse(false, RelationRelationId, relid);
		return;
	}
	if (is_extension_member(RelationRelationId, relid))
		refuse(false, RelationRelationId, relid);
	fact = fact_of_queue(relid);
	if (OidIsValid(fact) && has_valid_queued_index_tables(fact))
		refuse_queue(false, get_rel_name(relid), fact);
}

/*
 * is_harmless
 *		Returns whether a subcommand does not change how the extension reads and
 *		writes a table; a restore enables and disables triggers.
 */
static bool
is_harmless(AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_SetStatistics:
		case AT_SetStorage:
		case AT_SetCompression:
		case AT_SetOptions:
		case AT_ResetOptions:
		case AT_SetRelOptions:
		case AT_ResetRelOptions:
		case AT_SetTableSpace:
		case AT_ReplicaIdentity:
		case AT_ClusterOn:
		case AT_DropCluster:
		case AT_EnableTrig:
		case AT_EnableAlwaysTrig:
		case AT_EnableReplicaTrig:
		case AT_DisableTrig:
		case AT_EnableTrigAll:
		case AT_DisableTrigAll:
		case AT_EnableTrigUser:
		case AT_DisableTrigUser:
			return true;
		default:
			return false;
	}
}

/*
 * refuse_index_tables
 *		Refuses DROP TABLE of index tables, unless their fact tables are dropped by the same
 *		command, if the user has asked for that.
 */
static void
refuse_index_tables(DropStmt *stmt)
{
	List	   *dropped = NIL;

	foreach_ptr(List, names, stmt->objects)
		dropped = lappend_oid(dropped, RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true));
	foreach_oid(relid, dropped)
	{
		Oid			fact = OidIsValid(relid) ? catalog_fact_of(relid) : InvalidOid;

		if (OidIsValid(fact) && !list_member_oid(dropped, fact))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("DROP TABLE of index table \"%s\" is refused", get_rel_name(relid)),
					 errdetail("It is an index table of %s, and indextable.drop_table is off.", quoted_relation(fact)),
					 errhint("To drop it, run %s", told_select("drop", relid, ""))));
	}
}

static void
refuse_on_function(ObjectType type, Node *function)
{
	Oid			oid;

	if (type != OBJECT_FUNCTION && type != OBJECT_PROCEDURE && type != OBJECT_ROUTINE)
		return;
	oid = LookupFuncWithArgs(type, (ObjectWithArgs *) function, true);
	if (OidIsValid(oid) && is_extension_member(ProcedureRelationId, oid))
		refuse(false, ProcedureRelationId, oid);
}

/*
 * check_extension_object_drop
 *		Raises an error if an object in a schema of the extension, which was
 *		dropped, is an index or trigger that the extension needs.
 *
 * 'subobject' is the name of a trigger, with the schema and the name of its table.
 */
void
check_extension_object_drop(const char *type, const char *schema, const char *name, const char *subobject)
{
	/* Those of queue tables are dropped with these, and by a restore. */
	bool		is_trigger = strcmp(type, "trigger") == 0 &&
		(strcmp(subobject, "restored") == 0 || is_own_guard(subobject)) && OidIsValid(catalog_relid(name, true));
	bool		is_index = false;

	if (is_protection_off())
		return;
	for (int i = 0; i < (int) lengthof(catalog_relations) && strcmp(type, "index") == 0; i++)
		if (strcmp(name, catalog_relations[i]) == 0)
			is_index = true;
	if (is_trigger || is_index)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 is_trigger ?
				 errmsg("cannot drop trigger %s on table %s.%s because extension " IT_SCHEMA " requires it", subobject, schema, name) :
				 errmsg("cannot drop index %s.%s because extension " IT_SCHEMA " requires it", schema, name),
				 errhint("You can drop extension " IT_SCHEMA " instead.")));
}

/*
 * refuse_drop_of_queue
 *		Raises an error if a table in a schema of the extension, which was
 *		dropped, is a queue table whose fact table still exists and needs it.
 */
void
refuse_drop_of_queue(Oid relid, const char *name)
{
	Oid			fact = is_protection_off() ? InvalidOid : fact_of_queue(relid);

	/* What the coordinator drops on the other nodes, it has checked. */
	if (OidIsValid(fact) && get_rel_name(fact) != NULL && has_valid_queued_index_tables(fact) &&
		!place_is_governed_elsewhere(fact))
		refuse_queue(true, name, fact);
}

/*
 * refuse_drop_of_row_index
 *		Raises an error if the index that was dropped in a schema is one that an
 *		asynchronous index table is kept in step by.
 *
 * A session that has dropped an index has locked its table against all others, so no
 * other index table has to be looked at.
 */
void
refuse_drop_of_row_index(Oid schema)
{
	if (!OidIsValid(schema) || is_protection_off())
		return;
	foreach_ptr(DefinitionRow, row, catalog_definitions())
	{
		IndexDef   *def;
		LOCKTAG		tag;

		SET_LOCKTAG_RELATION(tag, MyDatabaseId, row->index_table);
		if (!is_queued(row) || row->state == STATE_INVALID || get_rel_namespace(row->index_table) != schema ||
			!lock_held_by_me_exclusively(&tag) || !definition_matches_tables(row))
			continue;
		def = definition_of_index_table(row->index_table);
		if (def != NULL && !OidIsValid(def->layout.row_index))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot drop the index on the primary key of \"%s\" because index table \"%s\" requires it",
							def->fact->name, def->name),
					 errdetail("Changes of a row cannot be applied without an index that finds its entries."),
					 errhint("The index is dropped when the index table is made transactional: %s",
							 told_select("alter", def->relid, ", maintenance => 'transactional'"))));
	}
}

/*
 * fact_of_queue
 *		Returns the fact table that a relation is a queue table of; InvalidOid: it is none.
 */
static Oid
fact_of_queue(Oid relid)
{
	foreach_ptr(FactTableRow, row, catalog_queues(true))
	{
		if (row->queue == relid || row->spare == relid)
			return row->fact_table;
	}
	return InvalidOid;
}

/*
 * has_valid_queued_index_tables
 *		Returns whether a fact table has index tables that its queue keeps in
 *		step, here or on another server.
 */
static bool
has_valid_queued_index_tables(Oid fact)
{
	if (catalog_is_feed(fact))
		return true;
	foreach_ptr(DefinitionRow, row, catalog_queued_definitions(fact))
	{
		if (row->state != STATE_INVALID)
			return true;
	}
	return false;
}

/*
 * refuse
 *		Raises an error in the words of the server: an object cannot be dropped, or not be
 *		altered.
 */
static void
refuse(bool drop, Oid class, Oid object)
{
	ObjectAddress address;

	ObjectAddressSet(address, class, object);
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 drop ?
			 errmsg("cannot drop %s because extension " IT_SCHEMA " requires it", getObjectDescription(&address, false)) :
			 errmsg("cannot alter %s because extension " IT_SCHEMA " requires it", getObjectDescription(&address, false)),
			 errhint("You can drop extension " IT_SCHEMA " instead.")));
}

static void
refuse_queue(bool drop, const char *name, Oid fact)
{
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 drop ?
			 errmsg("cannot drop queue table \"%s\" because index tables of %s require it",
					name, quoted_relation(fact)) :
			 errmsg("cannot alter queue table \"%s\" because index tables of %s require it",
					name, quoted_relation(fact)),
			 errdetail("It holds changes that are not yet applied to asynchronous index tables."),
			 errhint("The table is dropped when none of them needs it any more. For that, run %s", told_unqueue(fact))));
}

/*
 * refuse_forged_trigger
 *		Refuses to have users make triggers as they carry definitions of index tables to the
 *		nodes of Citus, where they are believed: see citus/distributed_queue.c.
 *
 * Those of shards, which Citus makes as the owner of the table, have other names.
 */
void
refuse_forged_trigger(const char *name, bool has_arguments)
{
	if (has_arguments && is_our_trigger(name) && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to make trigger \"%s\"", name),
				 errdetail("Only indextable may make triggers with this name and with arguments."),
				 errhint("Choose another name.")));
}

/*
 * refuse_trigger_of_others
 *		Raises an error if a trigger that has just been created has a name of ours, or calls a
 *		function of ours, and it is not the owner of the table who has created it.
 *
 * The right TRIGGER on the table is not enough: a table with our guard cannot be written, and
 * loses what default privileges have given on it; and writers of a shard of Citus would make no entries.
 */
void
refuse_trigger_of_others(Oid relid, CreateTrigStmt *stmt, Oid function)
{
	bool		named = is_our_trigger(stmt->trigname) || is_our_copied_trigger(stmt->trigname);

	if (owns_relation(relid, GetUserId()) || (!named && !is_extension_member(ProcedureRelationId, function)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be owner of table %s to create trigger \"%s\"", get_rel_name(relid), stmt->trigname),
			 named ? errdetail("Triggers with this name belong to indextable.") :
			 errdetail("It calls a function of indextable."),
			 errhint("Choose another %s.", named ? "name" : "function")));
}

/*
 * refuse_misused_function
 *		Raises an error if a trigger that has just been created calls a function of ours, and is
 *		none that we or a restore would make.
 *
 * Those with arguments are of shards, or were looked at: refuse_forged_trigger().
 */
void
refuse_misused_function(Oid relid, CreateTrigStmt *stmt, Oid function)
{
	Relation	rel;
	bool		as_made;

	if (stmt->args != NIL || !is_extension_member(ProcedureRelationId, function) ||
		is_own_schema(get_rel_namespace(relid)))
		return;
	rel = relation_open(relid, AccessShareLock);
	as_made = is_our_trigger(stmt->trigname) &&
		trigger_is_as_made(rel, stmt->trigname, TRIGGER_FIRES_ON_ORIGIN, false);
	relation_close(rel, NoLock);
	if (!as_made)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot create trigger \"%s\" on table \"%s\"", stmt->trigname, get_rel_name(relid)),
				 errdetail("It calls a function of indextable, which only triggers of indextable may call."),
				 errhint("Choose another function.")));
}

/*
 * refuse_other_trigger
 *		Refuses a trigger with the name of one of ours on a fact table, an index table, or a partition
 *		of one.  It is accepted only if it is just as we or a restore make it.
 *
 * The right TRIGGER on the table is enough to replace one, and the index tables would be wrong
 * with one that fires for less.
 */
void
refuse_other_trigger(Oid relid, CreateTrigStmt *stmt)
{
	Relation	rel;
	bool		as_made;
	Oid			index_table;

	if (place_has_parts(relid) ||
		(!OidIsValid(index_table_of(relid)) && !catalog_has_fact(registered_root(relid))))
		return;
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		return;
	as_made = trigger_is_as_made(rel, stmt->trigname, TRIGGER_FIRES_ON_ORIGIN, false);
	relation_close(rel, NoLock);
	index_table = some_index_table(relid);
	if (stmt->replace || !as_made)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 stmt->replace ? errmsg("cannot replace trigger \"%s\" on table \"%s\"", stmt->trigname, get_rel_name(relid)) :
				 errmsg("cannot create trigger \"%s\" on table \"%s\"", stmt->trigname, get_rel_name(relid)),
				 errdetail("Triggers with this name belong to indextable."),
				 !OidIsValid(index_table) ? errhint("Choose another name.") :
				 errhint("Choose another name. To restore the triggers of indextable, run %s", told_call("repair", index_table))));
}

/*
 * some_index_table
 *		Returns an index table that a table is or has, or that the table which it is a
 *		partition of has.
 */
static Oid
some_index_table(Oid relid)
{
	Oid			index_table = index_table_of(relid);
	List	   *definitions;

	if (OidIsValid(index_table))
		return index_table;
	definitions = catalog_read_definitions(registered_root(relid), InvalidOid);
	return definitions == NIL ? InvalidOid : ((DefinitionRow *) linitial(definitions))->index_table;
}

/*
 * refuse_row_trigger
 *		Refuses triggers for rows of an index table, and of the extension's own tables, whose rows are
 *		written without them.  A restore creates the guards of queue tables, which call our own function.
 *
 * Tools that copy a table beside its writers, as pg_repack does, learn by them what is written
 * meanwhile, and would lose it.
 */
void
refuse_row_trigger(Oid relid, const char *name, Oid function)
{
	Oid			table = place_table_of_part(relid);
	Oid			index_table = index_table_of(OidIsValid(table) ? table : relid);

	if (is_own_schema(get_rel_namespace(relid)) && !is_own_schema(get_func_namespace(function)) &&
		!is_protection_off())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("trigger \"%s\" cannot be for each row of table \"%s\" of extension " IT_SCHEMA, name,
						get_rel_name(relid)),
				 errdetail("Its rows are written without firing triggers."),
				 errhint("Tools that copy tables have to leave it out: pg_repack --exclude-extension=" IT_SCHEMA ".")));
	if (OidIsValid(index_table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("trigger \"%s\" cannot be for each row of index table \"%s\"", name, get_rel_name(relid)),
				 errdetail("Entries are written without firing triggers."),
				 errhint("Create the trigger on the fact table instead. To write the index table anew, run REINDEX or VACUUM FULL, or %s",
						 told_call("rebuild", index_table))));
}
