/*-------------------------------------------------------------------------
 *
 * shard_check.c
 *	  Compares a shard of a distributed fact table, on the node that has it, with the
 *	  entries of its rows.
 *
 * Writers and drains at work do not look like discrepancies.  While the shard is
 * compared, this session holds the lock of its drain, so that nobody else writes the
 * entries of its rows, and no transaction of an earlier drain is left in doubt.  Under
 * the lock a snapshot is taken.  A writer changes a row and queues its key in one
 * transaction on this node, so the snapshot sees both or neither.  Entries are read from
 * other nodes at other moments, but they stay as they are: whatever a key that the
 * snapshot does not see in the queue has asked for is written and committed, and what a
 * key that it sees asks for is not written yet.  So if a row's key is not queued, row and
 * entries must agree; rows whose keys are queued are not reported.
 *
 * To which shard the row of an entry belongs tells the hash of the column by which the
 * fact table is distributed, which is one of its primary key and therefore part of the
 * entry.  Each entry belongs to one shard in this way, whether its row exists or not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../catalog/owner.h"
#include "../definition/cache.h"
#include "../indextable.h"
#include "../util/citus_shards.h"
#include "../util/fixed_settings.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "compare.h"
#include "discrepancy.h"
#include "shard_check.h"
#include "sums.h"

/* Queues the rows of discrepancies, and passes these on. */
typedef struct Requeue
{
	Verify	   *v;
	int64		number;			/* 0: does not queue anything */
	discrepancy_handler handler;
	void	   *arg;
} Requeue;

static ShardPair *lock_shard(FactDef *def, int64 number);
static ShardPair *find_shard(FactDef *def, int64 number);
static void read_bounds(IndexDef *def, int64 number, VerifiedShard *shard);
static void pass_on(Discrepancy *d, void *arg);

/*
 * verify_shard
 *		Calls the handler for each entry of the shard's rows that is not as it should be,
 *		and for each of its rows that cannot have its entries; unless number is 0, it also
 *		queues the keys of rows whose entries are wrong with this number.
 */
void
verify_shard(Oid index_table, int64 shard, int64 number, discrepancy_handler handler, void *arg)
{
	Requeue		requeue = {.number = number,.handler = handler,.arg = arg};
	Verify		v = {.handler = pass_on,.arg = &requeue,.sample = 100};
	VerifiedShard verified = {0};
	Relation	shell;
	ShardPair  *pair;
	int			nestlevel = NewGUCNestLevel();

	fix_gucs();
	v.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable verify", ALLOCSET_DEFAULT_SIZES);
	v.def = definition_open(index_table, &v.factdef, &shell, &v.index_table);
	if (v.def == NULL || !v.factdef->distributed)
		report_not_index_table(index_table);
	requeue.v = &v;
	v.shard = &verified;
	PG_TRY();
	{
		pair = lock_shard(v.factdef, shard);
		v.fact = relation_open(pair->fact, AccessShareLock);
		verified.queue = pair->queue;
		read_bounds(v.def, shard, &verified);
		v.snapshot = RegisterSnapshot(GetLatestSnapshot());
		PushActiveSnapshot(v.snapshot);
		compare_entries(&v);
		report_rejected(&v);
		PopActiveSnapshot();
		UnregisterSnapshot(v.snapshot);
	}
	PG_FINALLY();
	{
		definition_unpin(v.factdef);
	}
	PG_END_TRY();
	relation_close(v.fact, NoLock);
	relation_close(v.index_table, NoLock);
	relation_close(shell, NoLock);
	MemoryContextDelete(v.cxt);
	AtEOXact_GUC(false, nestlevel);
}

/*
 * lock_shard
 *		Locks a shard against being moved, and then against its drain; returns it.
 *
 * That the shard is here is asked again under the lock: before, it may have been moved.
 */
static ShardPair *
lock_shard(FactDef *def, int64 number)
{
	ShardPair  *pair = find_shard(def, number);

	if (pair != NULL)
	{
		citus_lock_shards(list_make1(pair));
		pair = find_shard(def, number);
	}
	if (pair == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " of table \"%s\" is not on this node", number, def->name),
				 errdetail("It may have been moved since the command began."),
				 errhint("Run the command again.")));
	return pair;
}

/* find_shard: returns a shard that this node has, or NULL */
static ShardPair *
find_shard(FactDef *def, int64 number)
{
	ListCell   *cell;

	foreach(cell, citus_local_shards(def->relid, def->queue))
		if (((ShardPair *) lfirst(cell))->fact_shard == number)
			return lfirst(cell);
	return NULL;
}

/* read_bounds: sets which hashes a shard has, of which column of the index table */
static void
read_bounds(IndexDef *def, int64 number, VerifiedShard *shard)
{
	FactDef    *fact = def->fact;
	CitusTable	table;
	Oid			type = INT8OID;
	Datum		value = Int64GetDatum(number);
	bool		isnull;
	int			i;

	citus_read_table(fact->relid, &table);
	for (i = 0; i < fact->npk; i++)
		if (strcmp(get_attname(fact->relid, fact->pk_attno[i], false), table.column) == 0)
			shard->column = def->pk_attno[i];
	SPI_connect();
	if (shard->column == 0 ||
		execute_with_latest_snapshot("SELECT shardminvalue::pg_catalog.int4, shardmaxvalue::pg_catalog.int4"
									 " FROM pg_catalog.pg_dist_shard WHERE shardid = $1", 1, &type, &value) != 1)
		elog(ERROR, "could not find out which hashes shard " INT64_FORMAT " has", number);
	shard->hash_min = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	shard->hash_max = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	SPI_finish();
}

/*
 * pass_on
 *		Passes a discrepancy on, after it has queued the key of its row, if that is asked
 *		for and writing its entries anew may mend it.
 *
 * The key is written to this node's part of the queue, in this transaction, which still
 * holds the drain's lock.
 */
static void
pass_on(Discrepancy *d, void *arg)
{
	Requeue    *requeue = arg;
	FactDef    *fact = d->def->fact;
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;

	if (requeue->number != 0 && entry != NULL && strcmp(d->kind, "rejected") != 0)
	{
		Oid			types[INDEX_MAX_KEYS + 1];
		Datum		values[INDEX_MAX_KEYS + 1];
		StringInfoData sql;
		Caller		caller;
		int			i;

		initStringInfo(&sql);
		appendStringInfo(&sql, "INSERT INTO %s VALUES (pg_catalog.statement_timestamp()", quoted_relation(requeue->v->shard->queue));
		for (i = 0; i < fact->npk; i++)
		{
			bool		isnull;

			types[i] = TupleDescAttr(d->def->desc, d->def->pk_attno[i] - 1)->atttypid;
			values[i] = slot_getattr(entry, d->def->pk_attno[i], &isnull);
			appendStringInfo(&sql, ", $%d", i + 1);
		}
		types[i] = INT8OID;
		values[i] = Int64GetDatum(requeue->number);
		appendStringInfo(&sql, ", $%d) ON CONFLICT DO NOTHING", i + 1);
		become_owner(&caller, get_extension_owner());
		SPI_connect();
		if (SPI_execute_with_args(sql.data, i + 1, types, values, NULL, false, 0) != SPI_OK_INSERT)
			elog(ERROR, "could not write to the queue of table \"%s\"", fact->name);
		SPI_finish();
		become_caller(&caller);
	}
	requeue->handler(d, requeue->arg);
}
