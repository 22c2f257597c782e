/*-------------------------------------------------------------------------
 *
 * alter.c
 *	  What follows when a fact table or an index table is altered.
 *
 * Called by event triggers for every ALTER TABLE in the database: it must be
 * cheap and work for everybody.  Renames and a new owner are followed; what
 * would make an index table wrong has been refused (refuse.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "indextable.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(indextable_on_alter);

static void check_typed(Node *command);
static Oid	type_of_table(Oid relid);
static void load_definition(void *arg);
static void check_key_of_partition(Oid root, Oid partition);
static void follow_switched(AlterTableStmt *stmt);
static void warn_subscribed(void);
static void follow_replaced(CreateTrigStmt *stmt);
static bool switches_our_triggers(AlterTableStmt *stmt);
static bool is_relevant(Node *command);
static void follow_names(IndexDef *def, Relation fact);
static List *present_specs(Field *fields, int n, Relation fact);

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
bool
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

/* follow_replaced: a trigger of ours may be somebody else's now; or a restore has made it */
static void
follow_replaced(CreateTrigStmt *stmt)
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
		follow_triggers(relid);
		return;
	}
	/* A library that is older or newer than the catalog has nothing to adopt. */
	if (!catalog_is_known())
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
	bool		any = false;

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
		any = true;
	}
	if (any)
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
void
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
