/*-------------------------------------------------------------------------
 *
 * alter_in_place.c
 *	  Gives an index table another maintenance, makes it unique or not, and lets it refuse
 *	  or skip values that are not possible as keys: changes that leave its entries as they
 *	  are.
 *
 * Totals are given another filter here, too: what the groups lack by it is added to them.
 *
 * Writers of the fact table are locked out: all that have written have ended, and the
 * next ones read the new definition.  What is queued is applied in between.
 *
 * A session that reads may go on with a definition that it has cached, as long as it keeps
 * its locks.  A change of what entries there can be is therefore made with the index table
 * locked against its readers, too: a session that relies on the old definition has a lock
 * on the index table until its transaction ends, and one that gets the lock afterwards
 * hears of the new definition.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../expression/expression.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/lock.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "../verify/verify.h"
#include "commands.h"

static void write_definition(DefinitionRow *row);
static void change_mismatch(DefinitionRow *row);
static void require_no_mismatch(DefinitionRow *row);
static void change_uniqueness(DefinitionRow *row);
static void change_maintenance(DefinitionRow *row);

/*
 * alter_in_place
 *		Gives an index table the maintenance, the uniqueness and the on_mismatch that are
 *		wanted.  Its definition is the same apart from these.
 *
 * An index table is unique only while it is transactional.  Rows that are rejected for
 * values which are skipped from now on do not keep it from becoming transactional.
 */
void
alter_in_place(DefinitionRow *now, DefinitionRow *wanted)
{
	DefinitionRow row = *now;

	if (row.on_mismatch != wanted->on_mismatch)
	{
		row.on_mismatch = wanted->on_mismatch;
		change_mismatch(&row);
	}
	if (row.is_unique && !wanted->is_unique)
	{
		row.is_unique = false;
		change_uniqueness(&row);
	}
	if (row.maintenance != wanted->maintenance)
	{
		row.maintenance = wanted->maintenance;
		change_maintenance(&row);
	}
	if (!row.is_unique && wanted->is_unique)
	{
		row.is_unique = true;
		change_uniqueness(&row);
	}
}

/* write_definition: puts a definition into the catalog, and has all sessions load it anew */
static void
write_definition(DefinitionRow *row)
{
	Relation	fact = relation_open(row->fact_table, NoLock);

	catalog_update(row, fact);
	relation_close(fact, NoLock);
	CacheInvalidateRelcacheByRelid(row->fact_table);
	CommandCounterIncrement();
}

/*
 * alter_totals
 *		Gives a table of totals the filter and the on_mismatch that are wanted.
 *
 * Snapshots that are older than the definition are not answered from the totals.
 */
void
alter_totals(DefinitionRow *row)
{
	Relation	fact = relation_open(row->fact_table, NoLock);
	IndexDef   *def;

	/* It refuses what cannot be skipped. */
	def = definition_resolve(row, fact, NULL, 0);
	relation_close(fact, NoLock);
	lock_tree_in_turns(row->index_table, AccessExclusiveLock);
	forget_code_dependencies(row->index_table);
	record_code_dependencies(row->index_table, definition_expressions(def));
	write_definition(row);
	catalog_forget_skipped(row->index_table);
	completeness_begin(row->index_table);
	(void) add_missing_totals(row->index_table, true);
	triggers_install(row->fact_table);
}

/*
 * change_mismatch
 *		Makes an index table refuse or skip values that are not possible as keys from now
 *		on, as *row says.
 *
 * Entries that it has are right either way.  Those that it has skipped would be missing
 * from one that refuses such values, so there must be none.  Rows that it has rejected,
 * being asynchronous, lose what cannot be a key.
 */
