/*-------------------------------------------------------------------------
 *
 * alter.c
 *	  What follows when a fact table or an index table is altered.
 *
 * Called by event triggers for every ALTER TABLE in the database: it must be
 * cheap and work for everybody.  Renames and a new owner are followed; what
 * would make an index table wrong is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(indextable_on_alter);
PG_FUNCTION_INFO_V1(indextable_before_alter);

static Oid	rewritten_table(void);
static void check_new_table(CreateStmt *stmt);
static void refuse_change(Oid relid, AlterTableCmd *cmd);
static void refuse_child(RangeVar *parent);
static void refuse_parent(RangeVar *child, bool inherits);
static void refuse_own_index_tables(Oid parent, RangeVar *child);
static void refuse_references(List *elements);
static const char *what_it_changes(AlterTableCmd *cmd);
static bool may_rename(Node *command);
static void check_typed(Node *command);
static Oid	type_of_table(Oid relid);
static void load_definition(void *arg);
static void check_key_of_partition(Oid root, Oid partition);
static void follow_switched(AlterTableStmt *stmt);
static void follow_partitions(AlterTableStmt *stmt);
static void partition_attached(Oid root, Oid partition);
static void note_detached(Oid partition);
static void partition_detached(Oid root, Oid partition);
static void follow_new_partition(CreateStmt *stmt, char *schema);
static void follow_new_part(Oid index_table, Oid relid);
static void warn_subscribed(void);
static void follow_replaced(CreateTrigStmt *stmt);
static bool switches_our_triggers(AlterTableStmt *stmt);
static void refuse_trigger_change(Node *command);
static void refuse_on_index_table(Oid relid, RangeVar *table, AlterTableCmd *cmd);
static bool is_relevant(Node *command);
static void follow_names(IndexDef *def, Relation fact);
static List *present_specs(Field *fields, int n, Relation fact);
static void follow_owner(Oid index_table, Relation fact, bool change);

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
		follow_switched((AlterTableStmt *) trigdata->parsetree);
		follow_partitions((AlterTableStmt *) trigdata->parsetree);
	}
	else if (IsA(trigdata->parsetree, CreateStmt) || IsA(trigdata->parsetree, CreateForeignTableStmt))
		follow_new_partition((CreateStmt *) trigdata->parsetree, NULL);
	else if (IsA(trigdata->parsetree, CreateSchemaStmt))
	{
		foreach(cell, ((CreateSchemaStmt *) trigdata->parsetree)->schemaElts)
			if (IsA(lfirst(cell), CreateStmt))
				follow_new_partition(lfirst(cell), ((CreateSchemaStmt *) trigdata->parsetree)->schemaname);
	}
	else if (IsA(trigdata->parsetree, CreateTrigStmt))
		follow_replaced((CreateTrigStmt *) trigdata->parsetree);
	else if (IsA(trigdata->parsetree, CreateSubscriptionStmt) ||
			 IsA(trigdata->parsetree, AlterSubscriptionStmt))
		warn_subscribed();
	if (may_rename(trigdata->parsetree))
	{
		rename_ends();
		check_typed(trigdata->parsetree);
	}
	if (!is_relevant(trigdata->parsetree))
		PG_RETURN_VOID();
	altered = event_trigger_relations("pg_catalog.pg_event_trigger_ddl_commands()", true);
	foreach(cell, altered)
	{
		ListCell   *inner;

		foreach(inner, with_partitions(lfirst_oid(cell)))
		{
			Oid			relid = lfirst_oid(inner);
			Oid			fact = catalog_fact_of(index_table_of(relid));

			if (OidIsValid(fact))
				follow_table(fact, false, IsA(trigdata->parsetree, RenameStmt));
			else if (catalog_has_fact(relid))
				follow_table(relid, true, IsA(trigdata->parsetree, RenameStmt));
			else if (catalog_has_fact(registered_root(relid)))
				check_key_of_partition(registered_root(relid), relid);
		}
	}
	PG_RETURN_VOID();
}

/* with_partitions: a relation, and its partitions, which may be fact tables */
List *
with_partitions(Oid relid)
{
	if (!OidIsValid(relid))
		return NIL;
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(relid, NoLock, NULL) : list_make1_oid(relid);
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
 * may_rename
 *		Whether a command is about an object that index tables may depend on by way
 *		of a filter or a type.
 */
static bool
may_rename(Node *command)
{
	ObjectType	type;

	switch (nodeTag(command))
	{
		case T_RenameStmt:
			type = ((RenameStmt *) command)->renameType;
			return type != OBJECT_COLUMN && type != OBJECT_TABLE && type != OBJECT_TRIGGER &&
				type != OBJECT_INDEX && type != OBJECT_TABCONSTRAINT;
		case T_AlterObjectSchemaStmt:
			return ((AlterObjectSchemaStmt *) command)->objectType != OBJECT_TABLE;
		case T_AlterEnumStmt:
			return true;
		case T_AlterTableStmt:
			return ((AlterTableStmt *) command)->objtype == OBJECT_TYPE;
		default:
			return false;
	}
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
		if (lfirst_oid(cell) == relid || type_of_table(lfirst_oid(cell)) == get_rel_type_id(relid))
			check_definitions(lfirst_oid(cell));
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

/*
 * check_definitions
 *		Index tables of a fact table that cannot be kept in step any more are told
 *		of.
 */
void
check_definitions(Oid relid)
{
	ErrorData  *error;

	/* A restore may not have come to its primary key, or its triggers. */
	if (get_rel_name(relid) == NULL || !triggers_intact(relid))
		return;
	error = attempt(load_definition, &relid);
	if (error != NULL)
		invalidate_definitions(catalog_read(relid, InvalidOid), relid,
							   error->detail != NULL ? error->detail : error->message);
}

static void
load_definition(void *arg)
{
	Oid			relid = *(Oid *) arg;
	Relation	fact = relation_open(relid, AccessShareLock);

	(void) definition_of_fact(fact, relid);
	relation_close(fact, AccessShareLock);
}

/* follow_switched: triggers may have been enabled or disabled */
static void
follow_switched(AlterTableStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	ListCell   *cell;

	if (!OidIsValid(relid) || !switches_our_triggers(stmt))
		return;
	follow_triggers(relid);
	/* So ends a restore of data without triggers: what it did to ours was not seen by then. */
	if (!is_catalog_table(relid))
		return;
	adopt_all();
	foreach(cell, catalog_fact_tables())
		follow_triggers(lfirst_oid(cell));
	foreach(cell, catalog_index_tables())
		follow_triggers(lfirst_oid(cell));
}

/*
 * follow_partitions
 *		Entries come and go with the partition that has their rows.
 */
static void
follow_partitions(AlterTableStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst(cell);
		Oid			parent;
		Oid			root;
		Oid			partition;

		if (cmd->subtype != AT_AttachPartition && cmd->subtype != AT_DetachPartition &&
			cmd->subtype != AT_DetachPartitionFinalize)
			continue;
		parent = RangeVarGetRelid(stmt->relation, NoLock, true);
		if (!OidIsValid(parent))
			continue;
		root = registered_root(parent);
		partition = RangeVarGetRelid(((PartitionCmd *) cmd->def)->name, NoLock, true);
		if (!catalog_has_fact(root) || !OidIsValid(partition))
			continue;
		if (cmd->subtype == AT_AttachPartition)
			partition_attached(root, partition);
		else
			partition_detached(root, partition);
	}
}

static void
partition_attached(Oid root, Oid partition)
{
	Relation	rel = relation_open(root, NoLock);
	ListCell   *cell;

	lock_fact(partition, AccessExclusiveLock);
	check_partitions(rel);
	foreach(cell, with_partitions(partition))
		triggers_install_on(lfirst_oid(cell), root);
	CommandCounterIncrement();
	if (!catalog_fact_in_use(root))
	{
		relation_close(rel, NoLock);
		return;
	}
	check_row_key(definition_of_fact(rel, root), rel);
	relation_close(rel, NoLock);
	if (foreign_leaves(partition) != NIL)
		warn_foreign(root);
	partition_rows(root, partition, true);
	/* An older snapshot sees the rows, but not their entries: for look-ups the index tables are as young. */
	foreach(cell, catalog_read(root, InvalidOid))
		catalog_set_state(((StoredDefinition *) lfirst(cell))->row.index_table,
						  ((StoredDefinition *) lfirst(cell))->row.state,
						  ((StoredDefinition *) lfirst(cell))->row.problem);
	CacheInvalidateRelcacheByRelid(root);
}

static void
partition_detached(Oid root, Oid partition)
{
	lock_fact(partition, AccessExclusiveLock);
	if (catalog_fact_in_use(root))
		partition_rows(root, partition, false);
	triggers_remove_from(partition);
}

/* note_detached: a table that is about to be detached, if its entries go by its bounds then */
static void
note_detached(Oid partition)
{
	Oid			root = OidIsValid(partition) ? registered_root(partition) : InvalidOid;

	if (OidIsValid(root) && root != partition && catalog_fact_in_use(root) && foreign_leaves(partition) != NIL)
		note_leaving(partition);
}

/* follow_new_partition: CREATE TABLE ... PARTITION OF; it has no rows, unless it is on another server */
static void
follow_new_partition(CreateStmt *stmt, char *schema)
{
	Oid			relid;
	Oid			root;
	Relation	rel;

	if (stmt->partbound == NULL)
		return;
	relid = RangeVarGetRelid(schema == NULL || stmt->relation->schemaname != NULL ? stmt->relation :
							 makeRangeVar(schema, stmt->relation->relname, -1), NoLock, true);
	if (OidIsValid(relid) && OidIsValid(index_table_of(relid)))
	{
		follow_new_part(index_table_of(relid), relid);
		return;
	}
	root = OidIsValid(relid) ? registered_root(relid) : InvalidOid;
	if (!OidIsValid(root) || root == relid || !catalog_has_fact(root))
		return;
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
	{
		partition_attached(root, relid);
		return;
	}
	rel = relation_open(root, NoLock);
	check_partitions(rel);
	if (catalog_fact_in_use(root))
		check_row_key(definition_of_fact(rel, root), rel);
	relation_close(rel, NoLock);
	triggers_install_on(relid, root);
}

/*
 * follow_new_part
 *		CREATE TABLE ... PARTITION OF an index table: it has to be as those that we make.
 */
static void
follow_new_part(Oid index_table, Oid relid)
{
	Relation	parent = relation_open(index_table, NoLock);
	Relation	rel = relation_open(relid, NoLock);
	TupleDesc	a = RelationGetDescr(parent);
	TupleDesc	b = RelationGetDescr(rel);
	const char *why = NULL;
	bool		plain = rel->rd_options == NULL;
	int			i;

	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		why = "It is not an ordinary table.";
	else if (rel->rd_rel->relpersistence != parent->rd_rel->relpersistence)
		why = "It is logged and the index table is not, or the other way round.";
	else if (a->natts != b->natts)
		why = "The index table has columns that were dropped, and the partition does not have them.";
	for (i = 0; why == NULL && i < a->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(b, i);

		if (strcmp(NameStr(TupleDescAttr(a, i)->attname), NameStr(att->attname)) != 0)
			why = "Its columns are in another order than those of the index table.";
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
	if (plain)
		run_sql(catalog_owner(), "ALTER TABLE %s SET (" STORAGE_PARAMETERS ")", quoted_relation(relid));
	revoke_all(relid, parent->rd_rel->relowner);
	triggers_guard(index_table);
	CommandCounterIncrement();
	rel = relation_open(catalog_fact_of(index_table), AccessShareLock);
	follow_owner(index_table, rel, true);
	relation_close(rel, NoLock);
	relation_close(parent, NoLock);
}

/* warn_subscribed: entries that come from a publisher and from our triggers, too */
static void
warn_subscribed(void)
{
	ListCell   *cell;

	foreach(cell, catalog_index_tables())
		if (is_subscribed(lfirst_oid(cell)))
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("index table \"%s\" is written by a subscription and by its fact table's triggers",
							get_rel_name(lfirst_oid(cell))),
					 errdetail("Each would get in the way of the other."),
					 errhint("Have the fact table published, not the index table; or drop the index table here and let a plain table take its entries.")));
}

