/*-------------------------------------------------------------------------
 *
 * install_triggers.c
 *	  Creates, checks and drops our triggers on fact tables, and the guards of index
 *	  tables.
 *
 * What those of fact tables do is in fact_trigger.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/sql.h"
#include "maintain.h"

/* Where the row triggers of a partitioned fact table are made. */
typedef enum RowTriggers
{
	ON_ALL,						/* on the root, from which the server clones
								 * them to its partitions */
	ON_LEAVES,					/* on each partition that holds rows */
	ON_LOCAL_LEAVES				/* on those that are on this server */
} RowTriggers;

static void drop_trigger(Oid relid, const char *name);
static bool has_trigger(Oid relid, const char *name, char enabled, bool with_arguments);
static bool is_own_trigger(Oid relid, const char *name);
static bool needs_trigger(Oid relid, const FactTrigger *trigger, int kind, bool transactional,
						  RowTriggers row_triggers);
static RowTriggers place_of_row_triggers(Oid fact);
static bool is_fed_only(Oid fact);
static bool has_partitions_of_others(Oid table);
static bool has_queue_in_parts(Oid fact);
static int	kind_of(Oid relid, Oid fact);

PG_FUNCTION_INFO_V1(indextable_guard);

static HeapTuple guard_own_row(TriggerData *trigdata);
static Oid	root_table(Relation rel);

Oid			truncated_by_us = InvalidOid;

/*
 * triggers_install
 *		Puts our triggers on a fact table, which the caller has locked, and on its
 *		partitions, and registers the fact table.
 *
 * The triggers have no column list and no WHEN, which would miss what BEFORE triggers
 * change.  They are enabled ALWAYS, so that they fire on a subscriber and while
 * session_replication_role is replica.  On each table they are created as its owner.
 */
void
triggers_install(Oid fact)
{
	foreach_oid(relid, list_with_partitions(fact))
		triggers_install_on(relid, fact);
	if (!catalog_has_fact(fact))
	{
		FactTableRow row = {.fact_table = fact};

		catalog_write_fact(&row);
	}
}

/*
 * triggers_install_on
 *		Puts our triggers on a fact table or on a partition of it.  The server has cloned
 *		some of them from the root to its partitions already.
 */
void
triggers_install_on(Oid relid, Oid fact)
{
	bool		transactional = catalog_has_transactional(fact);
	RowTriggers row_triggers = place_of_row_triggers(fact);
	int			kind = kind_of(relid, fact);

	for (Size i = 0; i < FACT_TRIGGERS; i++)
	{
		bool		cloned = fact_triggers[i].cloned && (kind & (ON_PARTITION | ON_FOREIGN)) != 0 &&
			row_triggers == ON_ALL;

		/* These are made anew each time: Citus copies them to the shards. */
		if ((fact_triggers[i].on & kind & ON_DISTRIBUTED) != 0 && (transactional || !fact_triggers[i].batches))
			place_of(relid)->triggers->install(relid, fact_triggers[i].name, fact_triggers[i].event,
											   fact_triggers[i].level);
		if (kind == ON_DISTRIBUTED ||
			!needs_trigger(relid, &fact_triggers[i], kind, transactional, row_triggers) ||
			has_trigger(relid, fact_triggers[i].name, TRIGGER_FIRES_ALWAYS, false))
			continue;
		if (!cloned && !has_trigger(relid, fact_triggers[i].name, ANY_ENABLEMENT, false))
			run_on(relid,
				   "CREATE OR REPLACE TRIGGER %s %s ON t FOR EACH %s EXECUTE FUNCTION " IT_INTERNAL ".maintain()",
				   fact_triggers[i].name, fact_triggers[i].event, fact_triggers[i].level);
		run_on(relid, "ALTER TABLE %s t ENABLE ALWAYS TRIGGER %s", has_partitions_of_others(relid) ? "ONLY" : "",
			   fact_triggers[i].name);
	}
}

