/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  Creates the two queue tables of a fact table, drops them, and empties them in turn.
 *
 * Rows are only appended to a queue table, so its space is reclaimed by truncating it as
 * a whole.  While writers append to one of the two tables, the other one, the spare, is
 * drained.  It is truncated once no snapshot sees a row of it.  When the table in use
 * has grown large and the spare is empty, they change places.  Which table is in use is
 * no more than a hint: rows in either of them are drained.
 *
 * No committed key is lost when a table is truncated; see truncate_if_removable().
 *
 * An old snapshot slows nobody down, but as long as it exists the rows that it sees are
 * kept: a dump has to contain the changes that the index tables lack in its snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "queue.h"

/* Writers change over to the other table when theirs has this many blocks: 16 MB. */
#define ROTATE_BLOCKS		2048

static void make_lost_tables(FactDef *def, Relation fact);
static Oid	make_queue_table(FactDef *def, Relation fact, int number);
static void keep_from_analyze(Oid relid);
static void record_dependencies(Oid queue, Oid fact);
static void adopt_queue_table(Oid relid, Oid fact);
static bool drop_tables(FactTableRow *row, bool wait);
static bool truncate_if_removable(Oid relid);

/*
 * refuse_queue_over_foreign
 *		Raises an error if a fact table with partitions on other servers has both
 *		asynchronous index tables and a transactional one that is built online.
 *
 * Changes of rows over there come to the asynchronous ones from feeds, perhaps after the
 * build has ended, and to transactional ones by triggers.  What is in a feed when the
 * build ends would be applied to the asynchronous ones alone.
 */
void
refuse_queue_over_foreign(Oid fact)
{
	bool		async = false;
	bool		building = false;

	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact, InvalidOid))
	{
		if (is_async(row))
			async = true;
		else
			building |= is_queued(row);
	}
	if (async && building && elsewhere->leaves(fact) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("changes of table \"%s\" cannot be queued because it has foreign partitions", get_rel_name(fact)),
				 errdetail("A transactional index table cannot be built online beside asynchronous ones, which are fed by other servers."),
				 errhint("Use populate => true.")));
}

/*
 * refuse_feed_over_foreign
 *		Raises an error if a table that has a feed, or is to have one, has partitions on other
 *		servers.
 */
void
refuse_feed_over_foreign(Oid fact)
{
	if (elsewhere->leaves(fact) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot have a feed because it has foreign partitions", get_rel_name(fact)),
				 errhint("Create feeds on the servers that have the rows.")));
}

/*
 * queues_create
 *		Creates the queue of a fact table, which the caller has locked, or its feed, unless it
 *		has one.
 */
void
queues_create(FactDef *def, bool feed)
{
	Relation	fact;
	FactTableRow row;

	refuse_queue_over_foreign(def->relid);
	if (!catalog_read_fact(def->relid, &row))
		elog(ERROR, "table \"%s\" is not registered", def->name);
	/* A worker is started now, and not only when the first change is made. */
	if (!feed)
		queue_wake_at_commit();
	if (OidIsValid(row.queue) && row.feed != feed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 feed ? errmsg("table \"%s\" cannot have a feed because its changes are queued for index tables", def->name) :
				 errmsg("changes of table \"%s\" cannot be queued because it has a feed", def->name),
				 errdetail("What is queued is applied here, or on the server that takes from the feed. Index tables that are asynchronous, or that are built or rebuilt online, need a queue."),
				 feed ? errhint("First run %s", told_unqueue(def->relid)) :
				 errhint("Use maintenance => 'transactional' and populate => true.")));
	if (OidIsValid(row.queue))
		return;
	row.feed = feed;
	fact = relation_open(def->relid, NoLock);
	row.queue = make_queue_table(def, fact, 1);
	if (def->place->changes->ntables > 1)
		row.spare = make_queue_table(def, fact, 2);
	relation_close(fact, NoLock);
	catalog_write_fact(&row);
}

