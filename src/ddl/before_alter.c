/*-------------------------------------------------------------------------
 *
 * before_alter.c
 *	  Refuses commands whose changes the maintenance of index tables would not see,
 *	  or that would make index tables wrong.
 *
 * The event triggers that fire before commands, and before a table is rewritten, call
 * this for every ALTER TABLE and CREATE TABLE in the database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "commands/event_trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "ddl.h"

PG_FUNCTION_INFO_V1(indextable_before_alter);

static void adopt_own(Oid relid);
static Oid	rewritten_table(void);
static void refuse_on_index_table(Oid relid, AlterTableCmd *cmd, bool adds_key);
static bool is_number_of_elements(Oid relid, AttrNumber attno);
static AttrNumber constrained_column(Oid relid, const char *constraint);
static bool is_needed_key(Oid relid, const char *constraint);
static bool adds_identity(AlterTableStmt *stmt);
static void refuse_trigger_change(Node *command);
static void refuse_shard(RenameStmt *stmt);
static void lock_for_partition(CreateStmt *stmt);
static void lock_root(Oid parent);
static void refuse_change(Oid relid, AlterTableCmd *cmd, bool may_follow);
pg_noreturn static void report_depending(AlterTableCmd *cmd, Oid table, bool of_column, IndexDef *totals);
static IndexDef *totals_with_column(FactDef *fact, const char *column);
static const char *what_it_changes(AlterTableCmd *cmd);

/*
 * indextable_before_alter
 *		Refuses a command, or prepares for what it will do (event trigger on
 *		ddl_command_start).
 *
 * It is called on table_rewrite, too, because an index table may have been created
 * while the command was waiting for its lock.
 */
Datum
indextable_before_alter(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigdata = (EventTriggerData *) fcinfo->context;
	Node	   *command;

	require_event_trigger(fcinfo, "before_alter");

	command = trigdata->parsetree;
	/* Of our own commands, only this event is told. */
	if (OidIsValid(altered_by_us) && strcmp(trigdata->event, "table_rewrite") == 0 &&
		index_table_of(rewritten_table()) == altered_by_us)
		PG_RETURN_VOID();
	check_extension_object_change(command);
	if (may_affect_filters(command) && strcmp(trigdata->event, "ddl_command_start") == 0)
		parse_filters_before_rename(command);
	refuse_trigger_change(command);
	if (IsA(command, RenameStmt) && ((RenameStmt *) command)->renameType == OBJECT_TRIGGER)
		refuse_forged_trigger(((RenameStmt *) command)->newname, true);
	if (names_tables(command))
		prepare_drop((DropStmt *) command);

	/*
	 * After a restore this records the dependencies by which the server drops
	 * what belongs together.
	 */
	else if (IsA(command, DropStmt) || IsA(command, DropOwnedStmt))
		adopt_all();
	if (IsA(command, CreateStmt) || IsA(command, CreateForeignTableStmt))
	{
		refuse_relations(command);
		lock_for_partition((CreateStmt *) command);
	}
	else if (IsA(command, CreateSchemaStmt))
	{
		refuse_relations(command);
		foreach_ptr(void, element, ((CreateSchemaStmt *) command)->schemaElts)
		{
			if (IsA(element, CreateStmt))
				lock_for_partition(element);
			else if (IsA(element, CreateTrigStmt))
				refuse_forged_trigger(((CreateTrigStmt *) element)->trigname,
									  ((CreateTrigStmt *) element)->args != NIL);
		}
	}
	else if (IsA(command, RenameStmt) && ((RenameStmt *) command)->relation != NULL)
	{
		adopt_own(RangeVarGetRelid(((RenameStmt *) command)->relation, NoLock, true));
		refuse_shard((RenameStmt *) command);
	}
	else if (IsA(command, AlterTableStmt))
	{
		AlterTableStmt *stmt = (AlterTableStmt *) command;
		Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
		bool		is_index_table;

		/* After ALTER TYPE, the tables of that type are rewritten one by one. */
		if (strcmp(trigdata->event, "table_rewrite") == 0)
			relid = rewritten_table();
		is_index_table = OidIsValid(index_table_of(relid));

		adopt_own(relid);
		refuse_relations(command);
		foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
		{
			if (cmd->subtype == AT_AttachPartition)
				lock_root(relid);
			else if (cmd->subtype == AT_DetachPartition || cmd->subtype == AT_DetachPartitionFinalize)
				prepare_detach(stmt, cmd);
			if (is_index_table)
				refuse_on_index_table(relid, cmd, adds_identity(stmt));

			/*
			 * Index tables follow it when the command has ended.  The columns
			 * that it drops are gone already when the table is rewritten, and
			 * definitions need not fit the table.
			 */
			else if ((cmd->subtype == AT_AlterColumnType || cmd->subtype == AT_DropColumn) &&
					 strcmp(trigdata->event, "table_rewrite") == 0 && stmt->objtype != OBJECT_TYPE)
				continue;
			else if (what_it_changes(cmd) != NULL)
				refuse_change(relid, cmd, stmt->objtype != OBJECT_TYPE);
		}
	}
	PG_RETURN_VOID();
}