/*
 * triggers_remove
 *		Drops our triggers on a fact table that has no index tables left, and its queue
 *		tables.  Returns whether that was done.
 *
 * DROP TABLE locks an index table before the fact table, and waiting for the fact table
 * then could deadlock with writers.  So without wait, the triggers stay, and do nothing, if
 * the lock is not free.
 */
bool
triggers_remove(Oid fact, bool wait)
{
	Relation	rel;
	bool		in_use;
	FactTableRow row;
	const Place *place = place_of(fact);

	/*
	 * Where the triggers stay, writers would get an error if their table were
	 * forgotten.
	 */
	if (place_is_governed_elsewhere(fact))
	{
		if (!has_triggers_of_ours(fact, false))
			catalog_forget_fact(fact);
		return true;
	}

	/* A partition that is being detached has the triggers, too. */
	foreach_oid(relid, tree_of(fact, NULL, NoLock, true))
	{
		if (wait)
			LockRelationOid(relid, AccessExclusiveLock);
		else if (!ConditionalLockRelationOid(relid, AccessExclusiveLock))
			return false;
	}
	rel = try_relation_open(fact, NoLock);
	if (rel == NULL)
		return false;
	in_use = rel->rd_refcnt > 1 || AfterTriggerPendingOnRel(fact);
	relation_close(rel, NoLock);
	if ((in_use && !wait) || !queues_drop(fact, wait))
		return false;

	if (place->triggers->remove != NULL)
		place->triggers->remove(fact);
	else
		triggers_remove_from(fact);
	if (!catalog_read_fact(fact, &row) || !queue_stays_for_now(row.queue))
		catalog_forget_fact(fact);
	else
		queue_wake_at_commit();
	return true;
}

/*
 * triggers_remove_from
 *		Drops our triggers on a table and its partitions, because the table is no part of a
 *		fact table any more.  Those that the server has cloned are dropped with those that
 *		they were cloned from.
 */
void
triggers_remove_from(Oid relid)
{
	foreach_oid(table, tree_of(relid, NULL, NoLock, true))
	{
		for (Size i = 0; i < FACT_TRIGGERS; i++)
			if (is_own_trigger(table, fact_triggers[i].name))
				drop_trigger(table, fact_triggers[i].name);
	}
}

/*
 * drop_trigger
 *		Drops a trigger: by SQL where Citus has the table, so that it does so on all nodes.
 */
static void
drop_trigger(Oid relid, const char *name)
{
	ObjectAddress object;

	if (place_is_taken(relid))
	{
		/*
		 * What superusers drop is dropped by one user: see
		 * queue_stays_for_now().
		 */
		run_sql(superuser() ? get_extension_owner() : table_owner(relid), "DROP TRIGGER %s ON %s", name,
				held_name(relid));
		return;
	}
	ObjectAddressSet(object, TriggerRelationId, get_trigger_oid(relid, name, false));
	performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
}

/*
 * triggers_install_guard
 *		Has an index table and its partitions refuse writes by hand: statements, and rows
 *		that come through a parent table.
 */
void
triggers_install_guard(Oid index_table)
{
	if (place_of(index_table)->triggers->install_guard != NULL)
	{
		place_of(index_table)->triggers->install_guard(index_table);
		return;
	}
	foreach_oid(relid, list_with_partitions(index_table))
	{
		run_on_table(relid,
					 "CREATE OR REPLACE TRIGGER " GUARD " BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON t"
					 " FOR EACH STATEMENT EXECUTE FUNCTION " IT_INTERNAL ".guard()");

		/*
		 * The server clones the row trigger of a partitioned table to its
		 * partitions.
		 */
		if (relid == index_table)
			run_on_table(relid, "CREATE OR REPLACE TRIGGER " GUARD_ROW " BEFORE INSERT OR UPDATE OR DELETE ON t"
						 " FOR EACH ROW EXECUTE FUNCTION " IT_INTERNAL ".guard()");
	}
	/* Guards that existed before may be disabled. */
	if (!guards_intact(index_table))
		foreach_oid(relid, list_with_partitions(index_table))
			run_on_table(relid, "ALTER TABLE t ENABLE TRIGGER " GUARD ", ENABLE TRIGGER " GUARD_ROW);
}