/* follow_replaced: a trigger of ours may be somebody else's now */
static void
follow_replaced(CreateTrigStmt *stmt)
{
	char	   *schema;
	char	   *function;

	DeconstructQualifiedName(stmt->funcname, &schema, &function);
	if (is_our_trigger(stmt->trigname) && (schema == NULL || strcmp(schema, IT_SCHEMA) != 0))
		follow_triggers(RangeVarGetRelid(stmt->relation, NoLock, true));
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

/*
 * indextable_before_alter
 *		Event trigger on ddl_command_start of CREATE TABLE and ALTER TABLE.
 *		Refuses what upkeep would not see.  On table_rewrite, too: an index table
 *		may have been created while the command was waiting for its lock.
 */
Datum
indextable_before_alter(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigdata = (EventTriggerData *) fcinfo->context;
	Node	   *command;
	ListCell   *cell;

	require_event_trigger(fcinfo, "before_alter");

	command = trigdata->parsetree;
	if (OidIsValid(guard_lifted))
		PG_RETURN_VOID();
	if (may_rename(command) && strcmp(trigdata->event, "ddl_command_start") == 0)
		rename_begins();
	refuse_trigger_change(command);
	if (IsA(command, DropStmt) && (((DropStmt *) command)->removeType == OBJECT_TABLE ||
								   ((DropStmt *) command)->removeType == OBJECT_FOREIGN_TABLE))
		before_drop((DropStmt *) command);
	else if (IsA(command, DropStmt) || IsA(command, DropOwnedStmt))
		note_partitions();
	if (IsA(command, CreateStmt) || IsA(command, CreateForeignTableStmt))
		check_new_table((CreateStmt *) command);
	else if (IsA(command, CreateSchemaStmt))
	{
		foreach(cell, ((CreateSchemaStmt *) command)->schemaElts)
			if (IsA(lfirst(cell), CreateStmt))
				check_new_table(lfirst(cell));
	}
	else if (IsA(command, RenameStmt) && ((RenameStmt *) command)->relation != NULL)
		adopt_restored(RangeVarGetRelid(((RenameStmt *) command)->relation, NoLock, true));
	else if (IsA(command, AlterTableStmt))
	{
		AlterTableStmt *stmt = (AlterTableStmt *) command;
		Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
		bool		is_index_table;

		/* Of a type: then the tables of that type are rewritten, one by one. */
		if (strcmp(trigdata->event, "table_rewrite") == 0)
			relid = rewritten_table();
		is_index_table = OidIsValid(index_table_of(relid));

		adopt_restored(relid);
		foreach(cell, stmt->cmds)
		{
			AlterTableCmd *cmd = lfirst(cell);

			if (cmd->subtype == AT_AddInherit)
			{
				refuse_child((RangeVar *) cmd->def);
				refuse_parent(stmt->relation, true);
			}
			else if (cmd->subtype == AT_AttachPartition)
			{
				refuse_parent(((PartitionCmd *) cmd->def)->name, false);
				refuse_own_index_tables(relid, ((PartitionCmd *) cmd->def)->name);
			}
			else if (cmd->subtype == AT_DetachPartition || cmd->subtype == AT_DetachPartitionFinalize)
				note_detached(RangeVarGetRelid(((PartitionCmd *) cmd->def)->name, NoLock, true));
			else if (cmd->subtype == AT_AddConstraint || cmd->subtype == AT_AddColumn)
				refuse_references(list_make1(cmd->def));
			if (is_index_table)
				refuse_on_index_table(relid, stmt->relation, cmd);
			else if (what_it_changes(cmd) != NULL)
				refuse_change(relid, cmd);
		}
	}
	PG_RETURN_VOID();
}

/* rewritten_table: the one that the event table_rewrite is about */
static Oid
rewritten_table(void)
{
	bool		isnull;
	Oid			relid;

	SPI_connect();
	if (SPI_execute("SELECT pg_catalog.pg_event_trigger_table_rewrite_oid()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the table of the event");
	relid = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return relid;
}

/*
 * refuse_on_index_table
 *		What would not be true of entries, or not be seen when they are written.
 */
static void
refuse_on_index_table(Oid relid, RangeVar *table, AlterTableCmd *cmd)
{
	const char *what = NULL;

	switch (cmd->subtype)
	{
		case AT_SetUnLogged:
		case AT_SetAccessMethod:
			what = what_it_changes(cmd);
			break;
		case AT_SetNotNull:
			what = "forbid nulls in a column";
			break;
		case AT_AttachPartition:
			what = "take a table's rows for entries";
			break;
		case AT_DetachPartition:
		case AT_DetachPartitionFinalize:
			what = "take entries away";
			break;
		case AT_AddColumn:
			{
				ColumnDef  *column = castNode(ColumnDef, cmd->def);

				if (column->constraints != NIL || column->raw_default != NULL || column->is_not_null)
					what = "add a column with a default or a constraint";
				break;
			}
		case AT_AddConstraint:
			if (castNode(Constraint, cmd->def)->contype == CONSTR_CHECK)
				what = "add a check constraint";
			break;
		default:
			if (what_it_changes(cmd) != NULL && !is_own_column(index_table_of(relid), cmd->name))
				what = psprintf("%s a column", what_it_changes(cmd));
			break;
	}
	if (what != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter index table \"%s\" like that", table->relname),
				 errdetail("The command would %s.", what),
				 errhint("Use indextable.alter(), or drop the index table and create it anew.")));
}

