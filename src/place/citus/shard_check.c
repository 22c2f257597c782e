/*-------------------------------------------------------------------------
 *
 * shard_check.c
 *	  Compares a shard of a distributed fact table, on the node that has it, with the
 *	  entries of its rows.
 *
 * Writers and drains at work do not look like discrepancies.  While the shard is
 * compared, this session holds the locks of a drain, in the same order (shard_drain.c), so
 * that nobody else writes the entries of its rows, and no transaction of an earlier drain
 * is left in doubt.  Under these locks a snapshot is taken.  A writer changes a row and queues its key in one
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
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../../catalog/definition_rows.h"
#include "../../catalog/named.h"
#include "../../catalog/owner.h"
#include "../../indextable.h"
#include "../../queue/drain.h"
#include "../../util/role.h"
#include "../../util/sql.h"
#include "../../verify/compare.h"
#include "../../verify/discrepancy.h"
#include "../../verify/sums.h"
#include "citus_place.h"

/* Queues the rows of discrepancies, and passes these on. */
typedef struct Requeue
{
	Verify	   *v;
	int64		number;			/* 0: does not queue anything */
	discrepancy_handler handler;
	void	   *arg;
} Requeue;

/* What verify_shard() is asked for. */
typedef struct Task
{
	Oid			index_table;
	int64		shard;
	Requeue		requeue;
} Task;

PG_FUNCTION_INFO_V1(indextable_verify_shard);

static void verify_shard(Oid index_table, int64 shard, int64 number, discrepancy_handler handler, void *arg);
static void verify_locked(FactDef *def, Relation fact, void *arg);
static ShardPair *find_shard(FactDef *def, int64 number);
static AttrNumber distribution_column(IndexDef *def);
static void pass_on(Discrepancy *d, void *arg);

/*
 * indextable_verify_shard
 *		verify_shard(index_table regclass, shard bigint, number bigint): returns the
 *		discrepancies, as verify() does, of one shard of a distributed fact table that this
 *		node has.  Unless number is 0, it queues the keys of their rows with this number.
 */
Datum
indextable_verify_shard(PG_FUNCTION_ARGS)
{
	VerifyResult result = {(ReturnSetInfo *) fcinfo->resultinfo, PG_GETARG_OID(0)};

	InitMaterializedSRF(fcinfo, 0);
	verify_require_owner(PG_GETARG_OID(0));
	verify_shard(PG_GETARG_OID(0), PG_GETARG_INT64(1), PG_GETARG_INT64(2), put_discrepancy, &result);
	return (Datum) 0;
}

/*
 * verify_shard
 *		Calls the handler for each entry of the shard's rows that is not as it should be,
 *		and for each of its rows that cannot have its entries; unless number is 0, it also
 *		queues the keys of rows whose entries are wrong with this number.
 */
static void
verify_shard(Oid index_table, int64 shard, int64 number, discrepancy_handler handler, void *arg)
{
	Task		task = {index_table, shard, {.number = number,.handler = handler,.arg = arg}};

	if (!OidIsValid(catalog_fact_of(index_table)) ||
		!with_queue_locked(catalog_fact_of(index_table), DRAIN_WAIT, verify_locked, &task))
		report_not_index_table(index_table);
}

/* verify_locked: does that while no other session drains the queue on this node; for with_queue_locked() */
static void
verify_locked(FactDef *def, Relation fact, void *arg)
{
	Task	   *task = arg;
	Verify		v = {.handler = pass_on,.arg = &task->requeue,.sample = 100,.factdef = def};
	VerifiedShard shard;
	Caller		caller;
	ShardPair  *pair = find_shard(def, task->shard);
	int			i;

	for (i = 0; i < def->ndefs; i++)
		if (def->defs[i]->relid == task->index_table)
			v.def = def->defs[i];
	if (v.def == NULL || !def->place->in_parts)
		report_not_index_table(task->index_table);

	/*
	 * Before it is locked, it may be moved.  Only the owner of the queue may
	 * lock it.
	 */
	if (pair != NULL)
	{
		become_owner(&caller, get_extension_owner());
		citus_lock_shards(list_make1(pair));
		become_caller(&caller);
		pair = find_shard(def, task->shard);
	}
	if (pair == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " of table \"%s\" is not on this node", task->shard, def->name),
				 errdetail("It may have been moved since the command began."),
				 errhint("Run the command again.")));
	become_owner(&caller, get_extension_owner());
	wait_for_prepared(def, true);
	become_caller(&caller);

	v.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable verify", ALLOCSET_DEFAULT_SIZES);
	v.index_table = relation_open(v.def->relid, AccessShareLock);
	v.fact = relation_open(pair->fact, AccessShareLock);
	v.shard = &shard;
	shard.queue = pair->queue;
	shard.column = distribution_column(v.def);
	shard.hash_min = pair->min;
	shard.hash_max = pair->max;
	task->requeue.v = &v;
	v.snapshot = RegisterSnapshot(GetLatestSnapshot());
	PushActiveSnapshot(v.snapshot);
	compare_entries(&v);
	report_rejected(&v);
	PopActiveSnapshot();
	UnregisterSnapshot(v.snapshot);
	relation_close(v.fact, NoLock);
	relation_close(v.index_table, NoLock);
}

/* find_shard: returns a shard that this node has, or NULL */
static ShardPair *
find_shard(FactDef *def, int64 number)
{
	ListCell   *cell;

	foreach(cell, citus_local_shards(def->relid, def->queue))
	{
		if (((ShardPair *) lfirst(cell))->fact_shard == number)
			return lfirst(cell);
	}
	return NULL;
}

/* distribution_column: returns the column of the index table that is the one by which the fact table is distributed */
static AttrNumber
distribution_column(IndexDef *def)
{
	FactDef    *fact = def->fact;
	CitusTable	table;
	int			i;

	citus_read_table(fact->relid, &table);
	for (i = 0; i < fact->npk; i++)
		if (strcmp(get_attname(fact->relid, fact->pk_attno[i], false), table.column) == 0)
			return def->pk_attno[i];
	elog(ERROR, "table \"%s\" is not distributed by a column of its primary key", fact->name);
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