/*
 * triggers_intact
 *		Returns whether a fact table and each of its partitions have all triggers of ours that
 *		they need.
 */
bool
triggers_intact(Oid fact)
{
	return triggers_intact_on(list_with_partitions(fact), fact);
}

/* triggers_intact_on: returns for some tables of a tree what triggers_intact() does for all */
bool
triggers_intact_on(List *tables, Oid fact)
{
	bool		transactional = catalog_has_transactional(fact);
	RowTriggers row_triggers = place_of_row_triggers(fact);

	foreach_oid(relid, tables)
	{
		for (Size i = 0; i < FACT_TRIGGERS; i++)
		{
			int			kind = kind_of(relid, fact);

			if (needs_trigger(relid, &fact_triggers[i], kind, transactional, row_triggers) &&
				!has_trigger(relid, fact_triggers[i].name,
							 kind == ON_DISTRIBUTED ? TRIGGER_FIRES_ON_ORIGIN : TRIGGER_FIRES_ALWAYS,
							 kind == ON_DISTRIBUTED))
				return false;
		}
	}
	return true;
}

/* guards_intact: returns whether an index table and each of its partitions refuse writes by hand */
bool
guards_intact(Oid index_table)
{
	if (place_of(index_table)->triggers->install_guard != NULL)
		return has_trigger(index_table, GUARD, TRIGGER_FIRES_ON_ORIGIN, true);
	foreach_oid(relid, list_with_partitions(index_table))
	{
		if (!has_trigger(relid, GUARD, TRIGGER_FIRES_ON_ORIGIN, false) ||
			!has_trigger(relid, GUARD_ROW, TRIGGER_FIRES_ON_ORIGIN, false))
			return false;
	}
	return true;
}

/*
 * has_trigger
 *		Returns whether a table has a trigger of ours, as we make it and enabled as we enable it.
 *		A table that has been dropped lacks none.
 */
static bool
has_trigger(Oid relid, const char *name, char enabled, bool with_arguments)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	bool		found;

	if (rel == NULL)
		return true;
	found = trigger_is_as_made(rel, name, enabled, with_arguments);
	relation_close(rel, NoLock);
	return found;
}

/*
 * is_own_trigger
 *		Returns whether a table has a trigger with this name that is not a clone of its
 *		parent's.
 */
static bool
is_own_trigger(Oid relid, const char *name)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	bool		found = false;

	if (rel == NULL)
		return false;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		found |= strcmp(rel->trigdesc->triggers[i].tgname, name) == 0 && !rel->trigdesc->triggers[i].tgisclone;
	relation_close(rel, AccessShareLock);
	return found;
}

/* needs_trigger: returns whether a table that is of this kind needs a trigger */
static bool
needs_trigger(Oid relid, const FactTrigger *trigger, int kind, bool transactional, RowTriggers row_triggers)
{
	if ((trigger->on & kind) == 0 || (trigger->batches && !transactional))
		return false;
	return !trigger->cloned || row_triggers == ON_ALL || get_rel_relkind(relid) == RELKIND_RELATION ||
		(row_triggers == ON_LEAVES && get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE);
}

/*
 * place_of_row_triggers
 *		Returns where the row triggers of a fact table are made.
 *
 * If the root has them already, they stay.
 */
static RowTriggers
place_of_row_triggers(Oid fact)
{
	for (Size i = 0; i < FACT_TRIGGERS; i++)
		if (fact_triggers[i].cloned && is_own_trigger(fact, fact_triggers[i].name))
			return ON_ALL;
	return is_fed_only(fact) ? ON_LOCAL_LEAVES : has_partitions_of_others(fact) ? ON_LEAVES : ON_ALL;
}

/*
 * has_partitions_of_others
 *		Returns whether the owner of a table does not own all of its partitions.
 *
 * He may not create or enable a trigger of the table then, because the server clones it to the
 * partitions, or enables it there, too.
 */
