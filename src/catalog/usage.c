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
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "pgstat.h"

#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "definition_rows.h"
#include "owner.h"
#include "table_access.h"
#include "usage.h"

PG_FUNCTION_INFO_V1(indextable_reset_stats);

/* Before PostgreSQL 16, workers look so often, in ms, what was read. */
#define NOTE_INTERVAL		60000

static void copy_counters(Oid from, Oid to);
static Oid	key_of(Oid relid);

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

	foreach(cell, list_with_partitions(index_table))
		keys = lappend_oid(keys, key_of(lfirst_oid(cell)));
	return keys;
}

void
usage_follows(Oid index_table, List *old_keys)
{
	ListCell   *old;
	ListCell   *new;

	forboth(old, old_keys, new, usage_keys(index_table))
	{
		if (OidIsValid(lfirst_oid(old)) && OidIsValid(lfirst_oid(new)))
			copy_counters(lfirst_oid(old), lfirst_oid(new));
	}
}

/* copy_counters: from may be gone, but what is counted of it stays until the transaction ends */
static void
copy_counters(Oid from, Oid to)
{
	/* All that is asked of it. */
	FormData_pg_class form = {.relisshared = false};
	RelationData source = {.rd_id = from,.rd_rel = &form};
	Relation	rel = relation_open(to, AccessShareLock);

	pgstat_copy_relation_stats(rel, &source);
	relation_close(rel, AccessShareLock);
}

/* key_of: the index of a table's primary key, InvalidOid if it has none */
static Oid
key_of(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	Relation	index = open_primary_key(rel, AccessShareLock);
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
	run_sql(get_extension_owner(), "INSERT INTO %s VALUES (%u, clock_timestamp(), 0, NULL)"
			" ON CONFLICT (index_table) DO UPDATE SET since = EXCLUDED.since, reads = 0, last_read = NULL",
			catalog_table("counted"), index_table);
}

/*
 * usage_reset
 *		Sets the counters of an index table to zero: not by pg_stat_reset_single_table_counters(), which only
 *		superusers may call, and which writes the time of it into pg_stat_database:
 *		that is not the owner's, and says of all other tables, too, that they were
 *		reset.  What is copied are the counters of no relation at all, which are 0:
 *		nothing ever counts there, but they must be there to be copied.  What a session
 *		has counted lately, and not told the server yet, comes afterwards.
 */
void
usage_reset(Oid index_table)
{
	FormData_pg_class form = {.relisshared = false};
	RelationData none = {.rd_id = InvalidOid,.rd_rel = &form,.pgstat_enabled = true};
	ListCell   *cell;

	PreventCommandDuringRecovery("reset_stats()");
	if (!OidIsValid(catalog_fact_of(index_table)))
		report_not_index_table(index_table);
	if (!owns_relation(index_table, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(index_table));
	if (!lock_if_exists(index_table, AccessShareLock))
		report_not_index_table(index_table);
	usage_from_now(index_table);
	pgstat_assoc_relation(&none);
	pgstat_unlink_relation(&none);
	pgstat_clear_snapshot();
	foreach(cell, find_all_inheritors(index_table, AccessShareLock, NULL))
	{
		Relation	rel = relation_open(lfirst_oid(cell), NoLock);
		ListCell   *index;

		foreach(index, RelationGetIndexList(rel))
			copy_counters(InvalidOid, lfirst_oid(index));
		relation_close(rel, NoLock);
		copy_counters(InvalidOid, lfirst_oid(cell));
	}
}

/* reset_stats(index_table regclass) */
Datum
indextable_reset_stats(PG_FUNCTION_ARGS)
{
	usage_reset(PG_GETARG_OID(0));
	PG_RETURN_VOID();
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
			run_sql(get_extension_owner(), "UPDATE %s c SET reads = u.reads,"
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
		FreeErrorData(recover_from_error(caller, true));
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
#endif
}