static void
change_mismatch(DefinitionRow *row)
{
	bool		skip = row->on_mismatch == MISMATCH_SKIP;
	bool		async = is_async(row);
	Relation	fact = relation_open(row->fact_table, NoLock);

	if (async)
		drain_queue(row->fact_table, 0);
	lock_tree_in_turns(row->index_table, AccessExclusiveLock);
	if (!skip)
		require_no_mismatch(row);
	else
		(void) definition_resolve(row, fact, NULL, 0);	/* refuses what cannot
														 * be skipped */
	relation_close(fact, NoLock);
	write_definition(row);
	if (!skip)
		catalog_forget_skipped(row->index_table);
	else if (async)
	{
		rejections_retry_now(row->index_table, true);
		drain_queue(row->fact_table, 0);
	}
}

/*
 * require_no_mismatch
 *		Raises the error of a write for the first fact row with a value that cannot be a
 *		key.
 *
 * The rows are read only if there may be one: it is recorded whether any row lacks an
 * entry although its key fields are not null.
 */
static void
require_no_mismatch(DefinitionRow *row)
{
	FactDef    *factdef;
	IndexDef   *def = get_definition(row->index_table);
	IndexDef	strict;
	Relation	fact;
	Snapshot	snapshot;
	BlockScan	scan;
	TupleTableSlot *slot;

	if (index_table_complete(def, 0, NULL))
		return;
	factdef = def->fact;
	strict = *def;
	strict.spec.skip_mismatch = false;
	strict.ends_skipping = true;
	definition_hold(factdef, CurrentMemoryContext);
	fact = relation_open(factdef->relid, NoLock);
	AS_OWNER(factdef->owner);
	{
		snapshot = RegisterSnapshot(GetLatestSnapshot());
		block_scan_begin(&scan, factdef, fact, snapshot, NULL);
		while ((slot = block_scan_next(&scan)) != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(scan.row_cxt);
			FactRow		factrow;
			Entries		entries;

			factrow_init(&factrow, factdef, slot);
			entries_init(&entries, &strict);
			(void) extract_entries(&strict, &factrow, true, &entries);
			MemoryContextSwitchTo(old);
		}
		block_scan_end(&scan);
		UnregisterSnapshot(snapshot);
	}
	END_AS_OWNER();
	relation_close(fact, NoLock);
}

/*
 * change_uniqueness
 *		Makes an index table unique, or lets rows have the same key from now on, as *row
 *		says.
 *
 * Only the index of the primary key is made anew.  The server raises an error if two
 * entries have the same key, as it does for CREATE UNIQUE INDEX.
 */
static void
change_uniqueness(DefinitionRow *row)
{
	IndexDef   *def;
	IndexDef	wanted;

	lock_tree_in_turns(row->index_table, AccessExclusiveLock);
	def = get_definition(row->index_table);
	wanted = *def;
	wanted.spec.is_unique = row->is_unique;
	definition_hold(def->fact, CurrentMemoryContext);
	primary_key_replace(&wanted, def->layout.covering);
	write_definition(row);
}

/*
 * change_maintenance
 *		Makes an index table asynchronous or transactional, as *row says.
 *
 * What is left in the queue is applied in between.
 */
static void
change_maintenance(DefinitionRow *row)
{
	bool		async = is_async(row);
	IndexDef   *def;

	drain_queue(row->fact_table, 0);
	if (!async)
		require_no_rejections(row->index_table, row->index_table);
	else
		queues_restore(row->fact_table);
	write_definition(row);
	wait_point("alter has changed the maintenance");

	if (async)
	{
		def = definition_of_index_table(row->index_table);
		definition_hold(def->fact, CurrentMemoryContext);
		elsewhere->feeds->require(def->fact, row->fact_table);
		if (!OidIsValid(def->layout.row_index))
			row_index_make(def);
		queues_create(def->fact, false);
		CacheInvalidateRelcacheByRelid(row->fact_table);
	}
	triggers_install(row->fact_table);
	if (!async)
	{
		/* If another session is reading the index table, this index may stay. */
		if (lock_tree_now(row->index_table, AccessExclusiveLock))
			row_index_drop(row->index_table);
		(void) queues_drop(row->fact_table, false);
	}
}