/*
 * queues_restore
 *		Creates those queue tables again that do not exist any more, or both if one cannot be read.
 *		The caller has locked the fact table against writers.
 *
 * No change is lost meanwhile.  A transaction that has collected changes holds a lock on
 * the fact table until it has written them, so the caller has waited for it.  A
 * transaction that comes later loads the definition, with the new tables.  The changes
 * that were lost before are found when the index tables are verified, and until then they
 * are invalid.
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
	if (def->queue.lost)
	{
		definition_hold(def, CurrentMemoryContext);
		make_lost_tables(def, rel);
	}
	else if (queue_is_damaged(def))
	{
		definition_hold(def, CurrentMemoryContext);
		invalidate_definitions(catalog_queued_definitions(fact),
							   "The queue of its fact table could not be read, and was made anew without the changes that had not been applied.");
		queues_make_anew(def);
	}
	relation_close(rel, NoLock);
}

/*
 * queue_is_damaged
 *		Returns whether a queue table of a fact table has pages that cannot be read.  A feed is left
 *		alone: only the other server knows what is in it.
 */
bool
queue_is_damaged(FactDef *def)
{
	return !def->queue.feed && !def->place->in_parts &&
		((OidIsValid(def->queue.current) && !can_read_blocks(def->queue.current)) ||
		 (OidIsValid(def->queue.spare) && !can_read_blocks(def->queue.spare)));
}

/* make_lost_tables: creates the lost queue tables, and marks the index tables as invalid */
static void
make_lost_tables(FactDef *def, Relation fact)
{
	FactTableRow row = {def->relid, def->queue.current, def->queue.spare, def->queue.feed};

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
 *		Creates one of the two queue tables of a fact table, and returns its OID.
 *
 * The table is logged, because it has to survive whatever the fact table survives.  It
 * is dropped with the fact table or the extension, but it is no member of the extension,
 * so that dumps contain it.
 */
static Oid
make_queue_table(FactDef *def, Relation fact, int number)
{
	Oid			schema = queue_schema();
	const char *table;
	char	   *name = NULL;
	StringInfoData columns;
	StringInfoData key;
	Oid			relid;

	/* A table restored from a dump may have the name already. */
	for (int try = 0; name == NULL || OidIsValid(get_relname_relid(name, schema)); try++)
		name = try == 0 ? psprintf(QUEUE_TABLE_PREFIX "%u_%d", def->relid, number) :
			psprintf(QUEUE_TABLE_PREFIX "%u_%d_%d", def->relid, number, try);

	initStringInfo(&columns);
	initStringInfo(&key);
	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), def->layout.pk_attno[i] - 1);

		/*
		 * The columns have names of their own: those of the fact table may be
		 * renamed, and one may be called changed_at.
		 */
		appendStringInfo(&columns, ", key%d %s", i + 1,
						 format_type_extended(att->atttypid, att->atttypmod,
											  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
		appendStringInfo(&key, ", key%d", i + 1);
	}
	if (def->place->changes->next_number != NULL)
		appendStringInfo(&columns, ", number pg_catalog.int8, PRIMARY KEY (number%s)", key.data);
	table = quote_qualified_identifier(get_namespace_name(schema), name);
	run_sql(get_extension_owner(),
			"CREATE TABLE %s (changed_at pg_catalog.timestamptz%s)"
			" USING heap WITH (%svacuum_truncate = false) TABLESPACE %s",
			table, columns.data, def->place->changes->ntables > 1 ? "autovacuum_enabled = false, " : "",
			quote_identifier(tablespace_of(fact)));
	for (int i = 0; i < def->layout.npk; i++)
		if (TupleDescAttr(RelationGetDescr(fact), def->layout.pk_attno[i] - 1)->attlen == -1)
			run_sql(get_extension_owner(), "ALTER TABLE %s ALTER key%d SET STORAGE MAIN",
					table, i + 1);
	relid = get_relname_relid(name, schema);
	keep_from_analyze(relid);
	run_sql(get_extension_owner(), "COMMENT ON TABLE %s IS %s", table,
			quote_literal_cstr(psprintf("Changes of %s that asynchronous index tables lack; written and emptied by indextable",
										quoted_relation(def->relid))));
	revoke_all(relid, get_extension_owner());

	/*
	 * Where rows have numbers, other nodes write them, and Citus allows no
	 * triggers.
	 */
	if (def->place->changes->next_number == NULL)
		guard_own_table(relid);
	def->place->changes->made(def, relid);
	return relid;
}

