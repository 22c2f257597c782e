/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  The queue tables of a fact table: makes them, drops them, and empties them
 *	  in turn.
 *
 * Called by create.c and drop.c, and by drain.c after each batch.
 *
 * A queue table is only appended to, so that space is got back by truncating it
 * as a whole.  While writers use one of the two, the other is drained; once no
 * row of it can be seen by anybody, it is truncated, and the next time the one
 * in use has grown large they change places.  Which one is in use is no more
 * than a hint: rows in either are drained.
 *
 * An old snapshot does not slow anybody down, but keeps what it can see: a dump
 * needs the changes that the index tables lack in its snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "storage/block.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../catalog/validity.h"
#include "../definition/cache.h"
#include "../indextable.h"
#include "../util/dependencies.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "append.h"
#include "lost.h"
#include "scan.h"
#include "tables.h"

/* Writers change to the other table when theirs has this many blocks: 16 MB. */
#define ROTATE_BLOCKS		2048

static void make_lost_tables(FactDef *def, Relation fact);
static Oid	make_queue_table(FactDef *def, Relation fact, int number);
static void record_dependencies(Oid queue, Oid fact);
static bool truncate_if_removable(Oid relid);

/*
 * refuse_queue_over_foreign
 *		The drain needs to see rows as of the moment it has read the queue.  What
 *		another server shows is older, if the transaction has read it before.
 */
void
refuse_queue_over_foreign(Oid fact)
{
	if (foreign_leaves(fact) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("changes of table \"%s\" cannot be queued because it has foreign partitions", get_rel_name(fact)),
				 errdetail("Index tables that are asynchronous, or that are built or rebuilt online, need a queue."),
				 errhint("Use maintenance => 'transactional' and populate => true.")));
}

/* queues_create: gives a fact table that is locked its queue, unless it has one */
void
queues_create(FactDef *def)
{
	Relation	fact;
	FactTableRow row;

	refuse_queue_over_foreign(def->relid);
	if (!catalog_read_fact(def->relid, &row))
		elog(ERROR, "table \"%s\" is not registered", def->name);
	/* A worker from the beginning, not from the first change on. */
	queue_wake_at_commit();
	if (OidIsValid(row.queue))
		return;
	fact = relation_open(def->relid, NoLock);
	row.queue = make_queue_table(def, fact, 1);
	row.spare = make_queue_table(def, fact, 2);
	relation_close(fact, NoLock);
	catalog_write_fact(&row);
}

/*
 * queues_restore
 *		Makes anew what is gone of the queue of a fact table that is locked against
 *		writers, whose definition says so then.
 *
 * No change is lost between: whoever has collected some holds a lock on the fact
 * table until he has written them, and is waited for; whoever comes later loads the
 * definition with the new table.  What was lost before shows when index tables are
 * verified, and they are invalid until then.
 */
void
queues_restore(Oid fact)
{
	FactTableRow row;
	Relation	rel;
	FactDef    *def;

	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue))
		return;
	rel = relation_open(fact, NoLock);
	def = definition_of_fact(rel, fact);
	if (def->queue_lost)
	{
		definition_pin(def);
		PG_TRY();
		{
			make_lost_tables(def, rel);
		}
		PG_CATCH();
		{
			definition_unpin(def);
			PG_RE_THROW();
		}
		PG_END_TRY();
		definition_unpin(def);
	}
	relation_close(rel, NoLock);
}

static void
make_lost_tables(FactDef *def, Relation fact)
{
	FactTableRow row = {def->relid, def->queue, def->spare};

	queue_note_lost(def);
	if (!OidIsValid(row.queue))
		row.queue = make_queue_table(def, fact, 1);
	row.spare = make_queue_table(def, fact, 2);
	catalog_write_fact(&row);
	CacheInvalidateRelcacheByRelid(def->relid);
	CommandCounterIncrement();
}

/*
 * make_queue_table
 *		Logged, as it must survive what the fact table survives.  It goes with the
 *		fact table or the extension, but is no member of it: dumps take it along.
 */
static Oid
make_queue_table(FactDef *def, Relation fact, int number)
{
	Oid			schema = catalog_schema();
	const char *table;
	char	   *name = NULL;
	StringInfoData columns;
	Oid			relid;
	int			try;
	int			i;

	/* A table restored from a dump may have the name already. */
	for (try = 0; name == NULL || OidIsValid(get_relname_relid(name, schema)); try++)
		name = try == 0 ? psprintf("queue_%u_%d", def->relid, number) :
			psprintf("queue_%u_%d_%d", def->relid, number, try);

	initStringInfo(&columns);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), def->pk_attno[i] - 1);

		/* Names of our own: the fact table's may change, or be changed_at. */
		appendStringInfo(&columns, ", key%d %s", i + 1,
						 format_type_extended(att->atttypid, att->atttypmod,
											  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	}
	table = quote_qualified_identifier(get_namespace_name(schema), name);
	run_sql(get_extension_owner(), "CREATE TABLE %s (changed_at pg_catalog.timestamptz%s)"
			" USING heap WITH (autovacuum_enabled = false, vacuum_truncate = false) TABLESPACE %s",
			table, columns.data, quote_identifier(tablespace_of(fact)));
	for (i = 0; i < def->npk; i++)
		if (TupleDescAttr(RelationGetDescr(fact), def->pk_attno[i] - 1)->attlen == -1)
			run_sql(get_extension_owner(), "ALTER TABLE %s ALTER key%d SET STORAGE MAIN",
					table, i + 1);
	run_sql(get_extension_owner(), "COMMENT ON TABLE %s IS %s", table,
			quote_literal_cstr(psprintf("Changes of %s that asynchronous index tables lack; written and emptied by indextable",
										quoted_relation(def->relid))));
	relid = get_relname_relid(name, schema);
	revoke_all(relid, get_extension_owner());
	record_dependencies(relid, def->relid);
	return relid;
}

