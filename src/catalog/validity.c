/*-------------------------------------------------------------------------
 *
 * validity.c
 *	  Lists the triggers of the upkeep, and decides by them and by dependencies which
 *	  definitions and queue tables in the catalog are to be believed.
 *
 * The catalog names tables by OID.  A table that was dropped where no event trigger
 * fires, under session_replication_role = replica for example, leaves its OID behind.  In
 * a dump the OID is a plain number, and after the restore any other table may have that
 * number.  So a row is not believed for its number but for what the tables show: an index
 * table that we have made or adopted depends on its fact table, and a restore makes our
 * triggers on both of them, which no other tables have.  Until the restore has made them,
 * there is nothing that would have to be maintained.  Queue tables are recognized in
 * the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "catalog.h"

#define ON_FOREIGN_TRUNCATE	(HAS_FOREIGN_TRUNCATE_TRIGGERS ? ON_FOREIGN : 0)

#define ROW_EVENTS	(TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE)

/* The triggers of fact tables. */
const FactTrigger fact_triggers[FACT_TRIGGERS] = {
	{"indextable_row", "AFTER INSERT OR UPDATE OR DELETE", "ROW", TRIGGER_TYPE_ROW | ROW_EVENTS,
	false, ON_PLAIN | ON_ROOT | ON_PARTITION | ON_FOREIGN | ON_DISTRIBUTED, true},
	{"indextable_end", "AFTER INSERT OR UPDATE OR DELETE", "STATEMENT", ROW_EVENTS,
	true, ON_PLAIN | ON_ROOT | ON_PARTITION | ON_FOREIGN | ON_DISTRIBUTED, false},
	{"indextable_truncate", "AFTER TRUNCATE", "STATEMENT", TRIGGER_TYPE_TRUNCATE,
	false, ON_PLAIN | ON_ROOT | ON_DISTRIBUTED, false},
	{"indextable_before", "BEFORE TRUNCATE", "STATEMENT", TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_TRUNCATE,
	false, ON_ROOT | ON_PARTITION | ON_FOREIGN_TRUNCATE, false},
};

static bool is_as_made(Trigger *trigger, bool with_arguments);
static bool leaves_have_trigger(Relation root, const char *name);
static bool is_queue_table(Oid relid, Oid fact, TupleDesc desc);
static bool has_columns(Oid relid, TupleDesc desc);
static bool is_on_other_table(Form_pg_depend form, void *table);

/*
 * definition_matches_tables
 *		Returns whether a definition is that of the two tables that it names.
 *
 * A definition whose index table does not exist can do no harm, and has to be found when
 * the tables are dropped: so it counts.
 */
bool
definition_matches_tables(DefinitionRow *row)
{
	char		kind = get_rel_relkind(row->index_table);

	if (kind == '\0')
		return true;
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		get_rel_relispartition(row->index_table))
		return false;
	if (has_table_dependency(row->index_table, row->fact_table) ||
		(place_has_parts(row->index_table) && place_has_parts(row->fact_table)))
		return true;
	return has_triggers_of_ours(row->index_table, true) &&
		(get_rel_relkind(row->fact_table) == '\0' || has_triggers_of_ours(row->fact_table, false));
}

/*
 * is_adopted
 *		Returns whether an index table depends on its fact table, as do those that we have made
 *		or adopted.
 *
 * Those in parts do not: Citus forgets the shards of a table that is dropped as an index
 * would be.  They are dropped by forget_dropped_relation().  While Citus drops one of the two on
 * another node, it knows only the other one any more.
 */
bool
is_adopted(Oid index_table, Oid fact_table)
{
	return has_table_dependency(index_table, fact_table) || place_has_parts(index_table) ||
		place_has_parts(fact_table);
}

/*
 * find_queue_tables
 *		Checks the queue tables that the catalog names for a fact table, which has a
 *		queue; returns whether both are really there.
 *
 * One that does not exist, or is another table by now, is set to InvalidOid in *row; if
 * the other is left, it becomes the one in use.  desc has the columns of queue tables;
 * NULL accepts any columns.
 */
bool
find_queue_tables(FactTableRow *row, TupleDesc desc)
{
	bool		queue = is_queue_table(row->queue, row->fact_table, desc);
	bool		spare = row->spare != row->queue && is_queue_table(row->spare, row->fact_table, desc);

	if (!queue)
		row->queue = spare ? row->spare : InvalidOid;
	if (!queue || !spare)
		row->spare = InvalidOid;
	return queue && spare;
}

/*
 * is_queue_table
 *		Returns whether a relation is a queue table of a fact table: it has such a name,
 *		these columns unless desc is NULL, and does not belong to another fact table.
 */