/*
 * keep_from_analyze
 *		Has ANALYZE leave out the keys in a queue table.
 *
 * It would call code of users, such as the subtype_diff of a range type, as the owner of the table, who is a
 * superuser.
 */
static void
keep_from_analyze(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = QUEUE_KEY - 1; i < RelationGetNumberOfAttributes(rel); i++)
		if (!TupleDescAttr(RelationGetDescr(rel), i)->attisdropped)
			appendStringInfo(&columns, "%s ALTER %s SET STATISTICS 0", columns.len > 0 ? "," : "",
							 quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(rel), i)->attname)));
	relation_close(rel, AccessShareLock);
	run_sql(get_extension_owner(), "ALTER TABLE %s%s", quoted_relation(relid), columns.data);
}

/* queue_belongs_to: has a new queue table dropped with its fact table and with the extension */
void
queue_belongs_to(FactDef *def, Oid queue)
{
	record_dependencies(queue, def->relid);
}

static void
record_dependencies(Oid queue, Oid fact)
{
	record_table_dependency(queue, fact);
	record_extension_dependency(queue);
}

/*
 * queues_adopt
 *		Adopts the queue of a fact table that was restored from a dump, with what was in it:
 *		records the dependencies, which are not in a dump.
 */
void
queues_adopt(Oid fact)
{
	FactTableRow row;

	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue))
		return;
	queue_wake_at_commit();
	if (place_has_parts(fact) || place_has_parts(row.queue))
		return;
	(void) find_queue_tables(&row, NULL);
	adopt_queue_table(row.queue, fact);
	adopt_queue_table(row.spare, fact);
}

/*
 * adopt_queue_table
 *		Adopts one that exists; version 1.1 has made it without what keeps ANALYZE away.
 */
static void
adopt_queue_table(Oid relid, Oid fact)
{
	if (!OidIsValid(relid) || has_table_dependency(relid, fact))
		return;
	record_dependencies(relid, fact);
	keep_from_analyze(relid);
}

/*
 * queues_drop
 *		Drops the queue of a fact table that has no asynchronous index tables any more, or, if its rows are in
 *		parts, no index tables: there it says which tables belong together.
 *
 * Without wait the queue stays, unused, if another session has it locked, and the result
 * is false; triggers_remove() says why.  Otherwise the result is true, also if there is
 * nothing to drop.
 */
bool
queues_drop(Oid fact, bool wait)
{
	FactTableRow row;

	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue) || row.feed ||
		(place_has_parts(fact) ? catalog_fact_in_use(fact) : catalog_queued_definitions(fact) != NIL) ||
		queue_stays_for_now(row.queue))
		return true;
	return drop_tables(&row, wait);
}

/*
 * drop_tables
 *		Drops both tables of a queue; returns false, and drops none, if one is locked, unless
 *		it is to wait.
 */