/* refuse_trigger_change: ours go by their names, and are nobody else's */
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
				 errmsg("cannot alter trigger \"%s\" of table \"%s\"", name, table->relname),
				 errdetail("It belongs to indextable."),
				 errhint("It goes when the index tables of the table are dropped.")));
}

/* check_new_table: a foreign table's statement begins with that of a table */
static void
check_new_table(CreateStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->inhRelations)
	{
		Oid			parent = RangeVarGetRelid(lfirst(cell), NoLock, true);
		bool		part = stmt->partbound != NULL && OidIsValid(index_table_of(parent));

		if (stmt->partbound == NULL || (part && IsA(stmt, CreateForeignTableStmt)))
			refuse_child(lfirst(cell));
		/* The fact table first, as everybody does: see follow_new_part(). */
		else if (part && owns_relation(parent, GetUserId()))
			LockRelationOid(catalog_fact_of(index_table_of(parent)), AccessShareLock);
	}
	refuse_references(stmt->tableElts);
}

/*
 * refuse_change
 *		Of a column that entries depend on, which fires no row triggers, in a fact
 *		table or a partitioned table that one is a partition of.
 */
static void
refuse_change(Oid relid, AlterTableCmd *cmd)
{
	bool		of_column = cmd->subtype != AT_SetUnLogged && cmd->subtype != AT_SetAccessMethod;
	ListCell   *cell;

	/* Of a partition, that is something for all of the table. */
	if (!of_column)
		relid = registered_root(relid);
	foreach(cell, with_partitions(relid))
	{
		Relation	fact;
		FactDef    *def;

		if (!catalog_has_fact(lfirst_oid(cell)) || !triggers_intact(lfirst_oid(cell)))
			continue;
		fact = try_relation_open(lfirst_oid(cell), AccessShareLock);
		if (fact == NULL)
			continue;
		def = definition_of_fact(fact, RelationGetRelid(fact));
		if (def->ndefs > 0 &&
			(!of_column ||
			 bms_is_member(get_attnum(RelationGetRelid(fact), cmd->name) -
						   FirstLowInvalidHeapAttributeNumber, bms_union(def->used, def->queued))))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot alter table \"%s\" because index tables depend on it",
							RelationGetRelationName(fact)),
					 of_column ?
					 errdetail("The command would %s column \"%s\".", what_it_changes(cmd), cmd->name) :
					 errdetail("The command would %s.", what_it_changes(cmd)),
					 errhint("Drop the index tables first, and create them again afterwards.")));
		/* ALTER TABLE takes a stronger lock; two that held this one would deadlock. */
		relation_close(fact, AccessShareLock);
	}
}