/*
 * adopt_own
 *		Adopts the index tables of a table after a restore, unless the command is going to be
 *		refused to the current user.
 */
static void
adopt_own(Oid relid)
{
	if (OidIsValid(relid) && owns_relation(relid, GetUserId()))
		adopt_restored(relid);
}

/*
 * refuse_again
 *		Refuses a command after it has been run, which undoes it: see refuse_relations_of().
 */
void
refuse_again(Node *command, List *commands)
{
	AlterTableStmt *stmt = IsA(command, AlterTableStmt) ? (AlterTableStmt *) command : NULL;
	Oid			relid = altered_relation(commands);

	foreach_ptr(CollectedCommand, collected, commands)
	{
		if (IS_COMMAND(collected, CreateStmt) || IS_COMMAND(collected, CreateForeignTableStmt))
			refuse_relations_of(created_object(collected, RelationRelationId));
		foreach_ptr(CollectedATSubcmd, subcommand,
					collected->type == SCT_AlterTable ? collected->d.alterTable.subcmds : NIL)
		{
			AlterTableType subtype = plain_subtype(castNode(AlterTableCmd, subcommand->parsetree));

			foreach_oid(partition, subtype == AT_AttachPartition ?
						attached_partitions(collected->d.alterTable.objectId, subcommand) : NIL)
				refuse_relations_of(partition);
			if (subtype == AT_AddInherit || subtype == AT_AddColumn || subtype == AT_AddConstraint)
				refuse_relations_of(collected->d.alterTable.objectId);
		}
	}
	foreach_ptr(AlterTableCmd, cmd, stmt != NULL && OidIsValid(index_table_of(relid)) ? stmt->cmds : NIL)
	{
		/* What was dropped, or has another type, is found out in other ways. */
		if (cmd->subtype == AT_AddColumn || cmd->subtype == AT_AddConstraint || cmd->subtype == AT_SetNotNull)
			refuse_on_index_table(relid, cmd, true);
	}
}

/* rewritten_table: returns the table that the event table_rewrite is about */
static Oid
rewritten_table(void)
{
	Rows		rows = query_as(InvalidOid, "SELECT pg_catalog.pg_event_trigger_table_rewrite_oid()");

	return DatumGetObjectId(row_value(&rows, 0, 1));
}

/*
 * refuse_on_index_table
 *		Refuses a change of an index table that would make its entries wrong, or
 *		that would not take effect when entries are written.  adds_key is whether the command also
 *		adds a primary key.
 */
