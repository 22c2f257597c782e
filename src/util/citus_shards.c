/*-------------------------------------------------------------------------
 *
 * citus_shards.c
 *	  Reads in the catalog of Citus how tables are distributed and which shards this node has,
 *	  and locks shards against being moved.
 *
 * A shard is a table with the name of the distributed table and the number of the shard.  The
 * shards of tables that are distributed together (co-located) have the same bounds, and those
 * with the same bounds are always on the same node.  The callers of these functions may read
 * the catalog of Citus, as everybody may.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "citus.h"
#include "citus_shards.h"
#include "sql.h"

/* citus_is_installed: returns whether the database has Citus, after a single search in a cache of the server */
bool
citus_is_installed(void)
{
	return OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE));
}

/* citus_local_group: returns the number by which Citus knows this node; 0 is the coordinator */
int
citus_local_group(void)
{
	bool		isnull = true;
	int			group = 0;

	SPI_connect();
	if (execute_with_latest_snapshot("SELECT groupid::pg_catalog.int4 FROM pg_catalog.pg_dist_local_group", 0, NULL, NULL) > 0)
		group = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return group;
}

/*
 * citus_is_governed_elsewhere
 *		Returns whether a table is distributed and this node is not the coordinator, which runs
 *		all commands that change the table.
 */
bool
citus_is_governed_elsewhere(Oid relid)
{
	return citus_kind(relid) == CITUS_DISTRIBUTED && citus_local_group() != 0;
}

/* citus_read_table: fills *table with how a distributed table is distributed */
void
citus_read_table(Oid relid, CitusTable *table)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);
	char	   *column;

	memset(table, 0, sizeof(CitusTable));
	SPI_connect();
	if (execute_with_latest_snapshot("SELECT p.partmethod = 'h',"
									 " EXISTS (SELECT FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement pl USING (shardid)"
									 "  WHERE s.logicalrelid = p.logicalrelid GROUP BY shardid HAVING count(*) > 1),"
									 " CASE WHEN p.partkey IS NOT NULL THEN"
									 "  pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) END,"
									 " (SELECT count(*)::int4 FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid)"
									 " FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1",
									 1, &type, &value) > 0)
	{
		HeapTuple	tuple = SPI_tuptable->vals[0];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;

		table->by_hash = DatumGetBool(SPI_getbinval(tuple, desc, 1, &isnull));
		table->replicated = DatumGetBool(SPI_getbinval(tuple, desc, 2, &isnull));
		column = SPI_getvalue(tuple, desc, 3);
		table->column = column == NULL ? NULL : MemoryContextStrdup(cxt, column);
		table->nshards = DatumGetInt32(SPI_getbinval(tuple, desc, 4, &isnull));
	}
	SPI_finish();
}

/* citus_colocated_shard: returns the shard of another table with the same bounds as a shard of this table, or InvalidOid */
Oid
citus_colocated_shard(Oid shard, Oid table, Oid other)
{
	Oid			types[] = {OIDOID, OIDOID, INT8OID};
	Datum		values[3];
	int64		number = 0;
	bool		isnull;

	values[0] = ObjectIdGetDatum(table);
	values[1] = ObjectIdGetDatum(other);
	values[2] = Int64GetDatum(strtoll(strrchr(get_rel_name(shard), '_') + 1, NULL, 10));
	SPI_connect();
	if (execute_with_latest_snapshot("SELECT b.shardid FROM pg_catalog.pg_dist_shard a JOIN pg_catalog.pg_dist_shard b"
									 " ON b.shardminvalue = a.shardminvalue AND b.logicalrelid = $2"
									 " WHERE a.logicalrelid = $1 AND a.shardid = $3", 3, types, values) > 0)
		number = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return number == 0 ? InvalidOid : citus_shard(other, number);
}

/*
 * citus_local_shards
 *		Lists the shards of a fact table that this node has, each with that of its queue
 *		(ShardPair *), as Citus' catalog says at this moment.
 */
