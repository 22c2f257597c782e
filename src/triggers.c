/*-------------------------------------------------------------------------
 *
 * triggers.c
 *	  Our triggers on the users' tables, and the guard of index tables.
 *
 * Called by create.c and drop.c.  What the triggers of fact tables do is in
 * trigger.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "indextable.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(indextable_guard);

#define GUARD		"indextable_guard"
#define GUARD_ROW	"indextable_guard_row"

Oid			guard_lifted = InvalidOid;

/* Which tables have a trigger. */
#define ON_PLAIN		0x01		/* fact tables that are not partitioned, */
#define ON_ROOT			0x02		/* those that are, */
#define ON_PARTITION	0x04		/* their partitions, */
#define ON_FOREIGN		0x08		/* and those of them that are on other servers */
#if PG_VERSION_NUM < 160000
#define ON_FOREIGN_TRUNCATE	0		/* the server has no such triggers */
#else
#define ON_FOREIGN_TRUNCATE	ON_FOREIGN
#endif

static const struct
{
	const char *name;
	const char *event;
	const char *level;
	bool		batches;		/* only transactional index tables need it */
	int			on;
	bool		cloned;			/* by the server, from the root to its partitions */
}			fact_triggers[] = {
	{"indextable_row", "AFTER INSERT OR UPDATE OR DELETE", "ROW", false, ON_PLAIN | ON_ROOT | ON_PARTITION | ON_FOREIGN, true},
	{"indextable_end", "AFTER INSERT OR UPDATE OR DELETE", "STATEMENT", true, ON_PLAIN | ON_ROOT | ON_PARTITION | ON_FOREIGN, false},
	{"indextable_truncate", "AFTER TRUNCATE", "STATEMENT", false, ON_PLAIN | ON_ROOT, false},
	{"indextable_before", "BEFORE TRUNCATE", "STATEMENT", false, ON_ROOT | ON_PARTITION | ON_FOREIGN_TRUNCATE, false},
};

/* kind_of: in these terms */
static int
kind_of(Oid relid, Oid fact)
{
	return relid != fact ? (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE ? ON_FOREIGN : ON_PARTITION) :
		get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ? ON_ROOT : ON_PLAIN;
}

/* has_trigger: whether a table has a trigger of ours, enabled as we do it; one that is gone lacks none */
static bool
has_trigger(Oid relid, const char *name, char enabled)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	bool		found = false;
	int			i;

	if (rel == NULL)
		return true;
	for (i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, name) == 0)
			found = trigger->tgenabled == enabled &&
				is_own_schema(get_func_namespace(trigger->tgfoid));
	}
	relation_close(rel, NoLock);
	return found;
}

/* guards_intact: whether an index table, and each partition, refuses writes by hand */
bool
guards_intact(Oid index_table)
{
	ListCell   *cell;

	foreach(cell, with_partitions(index_table))
		if (!has_trigger(lfirst_oid(cell), GUARD, TRIGGER_FIRES_ON_ORIGIN) ||
			!has_trigger(lfirst_oid(cell), GUARD_ROW, TRIGGER_FIRES_ON_ORIGIN))
			return false;
	return true;
}

/* is_our_trigger: whether a trigger of ours goes by this name */
bool
is_our_trigger(const char *name)
{
	Size		i;

	if (strcmp(name, GUARD) == 0 || strcmp(name, GUARD_ROW) == 0)
		return true;
	for (i = 0; i < lengthof(fact_triggers); i++)
		if (strcmp(fact_triggers[i].name, name) == 0)
			return true;
	return false;
}

/*
 * has_triggers_of_ours
 *		Whether a table has a trigger of ours, enabled or not: a guard, or one that
 *		keeps index tables in step.  No lock is taken: anybody's table may be asked for.
 */
bool
has_triggers_of_ours(Oid relid, bool guard)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		const char *name = NameStr(form->tgname);

		found = is_our_trigger(name) && guard == (strcmp(name, GUARD) == 0 || strcmp(name, GUARD_ROW) == 0) &&
			is_own_schema(get_func_namespace(form->tgfoid));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* has_transactional: whether a fact table has index tables that its writers keep in step */
static bool
has_transactional(Oid fact)
{
	ListCell   *cell;

	foreach(cell, catalog_read(fact, InvalidOid))
		if (!is_queued(&((StoredDefinition *) lfirst(cell))->row))
			return true;
	return false;
}

/* triggers_intact: whether a fact table, and each partition, has all of our triggers that it needs */
bool
triggers_intact(Oid fact)
{
	bool		transactional = has_transactional(fact);
	ListCell   *cell;
	Size		i;

	foreach(cell, with_partitions(fact))
		for (i = 0; i < lengthof(fact_triggers); i++)
			if ((fact_triggers[i].on & kind_of(lfirst_oid(cell), fact)) != 0 &&
				(transactional || !fact_triggers[i].batches) &&
				!has_trigger(lfirst_oid(cell), fact_triggers[i].name, TRIGGER_FIRES_ALWAYS))
				return false;
	return true;
}

/*
 * triggers_install
 *		Puts our triggers on a fact table, which the caller has locked, and on its
 *		partitions.
 *
 * Without a column list or WHEN, which would miss what BEFORE triggers change;
 * always enabled, so that they fire on a subscriber and while
 * session_replication_role is replica.  They are created as the extension's
 * owner, since the caller may not own every partition.
 */