/*
 * refuse_child
 *		Of a fact table, whose triggers would not fire for the child's rows, or of an
 *		index table, which nobody writes.
 */
static void
refuse_child(RangeVar *parent)
{
	Oid			relid = RangeVarGetRelid(parent, NoLock, true);

	if (!OidIsValid(relid))
		return;
	if (OidIsValid(index_table_of(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from index table \"%s\"", parent->relname),
				 errdetail("The rows of a child would be taken for entries.")));
	if (catalog_has_fact(relid) && catalog_fact_in_use(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from table \"%s\" because it has index tables", parent->relname),
				 errdetail("They would have no entries for the rows of a child."),
				 errhint("Drop the index tables first.")));
}

/*
 * refuse_parent
 *		Statements on a parent do not fire the statement triggers of its children:
 *		neither the guard of an index table nor, but for partitions, ours.
 */
static void
refuse_parent(RangeVar *child, bool inherits)
{
	Oid			relid = RangeVarGetRelid(child, NoLock, true);

	if (OidIsValid(relid) &&
		(OidIsValid(catalog_fact_of(relid)) ||
		 (inherits && catalog_has_fact(relid) && catalog_fact_in_use(relid))))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot have a parent", child->relname),
				 errdetail("It is an index table, or has index tables."),
				 errhint("Drop the index tables first.")));
}

