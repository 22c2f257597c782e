/*-------------------------------------------------------------------------
 *
 * restore_setup.c
 *	  Mends what setup.c finds missing: triggers, guards, owner, indexes, partitions,
 *	  queue, and whether the index table is logged.
 *
 * DDL that takes them away is refused, or followed, by event triggers.  So they are
 * missing where event triggers do not fire: while they are disabled, or in a restore.
 * Disabled triggers are enabled again: an index table that lacks what is written
 * meanwhile is not what anybody wants to keep.  Nothing here looks at entries: what is
 * wrong with them is found and mended afterwards.
 *
 * Writers are locked out while something is put back, so that those who come later see
 * it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../catalog/named.h"
#include "../catalog/owner.h"
#include "../definition/cache.h"
#include "../definition/columns.h"
#include "../definition/layout.h"
#include "../definition/partition_spec.h"
#include "../definition/primary_key.h"
#include "../definition/totals.h"
#include "../definition/misfit.h"
#include "../definition/resolve.h"
#include "../indextable.h"
#include "../maintain/create_table.h"
#include "../maintain/follow_ddl.h"
#include "../maintain/guard.h"
#include "../maintain/install_triggers.h"
#include "../place/place.h"
#include "../queue/rejections.h"
#include "../queue/tables.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "restore_setup.h"

/* A primary key that is to be made. */
typedef struct NewKey
{
	IndexDef   *def;
	bool		covering;
	char	   *tablespace;
} NewKey;

static void restore_primary_key(Oid index_table, Oid fact_table);
static void add_key(void *arg);
static void restore_partitions(Oid index_table, Oid fact_table);
static void restore_owners(Oid fact_table);
static void restore_persistence(Oid index_table, Oid fact_table);
static void restore_row_index(Oid index_table, Oid fact_table);
static bool has_lost_queue(Oid fact);

/* restore_setup: puts back what an index table lacks, before any row is looked at */
void
restore_setup(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);

	Oid			lacking;

	/*
	 * This comes first: a command that follows fails if any of them has
	 * another owner.
	 */
	restore_owners(fact);

	/* Without them, no definition of the fact table can be loaded. */
	while (OidIsValid(lacking = lacks_primary_key(index_table)))
		restore_primary_key(lacking, fact);
	if (!triggers_intact(fact))
	{
		lock_tree(fact, ShareRowExclusiveLock);
		triggers_install(fact);
	}
	restore_partitions(index_table, fact);
	if (!guards_intact(index_table))
	{
		lock_tree(fact, ShareRowExclusiveLock);
		triggers_install_guard(index_table);
	}
	if (has_lost_queue(fact))
	{
		lock_tree(fact, ShareRowExclusiveLock);
		queues_restore(fact);
	}
	if (place_has_parts(fact))
		return;
	restore_persistence(index_table, fact);
	restore_row_index(index_table, fact);
}

/*
 * lacks_primary_key
 *		Returns which of the index tables of the same fact table has no primary key;
 *		InvalidOid: none.
 */
Oid
lacks_primary_key(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);
	ListCell   *cell;

	foreach(cell, OidIsValid(fact) && catalog_has_fact(fact) ? catalog_read_definitions(fact, InvalidOid) : NIL)
	{
		DefinitionRow *row = &((StoredDefinition *) lfirst(cell))->row;
		Relation	rel = keeps_totals(row) ? NULL : try_relation_open(row->index_table, AccessShareLock);
		Relation	index;

		if (rel == NULL)
			continue;
		index = open_primary_key(rel, AccessShareLock);
		relation_close(rel, AccessShareLock);
		if (index == NULL)
			return row->index_table;
		index_close(index, AccessShareLock);
	}
	return InvalidOid;
}

/*
 * restore_primary_key
 *		Makes the primary key of an index table that has lost it.
 *
 * It covers the included fields if all entries fit into an index with them; if one does not,
 * that is an error, and the key is made without.
 */
static void
restore_primary_key(Oid index_table, Oid fact_table)
{
	Relation	fact;
	Relation	rel;
	List	   *rows;
	StoredDefinition *stored;
	const char **names;
	FactDef    *factdef;
	NewKey		key;
	ErrorData  *error;
	TableLock	locks[] = {{fact_table, ShareRowExclusiveLock, true}, {index_table, AccessExclusiveLock, true}};

	lock_all_in_turns(locks, lengthof(locks));
	rows = catalog_read_definitions(InvalidOid, index_table);
	if (rows == NIL)
		report_not_index_table(index_table);
	stored = linitial(rows);
	fact = relation_open(fact_table, NoLock);
	rel = relation_open(index_table, NoLock);
	names = get_stored_column_names(fact, stored);
	factdef = make_fact_def(fact, stored->row.primary_key, names, CurrentMemoryContext);
	key.def = make_index_def(factdef, fact, &stored->row, rel, INT_MAX, names);
	if (!definition_complete(key.def, fact, rel))
		report_altered_index_table(index_table, fact, "The columns of the index table, or the types of the fact table's columns, were altered.");
	key.tablespace = tablespace_of(rel);
	key.covering = primary_key_can_cover(key.def);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
	error = run_catching_errors(add_key, &key);
	if (error != NULL && (error->sqlerrcode != ERRCODE_PROGRAM_LIMIT_EXCEEDED || !key.covering))
		ReThrowError(error);
	if (error != NULL)
	{
		key.covering = false;
		add_key(&key);
	}
	CommandCounterIncrement();
}