void
triggers_install(Oid fact)
{
	ListCell   *cell;

	foreach(cell, with_partitions(fact))
		triggers_install_on(lfirst_oid(cell), fact);
	if (!catalog_has_fact(fact))
	{
		FactTableRow row = {.fact_table = fact};

		catalog_write_fact(&row);
	}
}

/* triggers_install_on: a fact table, or a partition of it, to which the server has cloned what it clones */
void
triggers_install_on(Oid relid, Oid fact)
{
	char	   *table = quoted_relation(relid);
	Oid			owner = catalog_owner();
	const char *schema = get_namespace_name(catalog_schema());
	bool		transactional = has_transactional(fact);
	int			kind = kind_of(relid, fact);
	Size		i;

	for (i = 0; i < lengthof(fact_triggers); i++)
	{
		bool		cloned = fact_triggers[i].cloned && (kind & (ON_PARTITION | ON_FOREIGN)) != 0;

		if ((fact_triggers[i].on & kind) == 0 || (!transactional && fact_triggers[i].batches) ||
			has_trigger(relid, fact_triggers[i].name, TRIGGER_FIRES_ALWAYS))
			continue;
		if (!cloned)
			run_sql(owner, "CREATE OR REPLACE TRIGGER %s %s ON %s FOR EACH %s EXECUTE FUNCTION %s.maintain()",
					fact_triggers[i].name, fact_triggers[i].event, table, fact_triggers[i].level, schema);
		run_sql(owner, "ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table, fact_triggers[i].name);
	}
}

/* triggers_remove_from: a table that is not a partition of a fact table any more */
void
triggers_remove_from(Oid relid)
{
	ListCell   *cell;
	Size		i;

	foreach(cell, tree_of(relid, NULL, NoLock, true))
		for (i = 0; i < lengthof(fact_triggers); i++)
			if (!fact_triggers[i].cloned &&
				OidIsValid(get_trigger_oid(lfirst_oid(cell), fact_triggers[i].name, true)))
				run_sql(catalog_owner(), "DROP TRIGGER %s ON %s", fact_triggers[i].name,
						quoted_relation(lfirst_oid(cell)));
}

/*
 * triggers_remove
 *		Takes our triggers off a table that has no index tables left.
 *
 * Where an index table is dropped with DROP TABLE, it is locked before the fact
 * table, and waiting for that could deadlock with writers: then, without wait,
 * the triggers stay and do nothing if the lock cannot be had at once.
 */
bool
triggers_remove(Oid fact, bool wait)
{
	Relation	rel;
	bool		in_use;
	ListCell   *cell;
	Size		i;

	/* A partition that is being detached has them, too. */
	foreach(cell, tree_of(fact, NULL, NoLock, true))
	{
		if (wait)
			LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		else if (!ConditionalLockRelationOid(lfirst_oid(cell), AccessExclusiveLock))
			return false;
	}
	rel = try_relation_open(fact, NoLock);
	if (rel == NULL)
		return false;
	in_use = rel->rd_refcnt > 1 || AfterTriggerPendingOnRel(fact);
	relation_close(rel, NoLock);
	if ((in_use && !wait) || !queues_drop(fact, wait))
		return false;

	/* What was cloned goes with what it was cloned from. */
	triggers_remove_from(fact);
	for (i = 0; i < lengthof(fact_triggers); i++)
		if (fact_triggers[i].cloned && OidIsValid(get_trigger_oid(fact, fact_triggers[i].name, true)))
			run_sql(catalog_owner(), "DROP TRIGGER %s ON %s", fact_triggers[i].name,
					quoted_relation(fact));
	catalog_forget_fact(fact);
	return true;
}

/*
 * triggers_guard
 *		Has an index table refuse writes by hand: statements, and rows that come
 *		through a parent table.
 */
void
triggers_guard(Oid index_table)
{
	const char *schema = get_namespace_name(catalog_schema());
	ListCell   *cell;

	foreach(cell, with_partitions(index_table))
	{
		char	   *table = quoted_relation(lfirst_oid(cell));

		run_sql(catalog_owner(), "CREATE OR REPLACE TRIGGER " GUARD
				" BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s"
				" FOR EACH STATEMENT EXECUTE FUNCTION %s.guard()", table, schema);
		/* The server gives that of a partitioned table to its partitions. */
		if (lfirst_oid(cell) == index_table)
			run_sql(catalog_owner(), "CREATE OR REPLACE TRIGGER " GUARD_ROW
					" BEFORE INSERT OR UPDATE OR DELETE ON %s"
					" FOR EACH ROW EXECUTE FUNCTION %s.guard()", table, schema);
	}
	/* Those that were there may be disabled. */
	if (!guards_intact(index_table))
		foreach(cell, with_partitions(index_table))
			run_sql(catalog_owner(), "ALTER TABLE %s ENABLE TRIGGER " GUARD ", ENABLE TRIGGER " GUARD_ROW,
					quoted_relation(lfirst_oid(cell)));
}

/*
 * indextable_guard
 *		Statement trigger of index tables.  Our own writes do not come through
 *		the executor; only TRUNCATE does, which lifts the guard.
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
	if (!TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event) ||
		index_table_of(RelationGetRelid(trigdata->tg_relation)) != guard_lifted)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot write index table \"%s\"",
						RelationGetRelationName(trigdata->tg_relation)),
				 errdetail("It is kept in step with its fact table, and written by nobody else."),
				 errhint("Write the fact table instead.")));
	return PointerGetDatum(NULL);
}