static void
refuse_on_index_table(Oid relid, AlterTableCmd *cmd, bool adds_key)
{
	const char *action = what_it_changes(cmd);
	const char *why = NULL;

	switch (cmd->subtype)
	{
		case AT_SetUnLogged:
			why = "An index table is logged as its fact table is.";
			break;
		case AT_SetAccessMethod:
			why = "The access method of an index table is \"heap\".";
			break;
		case AT_SetNotNull:
			action = "ALTER COLUMN ... SET NOT NULL";
			why = "Constraints are not checked when entries are written.";
			break;
		case AT_DropNotNull:
			if (is_number_of_elements(relid, get_attnum(relid, cmd->name)))
			{
				action = "ALTER COLUMN ... DROP NOT NULL";
				why = "The column belongs to the definition of the index table.";
			}
			break;
		case AT_AttachPartition:
			action = "ATTACH PARTITION";
			why = "The rows of the partition would appear as entries.";
			break;
		case AT_DetachPartition:
			action = "DETACH PARTITION";
			why = "The entries of the partition would be missing.";
			break;
		case AT_DetachPartitionFinalize:
			action = "DETACH PARTITION ... FINALIZE";
			why = "The entries of the partition would be missing.";
			break;
		case AT_AddColumn:
			{
				ColumnDef  *column = castNode(ColumnDef, cmd->def);

				if (column->constraints != NIL || column->raw_default != NULL || column->is_not_null)
				{
					action = "ADD COLUMN";
					why = "Defaults are not applied and constraints are not checked when entries are written.";
				}
				break;
			}
		case AT_DropConstraint:
			if (!adds_key && is_needed_key(relid, cmd->name))
			{
				action = "DROP CONSTRAINT";
				why = "Entries are found by this constraint.";
			}
			else if (is_number_of_elements(relid, constrained_column(relid, cmd->name)))
			{
				action = "DROP CONSTRAINT";
				why = "The column belongs to the definition of the index table.";
			}
			break;
		case AT_AddConstraint:

			/*
			 * Unique indexes are, and with them the constraints that have
			 * one.
			 */
			if ((castNode(Constraint, cmd->def)->contype != CONSTR_PRIMARY &&
				 castNode(Constraint, cmd->def)->contype != CONSTR_UNIQUE) ||
				is_without_overlaps(castNode(Constraint, cmd->def)))
			{
				action = "ADD CONSTRAINT";
				why = "Constraints are not checked when entries are written.";
			}
			break;
		default:
			if (action != NULL && !is_own_column(index_table_of(relid), cmd->name))
				why = "The column belongs to the definition of the index table.";
			break;
	}
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ALTER action %s cannot be performed on index table \"%s\"", action, get_rel_name(relid)),
				 errdetail("%s", why),
				 errhint("Use indextable.alter(), or drop the index table and create it again.")));
}

/*
 * is_number_of_elements
 *		Returns whether a column of an index table may be the one that counts elements, which is told by being
 *		NOT NULL; see definition_complete_columns().
 *
 * The definition is not loaded, as it may not fit the table any more, which the command may mend.
 */
static bool
is_number_of_elements(Oid relid, AttrNumber attno)
{
	DefinitionRow *row = stored_definition(index_table_of(relid));
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));
	Form_pg_attribute att;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	att = (Form_pg_attribute) GETSTRUCT(tuple);
	result = row != NULL && !keeps_totals(row) && att->atttypid == INT4OID && att->attnotnull;
	ReleaseSysCache(tuple);
	return result && has_multi_field(row->key);
}

