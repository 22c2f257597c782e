/*-------------------------------------------------------------------------
 *
 * usage.c
 *	  How much index tables are read: the server's own statistics, without what the
 *	  upkeep reads.
 *
 * Called by create.c, layout.c, partitioning.c and replace.c where they make indexes
 * and partitions, by worker.c, and by users; the view indextable.index_table_stats adds the
 * counters up.  usage.h has what searches are bracketed with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "usage.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/pgstat_internal.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(indextable_reset_usage);

/* Before PostgreSQL 16, workers look so often, in ms, what was read. */
#define NOTE_INTERVAL		60000

static Oid	key_of(Oid relid);
static void reset_counters(Oid relid);

/*
 * begin_uncounted, end_uncounted
 *		Nothing that is opened in between is counted, until it is opened again, by
 *		parallel workers neither: indexes are made by reading the whole index table,
 *		and a partition that is attached is read, too.
 *		An error ends it, too.
 */
int
begin_uncounted(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("track_counts", "off", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

void
end_uncounted(int nestlevel)
{
	AtEOXact_GUC(true, nestlevel);
}

/*
 * usage_keys, usage_follows
 *		An index table's primary key is to be made anew; when it is, it has the
 *		counters of the one that went, in each partition.
 */
List *
usage_keys(Oid index_table)
{
	List	   *keys = NIL;
	ListCell   *cell;

	foreach(cell, with_partitions(index_table))
	{
		Oid			key = key_of(lfirst_oid(cell));

		if (OidIsValid(key))
			keys = lappend(keys, list_make2_oid(lfirst_oid(cell), key));
	}
	return keys;
}

void
usage_follows(List *keys)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		Oid			key = key_of(linitial_oid(lfirst(cell)));
		/* All that is asked of one that is gone. */
		FormData_pg_class form = {.relisshared = false};
		RelationData gone = {.rd_id = lsecond_oid(lfirst(cell)),.rd_rel = &form};
		Relation	index;

		if (!OidIsValid(key))
			continue;
		index = index_open(key, AccessShareLock);
		pgstat_copy_relation_stats(index, &gone);
		index_close(index, AccessShareLock);
	}
}

/* key_of: the index of a table's primary key, InvalidOid if it has none */
static Oid
key_of(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	Relation	index = primary_key_of(rel, AccessShareLock);
	Oid			result = index == NULL ? InvalidOid : RelationGetRelid(index);

	if (index != NULL)
		index_close(index, NoLock);
	relation_close(rel, NoLock);
	return result;
}

/* usage_from_now: when the counters of an index table began */
void
usage_from_now(Oid index_table)
{
	run_sql(catalog_owner(), "INSERT INTO %s VALUES (%u, clock_timestamp(), 0, NULL)"
			" ON CONFLICT (index_table) DO UPDATE SET since = EXCLUDED.since, reads = 0, last_read = NULL",
			catalog_table("counted"), index_table);
}

/*
 * indextable_reset_usage
 *		reset_stats(), reset_usage() in version 1.0: not by pg_stat_reset_single_table_counters(), which only
 *		superusers may call, and which writes the time of it into pg_stat_database:
 *		that is not the owner's, and says of all other tables, too, that they were
 *		reset.
 */
Datum
indextable_reset_usage(PG_FUNCTION_ARGS)
{
	Oid			index_table = PG_GETARG_OID(0);
	ListCell   *cell;

	PreventCommandDuringRecovery("reset_stats()");
	if (!OidIsValid(catalog_fact_of(index_table)))
		not_an_index_table(index_table);
	if (!owns_relation(index_table, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(index_table));
	if (!lock_if_exists(index_table, AccessShareLock))
		not_an_index_table(index_table);
	usage_from_now(index_table);
	foreach(cell, find_all_inheritors(index_table, AccessShareLock, NULL))
	{
		Relation	rel = relation_open(lfirst_oid(cell), NoLock);
		ListCell   *index;

		foreach(index, RelationGetIndexList(rel))
			reset_counters(lfirst_oid(index));
		relation_close(rel, NoLock);
		reset_counters(lfirst_oid(cell));
	}
	PG_RETURN_VOID();
}

/* reset_counters: the shared ones, and what this backend has not added to them yet */
static void
reset_counters(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);

	pgstat_reset_entry(PGSTAT_KIND_RELATION, MyDatabaseId, relid, GetCurrentTimestamp());
	if (pgstat_should_count_relation(rel))
	{
		ReadCounts	none = {.counted = true};

		put_back_reads(rel, &none);
		TABLE_COUNTER(rel, tuples_inserted) = 0;
		TABLE_COUNTER(rel, tuples_updated) = 0;
		TABLE_COUNTER(rel, tuples_deleted) = 0;
	}
	relation_close(rel, AccessShareLock);
}

/*
 * usage_note_reads
 *		Before PostgreSQL 16 the server does not know when a table was read last.
 *		Workers, outside of any transaction, then note when they see that it was.
 */
void
usage_note_reads(void)
{
#if PG_VERSION_NUM < 160000
	static TimestampTz looked_at = 0;
	MemoryContext caller = CurrentMemoryContext;

	if (!TimestampDifferenceExceeds(looked_at, GetCurrentTimestamp(), NOTE_INTERVAL))
		return;
	looked_at = GetCurrentTimestamp();
	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		/* Without the extension there is nothing to note. */
		if (OidIsValid(catalog_relid("counted", true)))
			run_sql(InvalidOid, "UPDATE %s c SET reads = u.reads,"
					" last_read = CASE WHEN u.reads > 0 THEN clock_timestamp() ELSE c.last_read END"
					" FROM (SELECT d.index_table, sum(pg_stat_get_numscans(x.oid))::bigint AS reads FROM %s d"
					" CROSS JOIN LATERAL (SELECT d.index_table::oid UNION SELECT relid FROM pg_partition_tree(d.index_table)) t (oid)"
					" CROSS JOIN LATERAL (SELECT t.oid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = t.oid) x (oid)"
					" GROUP BY 1) u WHERE u.index_table = c.index_table AND u.reads <> c.reads",
					catalog_table("counted"), catalog_table("definition"));
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		FreeErrorData(worker_recover(caller, true));
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
#endif
}