List *
citus_local_shards(Oid fact, Oid queue)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			types[] = {OIDOID, OIDOID};
	Datum		values[2];
	List	   *result = NIL;
	uint64		i;

	values[0] = ObjectIdGetDatum(fact);
	values[1] = ObjectIdGetDatum(queue);
	SPI_connect();
	execute_with_latest_snapshot("SELECT f.shardid, q.shardid, f.shardminvalue::pg_catalog.int4, f.shardmaxvalue::pg_catalog.int4"
								 " FROM pg_catalog.pg_dist_shard f JOIN pg_catalog.pg_dist_shard q"
								 "  ON q.logicalrelid = $2 AND q.shardminvalue = f.shardminvalue"
								 " JOIN pg_catalog.pg_dist_placement p ON p.shardid = f.shardid"
								 " JOIN pg_catalog.pg_dist_placement r ON r.shardid = q.shardid AND r.groupid = p.groupid"
								 " JOIN pg_catalog.pg_dist_local_group g ON g.groupid = p.groupid"
								 " WHERE f.logicalrelid = $1 ORDER BY f.shardid", 2, types, values);
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		MemoryContext old = MemoryContextSwitchTo(cxt);
		ShardPair  *pair = palloc(sizeof(ShardPair));
		bool		isnull;

		pair->fact_shard = DatumGetInt64(SPI_getbinval(tuple, desc, 1, &isnull));
		pair->queue_shard = DatumGetInt64(SPI_getbinval(tuple, desc, 2, &isnull));
		pair->min = DatumGetInt32(SPI_getbinval(tuple, desc, 3, &isnull));
		pair->max = DatumGetInt32(SPI_getbinval(tuple, desc, 4, &isnull));
		pair->fact = citus_shard(fact, pair->fact_shard);
		pair->queue = citus_shard(queue, pair->queue_shard);
		if (OidIsValid(pair->fact) && OidIsValid(pair->queue))
			result = lappend(result, pair);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return result;
}

/* citus_shard_numbers: returns the numbers of all shards of a distributed table, as the text of an array */
char *
citus_shard_numbers(Oid relid)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);
	char	   *numbers = NULL;

	SPI_connect();
	if (execute_with_latest_snapshot("SELECT pg_catalog.array_agg(shardid ORDER BY shardid)::pg_catalog.text"
									 " FROM pg_catalog.pg_dist_shard WHERE logicalrelid = $1", 1, &type, &value) > 0)
		numbers = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	numbers = MemoryContextStrdup(cxt, numbers == NULL ? "{}" : numbers);
	SPI_finish();
	return numbers;
}

/*
 * citus_lock_shards
 *		Locks shards, and those of their queues, against being moved or split until the
 *		transaction ends, as Citus does it for those that it writes.
 */
void
citus_lock_shards(List *pairs)
{
	Oid			type = INT8ARRAYOID;
	Datum	   *numbers = palloc(sizeof(Datum) * 2 * Max(list_length(pairs), 1));
	Datum		value;
	ListCell   *cell;
	int			n = 0;

	if (pairs == NIL)
		return;
	foreach(cell, pairs)
	{
		numbers[n++] = Int64GetDatum(((ShardPair *) lfirst(cell))->fact_shard);
		numbers[n++] = Int64GetDatum(((ShardPair *) lfirst(cell))->queue_shard);
	}
	value = PointerGetDatum(construct_array(numbers, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	SPI_connect();
	execute_with_latest_snapshot("SELECT pg_catalog.lock_shard_metadata(5, $1)", 1, &type, &value);
	SPI_finish();
}

/*
 * begin_citus_settings
 *		Sets what commands on distributed tables need, until end_citus_settings(): triggers
 *		are allowed, and a node runs all commands of the transaction in one session, so that
 *		each sees what the one before it has done.
 */
int
begin_citus_settings(void)
{
	static const char *const settings[][2] = {
		{"citus.enable_unsafe_triggers", "on"},
		{"citus.multi_shard_modify_mode", "sequential"},
		{"citus.enable_ddl_propagation", "on"},
		{"client_min_messages", "warning"},
	};
	int			nestlevel = NewGUCNestLevel();
	Size		i;

	for (i = 0; i < lengthof(settings); i++)
		set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

void
end_citus_settings(int nestlevel)
{
	AtEOXact_GUC(false, nestlevel);
}