static void
record_dependencies(Oid queue, Oid fact)
{
	record_table_dependency(queue, fact);
	record_extension_dependency(queue);
}

/* queues_adopt: the queue of a fact table was restored from a dump, with what was in it */
void
queues_adopt(Oid fact)
{
	FactTableRow row;

	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue))
		return;
	(void) find_queue_tables(&row, NULL);
	if (OidIsValid(row.queue) && !has_table_dependency(row.queue, fact))
		record_dependencies(row.queue, fact);
	if (OidIsValid(row.spare) && !has_table_dependency(row.spare, fact))
		record_dependencies(row.spare, fact);
	queue_wake_at_commit();
}

/*
 * queues_drop
 *		Without asynchronous index tables there is nothing to queue.  Without wait
 *		the queue stays, unused, if somebody has it locked: false; see
 *		triggers_remove().
 */
bool
queues_drop(Oid fact, bool wait)
{
	FactTableRow row;
	Oid			tables[2];
	ListCell   *cell;
	int			i;

	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue))
		return true;
	foreach(cell, catalog_read_definitions(fact, InvalidOid))
	{
		if (is_queued(&((StoredDefinition *) lfirst(cell))->row))
			return true;
	}
	(void) find_queue_tables(&row, NULL);
	tables[0] = row.queue;
	tables[1] = row.spare;
	for (i = 0; i < 2; i++)
	{
		if (!OidIsValid(tables[i]))
			continue;
		if (wait)
			LockRelationOid(tables[i], AccessExclusiveLock);
		else if (!ConditionalLockRelationOid(tables[i], AccessExclusiveLock))
			return false;
	}
	row.queue = row.spare = InvalidOid;
	catalog_write_fact(&row);
	CacheInvalidateRelcacheByRelid(fact);
	for (i = 0; i < 2; i++)
		queue_table_drop(tables[i]);
	return true;
}

/* queues_lock_if_last: waits for the queue that goes with an index table */
void
queues_lock_if_last(Oid fact, Oid index_table)
{
	FactTableRow row;
	ListCell   *cell;

	foreach(cell, catalog_read_definitions(fact, InvalidOid))
	{
		StoredDefinition *stored = lfirst(cell);

		if (stored->row.index_table != index_table && is_queued(&stored->row))
			return;
	}
	if (catalog_read_fact(fact, &row) && OidIsValid(row.queue))
	{
		(void) find_queue_tables(&row, NULL);
		if (OidIsValid(row.spare))
			LockRelationOid(Min(row.queue, row.spare), AccessExclusiveLock);
		if (OidIsValid(row.queue))
			LockRelationOid(Max(row.queue, row.spare), AccessExclusiveLock);
	}
}

/*
 * queues_rotate
 *		Empties the spare table and has writers change over, when it is time.  The
 *		caller holds the queue's drain lock.
 */
void
queues_rotate(FactDef *def)
{
	FactTableRow row;
	Relation	rel = relation_open(def->queue, AccessShareLock);
	Relation	spare = relation_open(def->spare, AccessShareLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber spare_blocks = RelationGetNumberOfBlocks(spare);

	relation_close(spare, AccessShareLock);
	relation_close(rel, AccessShareLock);
	if (spare_blocks > 0 && !truncate_if_removable(def->spare))
		return;
	if (blocks < ROTATE_BLOCKS)
		return;
	row.fact_table = def->relid;
	row.queue = def->spare;
	row.spare = def->queue;
	catalog_write_fact(&row);
	CacheInvalidateRelcacheByRelid(def->relid);
}

/*
 * truncate_if_removable
 *		Writers hold a lock until their transaction ends: if ours is to be had at
 *		once, nobody's rows are still to come.
 */
static bool
truncate_if_removable(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	bool		removable;

	/* A look without the lock first: it is written to the log for standbys. */
	removable = queue_is_removable(rel) &&
		ConditionalLockRelationOid(relid, AccessExclusiveLock);
	if (removable)
	{
		removable = queue_is_removable(rel);
		if (removable)
		{
			/* What TRUNCATE does, but that subscribers are not told. */
			RelationSetNewRelfilenumber(rel, rel->rd_rel->relpersistence);
			CommandCounterIncrement();
		}
		else
			UnlockRelationOid(relid, AccessExclusiveLock);
	}
	relation_close(rel, NoLock);
	return removable;
}