/* constrained_column: returns the column of which a constraint says that it is not NULL, or 0 */
static AttrNumber
constrained_column(Oid relid, const char *constraint)
{
#if PG_VERSION_NUM >= 180000
	Oid			oid = get_relation_constraint_oid(relid, constraint, true);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(oid));
	AttrNumber	result = 0;

	if (!HeapTupleIsValid(tuple))
		return 0;
	if (((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_NOTNULL)
		result = extractNotNullColumn(tuple);
	ReleaseSysCache(tuple);
	return result;
#else
	return 0;
#endif
}

/*
 * is_needed_key
 *		Returns whether a constraint of an index table, or of one of its partitions, is the
 *		primary key.  A restore drops that of an index table that is invalid.
 */
static bool
is_needed_key(Oid relid, const char *constraint)
{
	Oid			oid = get_relation_constraint_oid(relid, constraint, true);
	Oid			index = OidIsValid(oid) ? get_constraint_index(oid) : InvalidOid;
	DefinitionRow *stored = stored_definition(index_table_of(relid));
	Relation	rel;
	Relation	identity;
	bool		needed;

	if (!OidIsValid(index) || stored == NULL || stored->state == STATE_INVALID ||
		!owns_relation(relid, GetUserId()))
		return false;
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		return false;
	identity = open_identity_index(rel, identified_by_primary_key(stored));
	needed = identity != NULL && RelationGetRelid(identity) == index;
	if (identity != NULL)
		index_close(identity, AccessShareLock);
	relation_close(rel, AccessShareLock);
	return needed;
}

/*
 * adds_identity
 *		Returns whether a command adds a constraint by which entries can be found, maybe in
 *		the place of one that it drops.
 */
static bool
adds_identity(AlterTableStmt *stmt)
{
	foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
	{
		Constraint *added = cmd->subtype == AT_AddConstraint ? castNode(Constraint, cmd->def) : NULL;

		if (added != NULL &&
			(added->contype == CONSTR_PRIMARY || (added->contype == CONSTR_UNIQUE && added->nulls_not_distinct)))
			return true;
	}
	return false;
}

/*
 * refuse_trigger_change
 *		Refuses to rename a trigger of the extension, or to change what it depends
 *		on: the extension knows its triggers by their names.
 */
static void
refuse_trigger_change(Node *command)
{
	RangeVar   *table = NULL;
	const char *name = NULL;
	Oid			relid;

	if (IsA(command, RenameStmt) && ((RenameStmt *) command)->renameType == OBJECT_TRIGGER)
	{
		table = ((RenameStmt *) command)->relation;
		name = ((RenameStmt *) command)->subname;
	}
	else if (IsA(command, AlterObjectDependsStmt) &&
			 ((AlterObjectDependsStmt *) command)->objectType == OBJECT_TRIGGER)
	{
		table = ((AlterObjectDependsStmt *) command)->relation;
		name = strVal(llast(castNode(List, ((AlterObjectDependsStmt *) command)->object)));
	}
	if (name == NULL || !is_our_trigger(name))
		return;
	relid = RangeVarGetRelid(table, NoLock, true);
	if (OidIsValid(relid) && (OidIsValid(index_table_of(relid)) || catalog_has_fact(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot alter trigger \"%s\" on table \"%s\"", name, table->relname),
				 errdetail("The trigger belongs to indextable."),
				 errhint("It is dropped with the index tables: %s",
						 told_drop(OidIsValid(index_table_of(relid)) ? index_table_of(relid) : relid))));
}

/*
 * refuse_shard
 *		Refuses to let Citus make a fact table or an index table the shard of a new table,
 *		which would take its name.
 *
 * Citus makes such a shard when a local table is added to its metadata, as by a foreign key
 * to one of its tables. It renames the table first.
 */
static void
refuse_shard(RenameStmt *stmt)
{
	Oid			relid;

	if (stmt->renameType != OBJECT_TABLE)
		return;
	relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	if (OidIsValid(relid) && (OidIsValid(index_table_of(relid)) || catalog_fact_in_use(registered_root(relid))) &&
		place_takes(relid, stmt->newname))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 OidIsValid(index_table_of(relid)) ?
				 errmsg("index table \"%s\" cannot become a table of Citus", get_rel_name(relid)) :
				 errmsg("table \"%s\" has index tables and cannot become a table of Citus", get_rel_name(relid)),
				 errdetail("Its rows would be written to a shard, past its triggers."),
				 errhint("Drop the index tables first. A foreign key to a table of Citus has the table become one, unless citus.enable_local_reference_table_foreign_keys is off.")));
}

/*
 * lock_for_partition
 *		Locks the fact table of a partition that is about to be created.
 *
 * For a partition of an index table, the fact table is locked first, as everywhere:
 * handle_new_index_partition() opens it when the index table is locked already.
 */
static void
lock_for_partition(CreateStmt *stmt)
{
	Oid			parent = stmt->partbound == NULL ? InvalidOid :
		RangeVarGetRelid(linitial(stmt->inhRelations), NoLock, true);

	if (OidIsValid(index_table_of(parent)) && owns_relation(parent, GetUserId()))
		LockRelationOid(catalog_fact_of(index_table_of(parent)), AccessShareLock);
	else
		lock_root(parent);
}

/*
 * lock_root
 *		Locks the fact table of a partition that is about to get a partition of
 *		its own.
 *
 * The command does not lock the fact table, but handle_new_partition() and
 * handle_attach_detach() read it when its partitions are locked already, whereas a
 * session that alters the fact table locks it before them.
 */
static void
lock_root(Oid parent)
{
	Oid			root = OidIsValid(parent) ? registered_root(parent) : InvalidOid;

	if (root != parent && catalog_has_fact(root) && owns_relation(parent, GetUserId()))
		LockRelationOid(root, AccessShareLock);
}