static bool
is_queue_table(Oid relid, Oid fact, TupleDesc desc)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL || strncmp(name, QUEUE_TABLE_PREFIX, strlen(QUEUE_TABLE_PREFIX)) != 0 ||
		get_rel_relkind(relid) != RELKIND_RELATION || !is_own_schema(get_rel_namespace(relid)) ||
		(desc != NULL && !has_columns(relid, desc)))
		return false;
	if (has_table_dependency(relid, fact))
		return true;
	if (find_table_dependencies(relid, is_on_other_table, &fact, false))
		return false;
	/* It may have been restored, and not adopted yet. */
	foreach_ptr(FactTableRow, other, catalog_queues(true))
	{
		if (other->fact_table != fact && (other->queue == relid || other->spare == relid))
			return false;
	}
	return true;
}

/* has_columns: returns whether a table has as many columns as desc, with the same types */
static bool
has_columns(Oid relid, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(i + 1));
		Form_pg_attribute att;
		bool		same;

		if (!HeapTupleIsValid(tuple))
			return false;
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		same = att->atttypid == TupleDescAttr(desc, i)->atttypid &&
			att->atttypmod == TupleDescAttr(desc, i)->atttypmod;
		ReleaseSysCache(tuple);
		if (!same)
			return false;
	}
	return !SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(desc->natts + 1));
}

/* is_on_other_table: returns whether a dependency is on a relation other than table */
static bool
is_on_other_table(Form_pg_depend form, void *table)
{
	return form->refclassid == RelationRelationId && form->refobjid != *(Oid *) table;
}

/*
 * queue_table_drop
 *		Drops a queue table if it still exists.  One that another node governs is left to
 *		that node, which drops it on all.
 */
void
queue_table_drop(Oid relid)
{
	bool		in_parts = place_has_parts(relid);
	Oid			owner;

	if (!OidIsValid(relid) || get_rel_name(relid) == NULL || place_is_governed_elsewhere(relid))
		return;

	/*
	 * As the current user, it fires the event trigger by which Citus drops
	 * the parts.
	 */
	owner = get_extension_owner();
	AS_OWNER(owner);
	run_sql(in_parts ? InvalidOid : owner, "DROP TABLE IF EXISTS %s", quoted_relation(relid));
	END_AS_OWNER();
}

/*
 * queue_stays_for_now
 *		Returns whether a queue table is in parts that this user must not drop in this transaction.
 *
 * Citus lets only one user change tables that it keeps together, and the fact table is its owner's.  The queue is
 * dropped by a worker, or the next time that the owner of the extension looks.
 */
bool
queue_stays_for_now(Oid queue)
{
	return OidIsValid(queue) && place_has_parts(queue) && !place_is_governed_elsewhere(queue) &&
		GetUserId() != get_extension_owner();
}

/* is_our_trigger: returns whether a trigger of ours has this name */
bool
is_our_trigger(const char *name)
{
	/* Those that fire most often come first. */
	for (int i = 0; i < FACT_TRIGGERS; i++)
		if (strcmp(fact_triggers[i].name, name) == 0)
			return true;
	return is_our_guard(name);
}

/* is_our_guard: returns whether one of our triggers on index tables has this name */
bool
is_our_guard(const char *name)
{
	return strcmp(name, GUARD) == 0 || strcmp(name, GUARD_ROW) == 0;
}

/*
 * is_our_copied_trigger
 *		Returns whether a trigger has the name of one of ours, with a number at the end
 *		perhaps.
 */
bool
is_our_copied_trigger(const char *name)
{
	for (int i = 0; i < FACT_TRIGGERS; i++)
		if ((fact_triggers[i].on & ON_DISTRIBUTED) != 0 && is_trigger_named(name, fact_triggers[i].name))
			return true;
	return false;
}

/*
 * is_trigger_named
 *		Returns whether a trigger has this name, or this name with a number at the end, as Citus names
 *		the triggers of shards.
 */
bool
is_trigger_named(const char *trigger, const char *name)
{
	int			length = strlen(name);

	if (strncmp(trigger, name, length) != 0)
		return false;
	trigger += length;
	return trigger[0] == '\0' ||
		(trigger[0] == '_' && strspn(trigger + 1, "0123456789") == strlen(trigger + 1));
}

/*
 * trigger_is_as_made
 *		Returns whether an open table has a trigger of ours, as we make it and with this
 *		enablement, or any.  with_arguments: the triggers of the table have some.
 *
 * A role that has the right TRIGGER on a table can replace one of its triggers by one of the
 * same name that fires for fewer events, or never.  This is refused
 * (refuse_other_trigger()), but not where event triggers do not fire.
 */
