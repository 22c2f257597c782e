/*-------------------------------------------------------------------------
 *
 * usage.c
 *	  Keeps the counters of how much index tables are read: the server's own statistics,
 *	  without what the upkeep reads.
 *
 * The view indextable.index_table_stats adds the counters up.  The upkeep's own searches
 * are left out by util/uncounted_reads.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_inherits.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "pgstat.h"

#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "catalog.h"

PG_FUNCTION_INFO_V1(indextable_reset_stats);

/* The interval, in ms, at which workers look which index tables were read, before PostgreSQL 16. */
#define NOTE_INTERVAL		60000

static void copy_counters(Oid from, Oid to);
static Oid	primary_index_of(Oid relid);
static void note_reads(void *unused);

/*
 * usage_keys, usage_follows
 *		Have a new primary key of an index table, in each partition, take over the counters
 *		of the old one.
 *
 * usage_keys() lists the indexes of the old primary key before it is dropped, and
 * usage_follows() copies their counters when the new one has been made.
 */
List *
usage_keys(Oid index_table)
{
	List	   *keys = NIL;

	foreach_oid(relid, list_with_partitions(index_table))
		keys = lappend_oid(keys, primary_index_of(relid));
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

/*
 * copy_counters
 *		Copies the counters of one relation to another.
 *
 * The relation from may have been dropped by this transaction, as its counters stay until
 * the transaction ends.
 */
static void
copy_counters(Oid from, Oid to)
{
	/* Nothing else of the source is read. */
	FormData_pg_class form = {.relisshared = false};
	RelationData source = {.rd_id = from,.rd_rel = &form};
	Relation	rel = relation_open(to, AccessShareLock);

	pgstat_copy_relation_stats(rel, &source);
	relation_close(rel, AccessShareLock);
}

/*
 * primary_index_of
 *		Returns the index by which entries of an index table, or of a partition of it, are
 *		found, or InvalidOid if it has none.
 */
static Oid
primary_index_of(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	Relation	index = open_primary_key(rel);
	Oid			result;

	/* Which of both it was, and will be, differs when sparse is altered. */
	if (index == NULL)
		index = open_identity_index(rel, false);
	result = index == NULL ? InvalidOid : RelationGetRelid(index);
	if (index != NULL)
		index_close(index, NoLock);
	relation_close(rel, NoLock);
	return result;
}

/* usage_from_now: notes that the counters of an index table begin now */
void
usage_from_now(Oid index_table)
{
	run_sql(get_extension_owner(), "INSERT INTO %s VALUES (%u, clock_timestamp(), 0, NULL)"
			" ON CONFLICT (index_table) DO UPDATE SET since = EXCLUDED.since, reads = 0, last_read = NULL",
			catalog_table("counted"), index_table);
}

/*
 * indextable_reset_stats
 *		reset_stats(index_table regclass): sets the counters of an index table to 0.
 *
 * pg_stat_reset_single_table_counters() is not used: only superusers may call it, and it
 * writes the time of the reset into pg_stat_database, which is not the owner's, and which
 * would say of all other tables, too, that they were reset.  Instead the counters of a
 * relation that does not exist, with the OID 0, are copied to each relation.  These are 0,
 * as nothing ever counts there, but they have to be allocated before they can be copied.
 * What a session has counted lately, and has not reported to the server yet, is added
 * after the reset.
 */
Datum
indextable_reset_stats(PG_FUNCTION_ARGS)
{
	Oid			index_table = PG_GETARG_OID(0);
	FormData_pg_class form = {.relisshared = false};
	RelationData none = {.rd_id = InvalidOid,.rd_rel = &form,.pgstat_enabled = true};

	PreventCommandDuringRecovery("reset_stats()");
	if (!OidIsValid(catalog_fact_of(index_table)))
		report_not_index_table(index_table);
	require_owner(index_table);
	if (!lock_if_exists(index_table, AccessShareLock))
		report_not_index_table(index_table);
	require_owner(index_table);
	usage_from_now(index_table);
	pgstat_assoc_relation(&none);
	pgstat_unlink_relation(&none);
	pgstat_clear_snapshot();
	foreach_oid(relid, find_all_inheritors(index_table, AccessShareLock, NULL))
	{
		Relation	rel = relation_open(relid, NoLock);

		foreach_oid(index_oid, RelationGetIndexList(rel))
			copy_counters(InvalidOid, index_oid);
		relation_close(rel, NoLock);
		copy_counters(InvalidOid, relid);
	}
	PG_RETURN_VOID();
}

/*
 * usage_note_reads
 *		Notes which index tables have been read since the last time, and when.
 *
 * Before PostgreSQL 16 the server does not know when a table was read last, so workers
 * call this outside of any transaction.  Since 16 it does nothing.
 */
void
usage_note_reads(void)
{
	static TimestampTz looked_at = 0;
	ErrorData  *error;

	if (HAS_LAST_SCAN || !TimestampDifferenceExceeds(looked_at, GetCurrentTimestamp(), NOTE_INTERVAL))
		return;
	looked_at = GetCurrentTimestamp();
	error = run_in_transaction(note_reads, NULL, is_no_conflict);
	if (error != NULL)
		FreeErrorData(error);
}

/*
 * note_reads
 *		Stores the numbers of reads; a callback of run_in_transaction(); does nothing without
 *		the extension.
 */
static void
note_reads(void *unused)
{
	if (OidIsValid(catalog_relid("counted", true)))
		run_sql(get_extension_owner(), "UPDATE %s c SET reads = u.reads,"
				" last_read = CASE WHEN u.reads > 0 THEN clock_timestamp() ELSE c.last_read END"
				" FROM (SELECT d.index_table, sum(pg_stat_get_numscans(x.oid))::bigint AS reads FROM %s d"
				" CROSS JOIN LATERAL (SELECT d.index_table::oid UNION SELECT relid FROM pg_partition_tree(d.index_table)) t (oid)"
				" CROSS JOIN LATERAL (SELECT t.oid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = t.oid) x (oid)"
				" GROUP BY 1) u WHERE u.index_table = c.index_table AND u.reads <> c.reads",
				catalog_table("counted"), catalog_table("definition"));
}