/* refuse_own_index_tables: of a partition to be, where its new parent has some */
static void
refuse_own_index_tables(Oid parent, RangeVar *child)
{
	Oid			relid = RangeVarGetRelid(child, NoLock, true);

	if (OidIsValid(parent) && OidIsValid(relid) && catalog_fact_in_use(registered_root(parent)) &&
		catalog_fact_in_use(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be a partition of a table with index tables", child->relname),
				 errdetail("It has index tables of its own."),
				 errhint("Drop them first.")));
}

/* refuse_references: foreign keys to index tables, which are written without firing triggers */
static void
refuse_references(List *elements)
{
	ListCell   *cell;

	foreach(cell, elements)
	{
		Node	   *element = lfirst(cell);

		if (element == NULL)
			continue;
		if (IsA(element, ColumnDef))
			refuse_references(((ColumnDef *) element)->constraints);
		else if (IsA(element, Constraint) && ((Constraint *) element)->pktable != NULL)
		{
			RangeVar   *table = ((Constraint *) element)->pktable;
			Oid			relid = RangeVarGetRelid(table, NoLock, true);

			if (OidIsValid(relid) && OidIsValid(index_table_of(relid)))
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot reference index table \"%s\" by a foreign key", table->relname),
						 errdetail("Its entries come and go with the fact rows."),
						 errhint("Reference the fact table.")));
		}
	}
}