/*
 * refuse_change
 *		Refuses a change that fires no row triggers, of a column that entries
 *		depend on: of a fact table, or of a partitioned table that has fact tables
 *		among its partitions.  With may_follow, a change of a column's type that index
 *		tables can follow is not refused.
 */
static void
refuse_change(Oid relid, AlterTableCmd *cmd, bool may_follow)
{
	bool		of_column = cmd->subtype != AT_SetUnLogged && cmd->subtype != AT_SetAccessMethod;
	bool		follow = false;

	if (!OidIsValid(relid) || !owns_relation(relid, GetUserId()))
		return;					/* the command is going to be refused, and
								 * locks nothing before */

	/* What changes a partition as a whole concerns all of its fact table. */
	if (!of_column)
		relid = registered_root(relid);
	foreach_oid(table, list_with_partitions(relid))
	{
		Relation	fact;
		FactDef    *def;

		if (!catalog_has_fact(table))
			continue;

		/*
		 * The owner of a partition need not have rights on the fact table,
		 * and does not lock it.
		 */
		if (!of_column && !owns_relation(table, GetUserId()))
		{
			if (catalog_read_definitions(table, InvalidOid) != NIL)
				report_depending(cmd, table, false, NULL);
			continue;
		}
		if (!triggers_intact(table))
			continue;
		fact = try_relation_open(table, AccessShareLock);
		if (fact == NULL)
			continue;
		def = definition_of_fact(fact, RelationGetRelid(fact));
		if (def->nall > 0 &&
			(!of_column ||
			 bms_is_member(get_attnum(RelationGetRelid(fact), cmd->name) -
						   FirstLowInvalidHeapAttributeNumber, bms_union(def->layout.used, def->layout.queued))))
		{
			bool		can_follow = may_follow && cmd->subtype == AT_AlterColumnType &&
				can_follow_type(def, cmd->name);
			IndexDef   *totals = can_follow ? totals_with_column(def, cmd->name) : NULL;

			if (can_follow && totals == NULL)
			{
				prepare_type_change(def);
				relation_close(fact, AccessShareLock);
				follow = true;
				continue;
			}
			report_depending(cmd, table, of_column, totals);
		}

		/*
		 * The lock is released, because ALTER TABLE takes a stronger one: two
		 * sessions that held this one would wait for each other.
		 */
		relation_close(fact, AccessShareLock);
	}
	if (follow)
		lock_for_type_change(relid);
}

/*
 * report_depending
 *		Raises the error for a change of a table, or of a column of it, that index tables
 *		depend on.
 */
static void
report_depending(AlterTableCmd *cmd, Oid table, bool of_column, IndexDef *totals)
{
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("ALTER action %s cannot be performed on table \"%s\" because index tables depend on it",
					what_it_changes(cmd), get_rel_name(table)),
			 totals != NULL ? errdetail("Totals \"%s\" use column \"%s\".", totals->name, cmd->name) :
			 of_column ? errdetail("Index tables use column \"%s\".", cmd->name) : 0,
			 totals != NULL ?
			 errhint("First run DROP TABLE %s; and create the totals again afterwards.", quoted_relation(totals->relid)) :
			 errhint("First run %s and create the index tables again afterwards.", told_drop(table))));
}

/*
 * totals_with_column
 *		Returns totals of a fact table that use a column, of which they cannot follow another
 *		type, or NULL.
 */
static IndexDef *
totals_with_column(FactDef *fact, const char *column)
{
	int			attno = get_attnum(fact->relid, column);

	for (int i = 0; i < fact->ntotals; i++)
		if (bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, fact->totals[i]->spec.used))
			return fact->totals[i];
	return NULL;
}

/*
 * what_it_changes
 *		Returns the name of a subcommand that changes a column, or the whole
 *		table, in a way that matters; NULL: it does not.
 */
static const char *
what_it_changes(AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_DropColumn:
			return "DROP COLUMN";
		case AT_AlterColumnType:
			return "ALTER COLUMN ... SET DATA TYPE";
#if PG_VERSION_NUM >= 170000
		case AT_SetExpression:
			return "ALTER COLUMN ... SET EXPRESSION";
#endif
		case AT_SetUnLogged:
			return "SET UNLOGGED";
		case AT_SetAccessMethod:
			return "SET ACCESS METHOD";
		default:
			return NULL;
	}
}
