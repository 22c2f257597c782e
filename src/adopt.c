/*-------------------------------------------------------------------------
 *
 * adopt.c
 *	  Index tables that come from a dump, or from pg_upgrade.
 *
 * Called by the event triggers, by drain.c, and by a trigger of the catalog when its
 * rows are restored.  A dump carries the tables, our triggers and the catalog's rows,
 * but no dependencies, and numbers of columns may be others.  A restore makes the
 * triggers last, so that index tables are adopted one by one, as soon as they have
 * them: before, it could be anybody's table that a row of the catalog names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "indextable.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(indextable_restored);

static void adopt(Oid fact_table);
static void depend_on_stored_filter(void *arg);

/* adopt_restored: a table that may be a fact table, or partitioned into some */
void
adopt_restored(Oid altered)
{
	ListCell   *cell;

	foreach(cell, with_partitions(altered))
		if (catalog_has_fact(lfirst_oid(cell)))
			adopt(lfirst_oid(cell));
}

/* adopt_all: of the database */
void
adopt_all(void)
{
	ListCell   *cell;

	foreach(cell, catalog_fact_tables())
		if (get_rel_name(lfirst_oid(cell)) != NULL)
			adopt(lfirst_oid(cell));
}

/* needs_adoption: whether any of a fact table's index tables does */
static bool
needs_adoption(Oid fact_table)
{
	ListCell   *cell;

	foreach(cell, catalog_read(fact_table, InvalidOid))
	{
		StoredDefinition *stored = lfirst(cell);

		if (stored->fact_oid != fact_table || !depends_on_table(stored->row.index_table, fact_table))
			return true;
	}
	return false;
}

/*
 * adopt
 *		Notes the columns of a fact table by number, before they can be renamed, and
 *		what depends on it.
 *
 * By one session at a time, since a parallel restore makes the triggers of several
 * index tables at once, and two would replace the same rows.  The others leave it to
 * the next occasion.
 */
static void
adopt(Oid fact_table)
{
	Relation	fact;
	bool		restored = false;
	ListCell   *cell;

	if (!needs_adoption(fact_table) ||
		!ConditionalLockRelationOid(catalog_relid("definition", false),
									ShareUpdateExclusiveLock))
		return;
	fact = try_relation_open(fact_table, AccessShareLock);
	if (fact == NULL)
		return;
	foreach(cell, catalog_read(fact_table, InvalidOid))
	{
		StoredDefinition *stored = lfirst(cell);
		Oid			index_table = stored->row.index_table;

		if (stored->fact_oid != fact_table)
		{
			catalog_update(&stored->row, fact);
			/* Partitions are built in the order of their OIDs. */
			if (fact->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
				catalog_forget_build(index_table);
		}
		else if (depends_on_table(index_table, fact_table))
			continue;
		if (get_rel_name(index_table) == NULL)
			continue;
		depend_on_table(index_table, fact_table);
		if (OidIsValid(stored->row.replaces))
		{
			depend_on_table(index_table, stored->row.replaces);
			depend_on_extension(index_table);
		}
		if (stored->row.filter != NULL)
		{
			ErrorData  *error;

			CommandCounterIncrement();
			error = attempt(depend_on_stored_filter, stored);

			if (error != NULL)
				FreeErrorData(error);
		}
		restored = true;
	}
	if (restored)
	{
		queues_adopt(fact_table);
		CacheInvalidateRelcacheByRelid(fact_table);
		CommandCounterIncrement();
	}
	relation_close(fact, AccessShareLock);
}

static bool
is_on_table(Form_pg_depend form, Oid table)
{
	return form->deptype == DEPENDENCY_AUTO && form->refclassid == RelationRelationId &&
		form->refobjid == table;
}

/* depends_on_table: whether a table goes with another; no dump carries that, nor does pg_upgrade */
bool
depends_on_table(Oid relid, Oid on)
{
	return table_dependencies(relid, is_on_table, on, false);
}

static void
depend_on_stored_filter(void *arg)
{
	StoredDefinition *stored = arg;
	Relation	fact = relation_open(stored->row.fact_table, NoLock);

	depend_on_filter(stored->row.index_table,
					 expression_parse(fact, stored->row.filter, BOOLOID, -1,
									  column_names(fact, stored)));
	relation_close(fact, NoLock);
}

/*
 * indextable_restored
 *		Trigger function of the tables fact and definition of the catalog, which nobody
 *		but a restore writes by statements: there are index tables to adopt, and
 *		there may be a queue with something in it.
 */
Datum
indextable_restored(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by the trigger manager",
						IT_INTERNAL ".restored")));
	adopt_all();
	queue_wake_at_commit();
	return PointerGetDatum(NULL);
}