/* what_it_changes: what a command would do to a column or to the table, if it matters */
static const char *
what_it_changes(AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_DropColumn:
			return "drop";
		case AT_AlterColumnType:
			return "change the type of";
#if PG_VERSION_NUM >= 170000
		case AT_SetExpression:
			return "change the expression of";
#endif
		case AT_SetUnLogged:
			return "change its persistence";
		case AT_SetAccessMethod:
			return "change its access method";
		default:
			return NULL;
	}
}

/*
 * follow_table
 *		Brings the catalog up to date with the tables.  Loading the definitions
 *		checks them, and refuses what cannot be followed.
 */
void
follow_table(Oid relid, bool fact_altered, bool renamed)
{
	Relation	fact = try_relation_open(relid, AccessShareLock);
	bool		intact;
	FactDef    *def;
	ListCell   *cell;

	if (fact == NULL)
		return;
	/* Without our triggers: invalid already, or being restored, or cleaned away. */
	intact = triggers_intact(relid);
	foreach(cell, catalog_read(relid, InvalidOid))
		follow_owner(((StoredDefinition *) lfirst(cell))->row.index_table, fact,
					 fact_altered || !intact);
	if (!intact && !renamed)
	{
		relation_close(fact, NoLock);
		return;
	}

	def = definition_of_fact(fact, relid);
	definition_pin(def);
	PG_TRY();
	{
		check_row_key(def, fact);
		for (int i = 0; i < def->ndefs; i++)
			follow_names(def->defs[i], fact);
	}
	PG_FINALLY();
	{
		definition_unpin(def);
	}
	PG_END_TRY();
	relation_close(fact, NoLock);
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
	rel = relation_open(partition, NoLock);
	def = definition_of_fact(fact, root);
	if (def->ndefs > 0 && !OidIsValid(def->pk_index))
		(void) row_key_index(def, rel);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
}

/*
 * follow_triggers
 *		Without all of our triggers a fact table's index tables cannot be trusted
 *		any more, and an index table not without its guards.
 */
