/*-------------------------------------------------------------------------
 *
 * adopt_restored.c
 *	  Adopts index tables that come from a dump, or from pg_upgrade.
 *
 * A dump carries the tables, our triggers and the rows of the catalog, but not the
 * dependencies between the tables, and after a restore the columns may have other
 * numbers.  Adopting an index table records both anew.
 *
 * A restore creates triggers last, so index tables are adopted one by one, each as soon
 * as it has its triggers.  Until then nothing shows that the table that a row of the
 * catalog names is an index table at all: it could be any user's table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/partition.h"
#include "commands/trigger.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "queue.h"

PG_FUNCTION_INFO_V1(indextable_restored);

static void adopt(Oid fact_table, bool wait);
static bool needs_adoption(Oid fact_table);
static void record_stored_dependencies(DefinitionRow *stored, Relation fact);

/*
 * indextable_restored
 *		Trigger function of the tables fact and definition of the catalog: adopts all
 *		index tables of the database, and wakes workers at commit, as queues may have
 *		been restored with changes in them.
 *
 * Only a restore writes these tables by statements.
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

/*
 * adopt_restored
 *		Adopts the index tables of a table that may be a fact table, and of those of its
 *		partitions that are fact tables.
 *
 * Fact tables are looked through, and not partitions, because there may be thousands of these,
 * and each that is attached to a table brings us here.
 */
void
adopt_restored(Oid altered)
{
	/*
	 * With a catalog of another version, tables that are not in it are left
	 * alone.
	 */
	if (!OidIsValid(altered) || (!catalog_is_current_version() && !catalog_has_fact(altered)))
		return;
	foreach_oid(fact, catalog_fact_tables())
	{
		if (fact == altered ||
			(get_rel_relispartition(fact) && list_member_oid(get_partition_ancestors(fact), altered)))
			adopt(fact, true);
	}
}

/*
 * adopt_all
 *		Adopts the index tables of all fact tables of the database, except those that other
 *		sessions have locked.
 */
void
adopt_all(void)
{
	foreach_oid(fact, catalog_fact_tables())
	{
		if (get_rel_name(fact) != NULL)
			adopt(fact, false);
	}
}

/*
 * adopt
 *		Adopts the index tables of a fact table that are not adopted yet: stores the
 *		columns of the fact table by number, before they can be renamed, and records
 *		what depends on the table.
 *
 * One session at a time does this, because a parallel restore creates the triggers of
 * several index tables at once, and two sessions would replace the same rows.  A
 * session that does not get the lock leaves the work to the next occasion; without wait also one
 * that would have to wait for the fact table, which may be of another owner.
 */
static void
adopt(Oid fact_table, bool wait)
{
	Relation	fact = NULL;
	bool		restored = false;

	FactTableRow row;

	/* A feed needs no index table. */
	if (catalog_read_fact(fact_table, &row) && row.feed && OidIsValid(row.queue) &&
		get_rel_name(row.queue) != NULL && !has_table_dependency(row.queue, fact_table) &&
		ConditionalLockRelationOid(catalog_relid("definition", false), ShareUpdateExclusiveLock))
		queues_adopt(fact_table);
	if (!needs_adoption(fact_table) ||
		!ConditionalLockRelationOid(catalog_relid("definition", false),
									ShareUpdateExclusiveLock))
		return;
	if (wait)
		fact = try_relation_open(fact_table, AccessShareLock);
	else
		(void) open_if_free(fact_table, &fact);
	if (fact == NULL)
		return;
	foreach_ptr(DefinitionRow, stored, catalog_read_definitions(fact_table, InvalidOid))
	{
		Oid			index_table = stored->index_table;
		Oid			owner = table_owner(index_table);

		/* refuse_damaged() says why not */
		if (OidIsValid(owner) && owner != fact->rd_rel->relowner && !is_adopted(index_table, fact_table))
			continue;
		if (stored->fact_oid != fact_table)
		{
			catalog_update(stored, fact);
			/* A build goes by the OIDs of partitions, which are others now. */
			if (fact->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
				catalog_forget_build(index_table);
		}
		else if (is_adopted(index_table, fact_table))
			continue;
		if (get_rel_name(index_table) == NULL)
			continue;
		if (!is_adopted(index_table, fact_table))
			record_table_dependency(index_table, fact_table);
		if (OidIsValid(stored->replaces))
		{
			record_table_dependency(index_table, stored->replaces);
			record_extension_dependency(index_table);
		}
		CommandCounterIncrement();
		record_stored_dependencies(stored, fact);
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

/* needs_adoption: returns whether an index table of a fact table is not adopted yet */
static bool
needs_adoption(Oid fact_table)
{
	foreach_ptr(DefinitionRow, stored, catalog_read_definitions(fact_table, InvalidOid))
	{
		if (stored->fact_oid != fact_table || !is_adopted(stored->index_table, fact_table))
			return true;
	}
	return false;
}

/*
 * record_stored_dependencies
 *		Records what the expressions of an index table depend on.  One that cannot be parsed now
 *		does not stop the restore.
 */
static void
record_stored_dependencies(DefinitionRow *stored, Relation fact)
{
	const char **names = get_stored_column_names(fact, stored);
	ErrorData  *error;

	CATCHING_FAILURES(error,
					  record_code_dependencies(stored->index_table, parse_expressions(fact, stored, names)));
}
