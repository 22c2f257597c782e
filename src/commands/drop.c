/*-------------------------------------------------------------------------
 *
 * drop.c
 *	  indextable.drop(), and what has to be forgotten when an index table or a fact
 *	  table is dropped in any other way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/while_set.h"
#include "commands.h"

PG_FUNCTION_INFO_V1(indextable_drop);

static void drop_replacement(Oid relid);
static void run_drop_table(Oid index_table, DropBehavior behavior);
static void lock_for_drop(Oid fact, Oid index_table);
static LOCKMODE fact_lock(Oid fact);

/*
 * indextable_drop
 *		Drops an index table, or forgets the definition of a table that is not an
 *		index table any more.
 *
 * drop(index_table regclass)
 */
Datum
indextable_drop(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	bool		doubtful = catalog_read_unchecked_definitions(InvalidOid, relid) != NIL;

	if (!OidIsValid(catalog_fact_of(relid)) && !doubtful)
		report_not_index_table(relid);
	if (get_rel_name(relid) != NULL)
		require_owner(relid);
	PreventCommandIfReadOnly("drop()");
	forget_orphaned_rows(relid);
	/* Where the table is no index table, only the definition is forgotten. */
	if (OidIsValid(catalog_fact_of(relid)))
		drop_index_table(relid);
	PG_RETURN_VOID();
}

/*
 * lock_for_drop
 *		Locks an index table, its fact table, and the queue, if it is to be dropped, too.
 *
 * Writers and look-ups lock the fact table first, but queries with both tables may be
 * written the other way round, and a transaction may read the index table and write the
 * fact table later.
 */
static void
lock_for_drop(Oid fact, Oid index_table)
{
	List	   *queue = queues_used_last(fact, index_table);
	TableLock	locks[4] = {{fact, fact_lock(fact), true}};
	int			n = 1;

	foreach_oid(relid, queue)
		locks[n++] = (TableLock)
	{
		relid, AccessExclusiveLock, false
	};
	locks[n++] = (TableLock)
	{
		index_table, AccessExclusiveLock, true
	};
	lock_all_in_turns(locks, n);
}

/*
 * fact_lock
 *		Returns the lock on a fact table that dropping an index table takes.  With its last index table
 *		the triggers of the fact table are dropped, too.
 */
static LOCKMODE
fact_lock(Oid fact)
{
	return list_length(catalog_read_definitions(fact, InvalidOid)) > 1 ? ShareRowExclusiveLock :
		AccessExclusiveLock;
}

/* drop_index_table: drops an index table as the caller, who is allowed to, and forgets it */
void
drop_index_table(Oid relid)
{
	Oid			fact = catalog_fact_of(relid);
	DefinitionRow *row;
	DefinitionRow *pending;
	bool		exists;

	lock_for_drop(fact, relid);

	/*
	 * Meanwhile other index tables may have been dropped, so that this is the
	 * last one now.
	 */
	exists = lock_if_exists(fact, fact_lock(fact));
	if (exists)
	{
		lock_tree(fact, ShareRowExclusiveLock);
		foreach_oid(table, queues_used_last(fact, relid))
			LockRelationOid(table, AccessExclusiveLock);
	}
	if (!lock_if_exists(relid, AccessExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the index table was dropped concurrently")));

	/*
	 * Others need no right on a replacement to have made something that
	 * depends on it, as they can name it.
	 */
	pending = replacement_of(relid);
	if (pending != NULL)
		drop_index_table(pending->index_table);
	row = stored_definition(relid);
	if (row != NULL && OidIsValid(row->replaces))
		drop_replacement(relid);
	else
		run_drop_table(relid, DROP_RESTRICT);
	/* This is for where event triggers do not fire. */
	forget_dropped_relation(relid, true, DROP_RESTRICT);
	/* This is for where they do: they do not wait for locks. */
	if (catalog_has_fact(fact) && !catalog_fact_in_use(fact))
		triggers_remove(fact, true);
}

/* drop_replacement: runs DROP TABLE of a replacement, with whatever others have made on it */
static void
drop_replacement(Oid relid)
{
	WHILE_SET(LockTimeout, OTHERS_TIMEOUT, run_drop_table(relid, DROP_CASCADE));
}

/*
 * run_drop_table
 *		Runs DROP TABLE of an index table as the current user, which indextable.drop_table
 *		does not keep us from.
 */
static void
run_drop_table(Oid index_table, DropBehavior behavior)
{
	WHILE_SET(setting_drop_table, true,
			  run_sql(InvalidOid, "DROP TABLE %s%s", held_name(index_table),
					  behavior == DROP_CASCADE ? " CASCADE" : ""));
}

/*
 * forget_dropped_relation
 *		Forgets a relation that was dropped, if it was an index table or a fact
 *		table; wait says whether to wait for locks, as in triggers_remove().
 *
 * 'behavior' is that of the command; it holds for index tables that are dropped
 * along.
 */
void
forget_dropped_relation(Oid relid, bool wait, DropBehavior behavior)
{
	Oid			fact = catalog_forget_index_table(relid);
	FactTableRow tables;

	if (catalog_read_fact(relid, &tables))
	{
		(void) find_queue_tables(&tables, NULL);
		if (!queue_stays_for_now(tables.queue))
		{
			queue_table_drop(tables.queue);
			queue_table_drop(tables.spare);
			catalog_forget_fact(relid);
		}
		else
			queue_wake_at_commit();
	}

	/*
	 * After a restore, the index tables of a fact table and the replacement
	 * of an index table are not dropped by way of a dependency, because
	 * dependencies are not dumped.  Those in parts never are.
	 */
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(OidIsValid(fact) ? fact : relid, InvalidOid))
	{
		Oid			index_table = row->index_table;

		if (OidIsValid(fact) && row->replaces != relid)
			continue;
		if (place_has_parts(index_table))
		{
			/*
			 * This drops it on all nodes, which Citus does by an event
			 * trigger.  The role that drops the fact table need not own
			 * either of them; if it does, Citus wants it to drop both.
			 */
			AS_OWNER(superuser() ? get_extension_owner() : table_owner(index_table));
			if (!place_is_governed_elsewhere(index_table))
				run_drop_table(index_table, behavior);
			END_AS_OWNER();
		}
		else if (definition_matches_tables(row) && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(index_table)))
		{
			ObjectAddress object;

			ObjectAddressSet(object, RelationRelationId, index_table);
			performDeletion(&object, behavior, PERFORM_DELETION_INTERNAL);
		}
		catalog_forget_index_table(index_table);
	}
	if (!OidIsValid(fact) || !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(fact)))
		return;
	CacheInvalidateRelcacheByRelid(fact);
	(void) queues_drop(fact, wait);
	if (!catalog_fact_in_use(fact))
		triggers_remove(fact, wait);
}