static bool
drop_tables(FactTableRow *row, bool wait)
{
	Oid			tables[2];

	(void) find_queue_tables(row, NULL);
	tables[0] = row->queue;
	tables[1] = row->spare;
	for (int i = 0; i < 2; i++)
	{
		if (!OidIsValid(tables[i]))
			continue;
		if (wait)
			LockRelationOid(tables[i], AccessExclusiveLock);
		else if (!ConditionalLockRelationOid(tables[i], AccessExclusiveLock))
			return false;
	}
	row->queue = row->spare = InvalidOid;
	catalog_write_fact(row);
	CacheInvalidateRelcacheByRelid(row->fact_table);
	for (int i = 0; i < 2; i++)
		queue_table_drop(tables[i]);
	return true;
}

/*
 * queues_make_anew
 *		Creates the queue of a fact table anew, for keys of other types; what is queued is
 *		lost.  The fact table is locked against all other sessions, so nobody uses the queue.
 */
void
queues_make_anew(FactDef *def)
{
	FactTableRow row;

	if (!catalog_read_fact(def->relid, &row) || !OidIsValid(row.queue))
		return;
	(void) drop_tables(&row, true);
	CommandCounterIncrement();
	queues_create(def, false);
	CacheInvalidateRelcacheByRelid(def->relid);
	CommandCounterIncrement();
}

/*
 * queues_used_last
 *		Returns the queue tables of a fact table, in the order in which they are locked, if
 *		no other index table than this one uses them.
 */
List *
queues_used_last(Oid fact, Oid index_table)
{
	FactTableRow row;
	List	   *tables = NIL;

	foreach_ptr(DefinitionRow, stored, catalog_queued_definitions(fact))
	{
		if (stored->index_table != index_table)
			return NIL;
	}
	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue))
		return NIL;
	(void) find_queue_tables(&row, NULL);
	if (OidIsValid(row.spare))
		tables = lappend_oid(tables, Min(row.queue, row.spare));
	if (OidIsValid(row.queue))
		tables = lappend_oid(tables, Max(row.queue, row.spare));
	return tables;
}

/*
 * queues_rotate
 *		Empties the spare table if that is possible, and then has writers change over to it
 *		if theirs has grown large.  The caller holds the drain lock of the queue.
 */
void
queues_rotate(FactDef *def)
{
	FactTableRow row;
	Relation	rel = relation_open(def->queue.current, AccessShareLock);
	Relation	spare = relation_open(def->queue.spare, AccessShareLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber spare_blocks = RelationGetNumberOfBlocks(spare);

	relation_close(spare, AccessShareLock);
	relation_close(rel, AccessShareLock);
	if (spare_blocks > 0 && !truncate_if_removable(def->queue.spare))
		return;
	if (blocks < ROTATE_BLOCKS)
		return;
	row.fact_table = def->relid;
	row.queue = def->queue.spare;
	row.spare = def->queue.current;
	row.feed = def->queue.feed;
	catalog_write_fact(&row);
	CacheInvalidateRelcacheByRelid(def->relid);
}

/*
 * truncate_if_removable
 *		Truncates a queue table if no snapshot sees a row of it, and no other session uses
 *		it.  Returns whether it did.
 *
 * No committed key is lost.  Writers hold a lock on the table from their first row until
 * their transaction ends.  If the exclusive lock is available at once, then there are no
 * rows of transactions still in progress, and none can be added while it is held, which is
 * until this transaction ends.  Under the lock it is checked again that all rows are
 * deleted, and that no snapshot sees them.
 */
static bool
truncate_if_removable(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	bool		removable;

	/*
	 * The first check is made without the lock, because taking this lock is
	 * written to the WAL, for standbys.
	 */
	removable = queue_is_removable(rel) &&
		ConditionalLockRelationOid(relid, AccessExclusiveLock);
	if (removable)
	{
		removable = queue_is_removable(rel);
		if (removable)
		{
			/* This is what TRUNCATE does, but subscribers are not told. */
			RelationSetNewRelfilenumber(rel, rel->rd_rel->relpersistence);
			CommandCounterIncrement();
		}
		else
			UnlockRelationOid(relid, AccessExclusiveLock);
	}
	relation_close(rel, NoLock);
	return removable;
}