void
follow_triggers(Oid relid)
{
	Oid			fact;

	if (!OidIsValid(relid))
		return;
	fact = catalog_fact_of(index_table_of(relid));
	if (!OidIsValid(fact))
		relid = registered_root(relid);
	if (OidIsValid(fact))
	{
		relid = index_table_of(relid);
		if (!guards_intact(relid))
			invalidate_definitions(catalog_read(InvalidOid, relid), fact,
								   "Its guards against writes by hand are disabled or gone.");
	}
	else if (catalog_has_fact(relid) && !triggers_intact(relid))
		invalidate_definitions(catalog_read(relid, InvalidOid), relid,
							   "Triggers that keep it in step are disabled or gone.");
}

void
invalidate_definitions(List *definitions, Oid fact, const char *why)
{
	ListCell   *cell;

	foreach(cell, definitions)
	{
		StoredDefinition *stored = lfirst(cell);

		if (strcmp(stored->row.state, "invalid") == 0)
			continue;
		if (!OidIsValid(stored->row.replaces))
			ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("index table \"%s\" is invalid now", get_rel_name(stored->row.index_table)),
				 errdetail("%s", why),
				 errhint("Call indextable.repair(), which puts the triggers back and mends what was missed.")));
		catalog_set_state(stored->row.index_table, "invalid", why);
	}
	CacheInvalidateRelcacheByRelid(fact);
}

/* follow_names: writes the catalog row anew if names in it have changed */
static void
follow_names(IndexDef *def, Relation fact)
{
	List	   *rows = catalog_read(InvalidOid, def->relid);
	StoredDefinition *stored;
	DefinitionRow row;
	FactDef    *factdef = def->fact;
	int			i;

	if (rows == NIL)
		return;
	stored = linitial(rows);
	row = stored->row;
	row.document = get_attname(factdef->relid, factdef->doc_attno[def->docno], false);
	row.primary_key = NIL;
	for (i = 0; i < factdef->npk; i++)
		row.primary_key = lappend(row.primary_key,
								  get_attname(factdef->relid, factdef->pk_attno[i], false));
	row.key = present_specs(def->fields, def->nkeys, fact);
	row.include = present_specs(def->fields + def->nkeys, def->nincludes, fact);
	if (def->filter != NULL)
		row.filter = expression_text(fact, def->filter);

	if (!same_strings(stored->columns, catalog_column_names(fact)) ||
		strcmp(row.document, stored->row.document) != 0 ||
		!same_strings(row.primary_key, stored->row.primary_key))
	{
		catalog_update(&row, fact);
		CacheInvalidateRelcacheByRelid(factdef->relid);
	}
}

/* present_specs: field specs with the present names of the columns they use */
static List *
present_specs(Field *fields, int n, Relation fact)
{
	List	   *result = NIL;
	int			i;

	for (i = 0; i < n; i++)
	{
		FieldSpec  *spec = fields[i].spec;

		result = lappend(result, spec->column == NULL ? spec->text :
						 psprintf("@%s%s",
								  quote_identifier(get_attname(RelationGetRelid(fact),
															   fields[i].fact_attno, false)),
								  spec->text + spec->tail));
	}
	return result;
}

bool
same_strings(List *a, List *b)
{
	ListCell   *x;
	ListCell   *y;

	if (list_length(a) != list_length(b))
		return false;
	forboth(x, a, y, b)
		if (strcmp(lfirst(x), lfirst(y)) != 0)
			return false;
	return true;
}

/* follow_owner: an index table, and each partition, belongs to the owner of its fact table */
static void
follow_owner(Oid index_table, Relation fact, bool change)
{
	ListCell   *cell;

	if (get_rel_name(index_table) == NULL)
		return;
	foreach(cell, with_partitions(index_table))
	{
		Relation	rel = try_relation_open(lfirst_oid(cell), AccessShareLock);
		Oid			owner;

		if (rel == NULL)
			continue;
		owner = rel->rd_rel->relowner;
		relation_close(rel, NoLock);
		if (owner == fact->rd_rel->relowner)
			continue;
		if (!change)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot change the owner of index table \"%s\"", get_rel_name(index_table)),
					 errdetail("It belongs to the owner of its fact table."),
					 errhint("Change the owner of \"%s\" instead.", RelationGetRelationName(fact))));
		/* Not by SQL: names may change hands while we wait for the lock. */
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		ATExecChangeOwner(lfirst_oid(cell), fact->rd_rel->relowner, true, AccessExclusiveLock);
	}
}