static bool
has_partitions_of_others(Oid table)
{
	Oid			owner = table_owner(table);

	foreach_oid(relid, list_with_partitions(table))
	{
		if (!owns_relation(relid, owner))
			return true;
	}
	return false;
}

/*
 * is_fed_only
 *		Returns whether no row of a foreign partition of a fact table needs to fire a trigger, because
 *		it fires one where it is.
 *
 * The server modifies rows over there directly only if a foreign partition has no row
 * trigger, not even one that is disabled, and it clones those of the root to all
 * partitions.  What is written over there is in a feed, which is all that asynchronous
 * index tables need.
 */
static bool
is_fed_only(Oid fact)
{
	if (catalog_is_feed(fact) || elsewhere->leaves(fact) == NIL)
		return false;
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact, InvalidOid))
	{
		if (!is_async(row))
			return false;
	}
	return true;
}

/*
 * has_queue_in_parts
 *		Returns whether the rows of a fact table were in parts when it got its queue.
 */
static bool
has_queue_in_parts(Oid fact)
{
	FactTableRow row;

	return catalog_read_fact(fact, &row) && OidIsValid(row.queue) && place_has_parts(row.queue);
}

/*
 * kind_of
 *		Returns which kind of table in the terms of catalog.h a fact table or a partition of
 *		it is; 0: a partition of one in parts, which has the triggers that the server clones.
 */
static int
kind_of(Oid relid, Oid fact)
{
	if (relid != fact && place_has_parts(fact) && has_queue_in_parts(fact))
		return 0;
	return relid != fact ? (elsewhere->has(relid) ? ON_FOREIGN : ON_PARTITION) :
		place_has_parts(relid) && has_queue_in_parts(relid) ? ON_DISTRIBUTED :
		get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ? ON_ROOT : ON_PLAIN;
}

/*
 * indextable_guard
 *		Refuses every statement on an index table, and every row that comes through a parent
 *		table.  The extension's own writes do not fire triggers, except for its TRUNCATE, for
 *		which it sets truncated_by_us.  On the catalog and on queue tables it refuses what other
 *		roles write than the owner of these, as which we write them by SQL.
 *
 * Triggers of the owner run during that TRUNCATE.  They cannot truncate the same index
 * table, because the statement uses it.
 */
Datum
indextable_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by the trigger manager",
						IT_INTERNAL ".guard")));
	if (is_own_guard(trigdata->tg_trigger->tgname) && is_own_schema(RelationGetNamespace(trigdata->tg_relation)))
		return PointerGetDatum(guard_own_row(trigdata));
	if (!TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event) ||
		index_table_of(RelationGetRelid(trigdata->tg_relation)) != truncated_by_us)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot change index table \"%s\"",
						RelationGetRelationName(trigdata->tg_relation)),
				 errdetail("An index table is written only by the maintenance of its fact table."),
				 is_undefined(root_table(trigdata->tg_relation)) ?
				 errhint("It was restored without its definition. Run: %s",
						 told_remaking(list_make1_oid(root_table(trigdata->tg_relation)))) :
				 errhint("Change the fact table instead.")));
	return PointerGetDatum(NULL);
}

/*
 * guard_own_row
 *		Returns the row that is written to the catalog or a queue table, or NULL for a TRUNCATE;
 *		raises an error unless it is the owner who writes it, or a superuser, who restores a dump.
 *
 * The role that writes these rows decides whose code runs: that of a filter runs as the owner of the
 * fact table.
 */
static HeapTuple
guard_own_row(TriggerData *trigdata)
{
	if (!owns_relation(RelationGetRelid(trigdata->tg_relation), GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table \"%s\" of extension " IT_SCHEMA, RelationGetRelationName(trigdata->tg_relation)),
				 errdetail("Only the functions of indextable write it, and a superuser who restores a dump.")));
	return TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event) ? trigdata->tg_newtuple : trigdata->tg_trigtuple;
}

/* root_table: returns the table that a table is a partition of, or itself */
static Oid
root_table(Relation rel)
{
	return rel->rd_rel->relispartition ? get_partition_parent(RelationGetRelid(rel), true) : RelationGetRelid(rel);
}