bool
trigger_is_as_made(Relation rel, const char *name, char enabled, bool with_arguments)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (with_arguments ? is_trigger_named(trigger->tgname, name) : strcmp(trigger->tgname, name) == 0)
			return (enabled == ANY_ENABLEMENT || trigger->tgenabled == enabled) &&
				is_as_made(trigger, with_arguments);
	}
	return false;
}

/*
 * is_as_made
 *		Returns whether a trigger with the name of one of ours is as we make it, enabled or not.
 *
 * Looking up its function may bring news, and then the server frees the trigger.  So that comes
 * last.
 */
static bool
is_as_made(Trigger *trigger, bool with_arguments)
{
	bool		guard = is_our_guard(trigger->tgname);
	int16		type = TRIGGER_TYPE_BEFORE;
	Oid			function = trigger->tgfoid;
	char	   *name;

	if (strcmp(trigger->tgname, GUARD_ROW) == 0)
		type |= TRIGGER_TYPE_ROW | ROW_EVENTS;
	else if (guard)
		type |= TRIGGER_TYPE_TRUNCATE | (with_arguments ? 0 : ROW_EVENTS);
	for (int i = 0; i < FACT_TRIGGERS; i++)
		if (is_trigger_named(trigger->tgname, fact_triggers[i].name))
			type = fact_triggers[i].type;
	if (trigger->tgtype != type || trigger->tgqual != NULL || trigger->tgnattr != 0 ||
		trigger->tgoldtable != NULL || trigger->tgnewtable != NULL ||
		OidIsValid(trigger->tgconstraint) || (trigger->tgnargs > 0) != with_arguments)
		return false;
	name = get_func_name(function);
	return name != NULL && strcmp(name, guard ? "guard" : "maintain") == 0 &&
		is_own_schema(get_func_namespace(function));
}

/*
 * fact_triggers_as_made
 *		Returns whether a fact table, which is open and no partition, has the triggers without
 *		which its writers would not maintain its index tables.  Those of its partitions are
 *		not looked at.
 *
 * writers: it has index tables that the writers maintain, and not the queue.  Without them, a
 * table with foreign partitions need not have the row trigger.
 */
bool
fact_triggers_as_made(Relation fact, bool writers, bool with_arguments)
{
	bool		partitioned = fact->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	int			kind = with_arguments ? ON_DISTRIBUTED : partitioned ? ON_ROOT : ON_PLAIN;

	for (int i = 0; i < FACT_TRIGGERS; i++)
	{
		const FactTrigger *trigger = &fact_triggers[i];

		if ((trigger->on & kind) != 0 &&
			(writers || !(trigger->batches || (kind == ON_ROOT && trigger->cloned))) &&
			!trigger_is_as_made(fact, trigger->name,
								with_arguments ? TRIGGER_FIRES_ON_ORIGIN : TRIGGER_FIRES_ALWAYS,
								with_arguments) &&
			!(kind == ON_ROOT && trigger->cloned && leaves_have_trigger(fact, trigger->name)))
			return false;
	}
	return true;
}

/*
 * leaves_have_trigger
 *		Returns whether each partition that has rows has a trigger of ours as we make it, and
 *		the root none of that name.
 */
static bool
leaves_have_trigger(Relation root, const char *name)
{
	if (OidIsValid(get_trigger_oid(RelationGetRelid(root), name, true)))
		return false;
	foreach_oid(relid, list_with_partitions(RelationGetRelid(root)))
	{
		bool		partitioned = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE;
		Relation	rel = partitioned ? NULL : try_relation_open(relid, AccessShareLock);
		bool		has = rel == NULL || trigger_is_as_made(rel, name, TRIGGER_FIRES_ALWAYS, false);

		if (rel != NULL)
			relation_close(rel, AccessShareLock);
		if (!has)
			return false;
	}
	return true;
}

/*
 * has_triggers_of_ours
 *		Returns whether a table has a trigger of ours, enabled or not: with guard, one
 *		that guards an index table, otherwise one that maintains those of a fact table.
 *
 * Locks nothing, as the table may be any table of any user.
 */
bool
has_triggers_of_ours(Oid relid, bool guard)
{
	CatalogScan scan = catalog_scan_begin(TriggerRelationId, TriggerRelidNameIndexId, Anum_pg_trigger_tgrelid,
										  relid, NULL);
	HeapTuple	tuple;
	bool		found = false;

	while (!found && HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		const char *name = NameStr(form->tgname);

		found = is_our_trigger(name) && guard == is_our_guard(name) &&
			is_own_schema(get_func_namespace(form->tgfoid));
	}
	catalog_scan_end(&scan);
	return found;
}