static void
add_key(void *arg)
{
	NewKey	   *key = arg;

	primary_key_add(key->def, key->covering, key->tablespace, NULL);
}

/*
 * restore_partitions
 *		Makes the partitions that an index table has lost and cannot do without, empty.
 *
 * Rows that were rejected because their entries fit no partition are tried again.
 */
static void
restore_partitions(Oid index_table, Oid fact_table)
{
	Relation	rel = open_existing(index_table, AccessShareLock);
	bool		lacks = partitioning_lacking(rel) != NULL;
	Partitioning *lacking;
	List	   *dropped = NIL;
	char	   *columns;
	Oid			owner;
	Oid			outer = altered_by_us;

	relation_close(rel, AccessShareLock);
	if (!lacks)
		return;
	lock_tree(fact_table, ShareRowExclusiveLock);
	lock_tree(index_table, AccessExclusiveLock);
	rel = open_existing(index_table, NoLock);
	lacking = partitioning_lacking(rel);
	columns = layout_like(NULL, NULL, rel, INT_MAX, INT_MAX, &dropped);
	owner = rel->rd_rel->relowner;
	relation_close(rel, NoLock);
	if (lacking == NULL)
		return;					/* mended meanwhile */
	altered_by_us = index_table;
	PG_TRY();
	{
		make_partitions(get_extension_owner(), index_table, lacking, columns, dropped, owner);
	}
	PG_FINALLY();
	{
		altered_by_us = outer;
	}
	PG_END_TRY();
	CommandCounterIncrement();
	rejections_retry_now(index_table, true);
}

/* restore_owners: gives the index tables of a fact table its owner */
static void
restore_owners(Oid fact_table)
{
	Relation	fact = open_existing(fact_table, AccessShareLock);
	ListCell   *cell;

	foreach(cell, index_tables_of(fact_table))
	{
		Relation	rel = try_relation_open(lfirst_oid(cell), AccessShareLock);
		bool		differs = rel != NULL && rel->rd_rel->relowner != fact->rd_rel->relowner;

		if (rel != NULL)
			relation_close(rel, AccessShareLock);
		if (!differs)
			continue;
		lock_tree(fact_table, ShareRowExclusiveLock);
		(void) sync_index_table_owner(lfirst_oid(cell), fact, true);
		CommandCounterIncrement();
	}
	relation_close(fact, NoLock);
}

/* restore_persistence: has an index table logged if its fact table is */
static void
restore_persistence(Oid index_table, Oid fact_table)
{
	Oid			outer = altered_by_us;

	if (get_rel_persistence(index_table) == get_rel_persistence(fact_table) || get_rel_relkind(index_table) != RELKIND_RELATION)
		return;
	lock_tree(fact_table, ShareRowExclusiveLock);
	altered_by_us = index_table;
	PG_TRY();
	{
		run_sql(get_extension_owner(), "ALTER TABLE %s SET %s", quoted_relation(index_table),
				get_rel_persistence(fact_table) == RELPERSISTENCE_UNLOGGED ? "UNLOGGED" : "LOGGED");
	}
	PG_FINALLY();
	{
		altered_by_us = outer;
	}
	PG_END_TRY();
	CommandCounterIncrement();
}

/* restore_row_index: makes the index by which a row's entries are found, of an index table that needs it */
static void
restore_row_index(Oid index_table, Oid fact_table)
{
	FactDef    *factdef;
	IndexDef   *def = definition_of_index_table(index_table, &factdef);

	if (def != NULL && is_totals(def) && def->nkeys > 0 && !OidIsValid(def->primary_index))
	{
		make_totals_index(def, NULL);
		CommandCounterIncrement();
	}
	if (def == NULL || !def->async || OidIsValid(def->row_index))
		return;
	lock_tree(fact_table, ShareRowExclusiveLock);
	def = definition_of_index_table(index_table, &factdef);
	if (def == NULL || !def->async || OidIsValid(def->row_index))
		return;					/* mended or dropped meanwhile */
	row_index_make(index_table, row_index_columns(def));
	CommandCounterIncrement();
}

/* has_lost_queue: returns whether changes cannot be queued, or were queued and are lost */
static bool
has_lost_queue(Oid fact)
{
	Relation	rel = open_existing(fact, AccessShareLock);
	bool		lost = definition_of_fact(rel, fact)->queue_lost;

	relation_close(rel, AccessShareLock);
	return lost;
}
