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
 * All of this is about asynchronous index tables.  A shard with that of a transactional one beside it is
 * compared and mended as any other fact table with its index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/sql.h"
#include "../verify/verify.h"
#include "citus.h"

/* What verify_shard() is asked for. */
typedef struct Task
{
	VerifyResult result;
	int64		shard;
	int64		number;			/* that rows are queued with; 0: none are */
	Oid			queue;			/* that of the shard */
} Task;

PG_FUNCTION_INFO_V1(indextable_verify_shard);
PG_FUNCTION_INFO_V1(indextable_note_timeline);
PG_FUNCTION_INFO_V1(indextable_activate_repaired);

static void verify_locked(FactDef *def, Relation fact, void *arg);
static void verify_pair(Oid fact, Task *task);
static void put_of_pair(Discrepancy *d, void *arg);
static ShardPair *lock_pair(Oid fact, Oid other, int64 number);
static void report_triggers(Verify *v);
static ShardPair *find_shard(Oid fact, Oid other, int64 number);
static AttrNumber distribution_column(IndexDef *def);
static void queue_and_put(Discrepancy *d, void *arg);

/* The nodes' answers: a JSON array for each shard, with an object for each discrepancy. */
static const char answers[] =
"SELECT r.success, r.result"
" FROM (SELECT pg_catalog.array_agg(s.nodename), pg_catalog.array_agg(s.nodeport), pg_catalog.array_agg(s.command)"
"       FROM (SELECT n.nodename::pg_catalog.text, n.nodeport::pg_catalog.int4,"
"                    pg_catalog.format($2, $4, s.shardid) AS command,"
"                    pg_catalog.row_number() OVER (PARTITION BY n.nodeid ORDER BY s.shardid) AS turn"
"             FROM (SELECT shardid FROM pg_catalog.pg_dist_shard WHERE logicalrelid = $1"
"                   ORDER BY pg_catalog.random() LIMIT (SELECT pg_catalog.ceil(count(*) * $3 / 100) FROM pg_catalog.pg_dist_shard WHERE logicalrelid = $1)) s"
"             JOIN pg_catalog.pg_dist_placement p USING (shardid)"
"             JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary') s"
"       GROUP BY s.turn ORDER BY s.turn) t (nodes, ports, commands)"
" CROSS JOIN LATERAL pg_catalog.master_run_on_worker(t.nodes, t.ports, t.commands, true) r";

/* The rows of verify() in these answers. */
static const char rows[] =
"SELECT a.success, a.result, d.*"
" FROM (%s) a"
" LEFT JOIN LATERAL pg_catalog.jsonb_to_recordset(CASE WHEN a.success THEN a.result::pg_catalog.jsonb END)"
"  AS d (kind text, key jsonb, primary_key jsonb, expected jsonb, found jsonb, problem text) ON true";

/* The largest number of discrepancies of one shard that are reported. */
#define MAX_REPORTED		100000

static void queue_discrepancies(Oid index_table, int64 *found);
static Rows failed_on_nodes(Oid user, const char *function, Oid index_table);
static void note_timelines(Oid index_table);
static void count_discrepancy(Discrepancy *d, void *arg);

/*
 * indextable_verify_shard
 *		verify_shard(index_table regclass, shard bigint, number bigint): returns the
 *		discrepancies, as verify() does, of one shard of a distributed fact table that this
 *		node has.  Unless number is 0, it queues the keys of their rows with this number, or mends
 *		their entries where these are beside the shard.
 */
Datum
indextable_verify_shard(PG_FUNCTION_ARGS)
{
	Oid			index_table = PG_GETARG_OID(0);
	Task		task = {.result = {(ReturnSetInfo *) fcinfo->resultinfo, index_table},
	.shard = PG_GETARG_INT64(1),
	.number = PG_GETARG_INT64(2)};
	DefinitionRow *stored;

	InitMaterializedSRF(fcinfo, 0);
	verify_require_owner(index_table);
	require_citus("verify_shard");
	stored = stored_definition(index_table);
	if (stored != NULL && !is_queued(stored))
		verify_pair(stored->fact_table, &task);
	else if (stored == NULL || !with_queue_locked(stored->fact_table, verify_locked, &task))
		report_not_index_table(index_table);
	return (Datum) 0;
}

/*
 * verify_pair
 *		Compares a shard with that of an index table beside it, as a fact table with its index table, and mends
 *		what it finds if it is asked for.
 */
static void
verify_pair(Oid fact, Task *task)
{
	ShardPair  *pair = lock_pair(fact, task->result.index_table, task->shard);

	verify_index_table(pair->queue, 100, put_of_pair, task);
	if (task->number != 0)
		repair_entries(pair->queue);
}

/* put_of_pair: adds a discrepancy to the result */
static void
put_of_pair(Discrepancy *d, void *arg)
{
	put_discrepancy(d, &((Task *) arg)->result);
}

/*
 * lock_pair
 *		Returns a shard that this node has, with the one beside it, locked against being moved; raises an error
 *		if it is on another node.
 */
static ShardPair *
lock_pair(Oid fact, Oid other, int64 number)
{
	ShardPair  *pair = find_shard(fact, other, number);

	/*
	 * Before it is locked, it may be moved.  Only the owner of the tables may
	 * lock it.
	 */
	if (pair != NULL)
	{
		AS_OWNER(get_extension_owner());
		{
			citus_lock_shards(list_make1(pair));
		}
		END_AS_OWNER();
		pair = find_shard(fact, other, number);
	}
	if (pair == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " of table \"%s\" is not on this node", number, get_rel_name(fact)),
				 errdetail("It may have been moved since the command began."),
				 errhint("Run the command again.")));
	citus_require_pair(pair, fact);
	return pair;
}

/*
 * verify_locked
 *		Compares a shard while no other session drains the queue on this node; for
 *		with_queue_locked().
 */
static void
verify_locked(FactDef *def, Relation fact, void *arg)
{
	Task	   *task = arg;
	Verify		v = {.handler = queue_and_put,.arg = task,.sample = 100};
	VerifiedShard shard;
	ShardPair  *pair;

	for (int i = 0; i < def->ndefs; i++)
		if (def->defs[i]->relid == task->result.index_table)
			v.def = def->defs[i];
	if (v.def == NULL || !def->place->in_parts)
		report_not_index_table(task->result.index_table);
	verify_require_owner(task->result.index_table);
	pair = lock_pair(def->relid, def->queue.current, task->shard);
	AS_OWNER(get_extension_owner());
	{
		wait_for_prepared(def, GIDS_OF_ALL_NODES);
	}
	END_AS_OWNER();

	v.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable verify", ALLOCSET_DEFAULT_SIZES);
	v.sums = palloc0(sizeof(Sums));
	v.index_table = relation_open(v.def->relid, AccessShareLock);
	v.fact = relation_open(pair->fact, AccessShareLock);
	v.shard = &shard;
	shard.queue = task->queue = pair->queue;
	shard.column = distribution_column(v.def);
	shard.hash_min = pair->min;
	shard.hash_max = pair->max;
	/* TRUNCATE would empty a partition for this snapshot, too. */
	(void) lock_leaves(pair->fact, NULL);
	v.snapshot = snapshot_of_shards(def, list_make1(pair));
	PushActiveSnapshot(v.snapshot);
	compare_entries(&v);
	report_rejected(&v);
	report_triggers(&v);
	PopActiveSnapshot();
	UnregisterSnapshot(v.snapshot);
	relation_close(v.fact, NoLock);
	relation_close(v.index_table, NoLock);
}

/*
 * report_triggers
 *		Reports tables of a shard that have rows but not our trigger as we make it: on one node, no event trigger
 *		watches what their owner does to them.
 */
static void
report_triggers(Verify *v)
{
	const char *trigger = fact_triggers[0].name;

	foreach_oid(leaf, lock_leaves(RelationGetRelid(v->fact), NULL))
	{
		Relation	rel = relation_open(leaf, AccessShareLock);
		Discrepancy d = {.kind = KIND_SETUP,.def = v->def,.by_hand = true};

		d.problem = psprintf("trigger \"%s\" of shard \"%s\" is missing or disabled, so that nothing is queued",
							 trigger, RelationGetRelationName(rel));
		if (!trigger_is_as_made(rel, trigger, TRIGGER_FIRES_ON_ORIGIN, true))
			v->handler(&d, v->arg);
		relation_close(rel, NoLock);
	}
}

/* find_shard: returns a shard that this node has, with that of another table beside it, or NULL */
static ShardPair *
find_shard(Oid fact, Oid other, int64 number)
{
	foreach_ptr(ShardPair, pair, citus_local_shards(fact, other))
	{
		if (pair->fact_shard == number)
			return pair;
	}
	return NULL;
}

/*
 * distribution_column
 *		Returns the column of the index table that is the one by which the fact table is
 *		distributed.
 */
static AttrNumber
distribution_column(IndexDef *def)
{
	FactDef    *fact = def->fact;
	CitusTable	table;

	citus_read_table(fact->relid, &table);
	for (int i = 0; i < fact->layout.npk; i++)
		if (strcmp(get_attname(fact->relid, fact->layout.pk_attno[i], false), table.column) == 0)
			return def->layout.pk_attno[i];
	elog(ERROR, "table \"%s\" is not distributed by a column of its primary key", fact->name);
}

/*
 * queue_and_put
 *		Adds a discrepancy to the result, after it has queued the key of its row, if that is
 *		asked for and writing its entries anew may mend it.
 *
 * The key is written to this node's part of the queue, in this transaction, which still
 * holds the drain's lock.
 */
static void
queue_and_put(Discrepancy *d, void *arg)
{
	Task	   *task = arg;
	FactDef    *fact = d->def->fact;
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;

	if (task->number != 0 && entry != NULL && d->kind != KIND_REJECTED)
	{
		Oid			types[INDEX_MAX_KEYS + 1];
		Datum		values[INDEX_MAX_KEYS + 1];
		StringInfoData sql;
		int			i;

		initStringInfo(&sql);
		appendStringInfo(&sql, "INSERT INTO %s VALUES (pg_catalog.statement_timestamp()",
						 quoted_relation(task->queue));
		for (i = 0; i < fact->layout.npk; i++)
		{
			bool		isnull;

			types[i] = TupleDescAttr(d->def->layout.desc, d->def->layout.pk_attno[i] - 1)->atttypid;
			values[i] = slot_getattr(entry, d->def->layout.pk_attno[i], &isnull);
			appendStringInfo(&sql, ", $%d", i + 1);
		}
		types[i] = INT8OID;
		values[i] = Int64GetDatum(task->number);
		appendStringInfo(&sql, ", $%d) ON CONFLICT DO NOTHING", i + 1);
		(void) query_with(get_extension_owner(), sql.data, i + 1, types, values);
	}
	put_discrepancy(d, &task->result);
}

/*
 * Has each node compare its shards of a distributed fact table with their entries, and mends
 * what they find.
 *
 * A shard is compared on the node that has it, where its writers and its drain are: see
 * the head of this file.  Each comparison is a transaction of its own there, so that it holds up
 * the drain of one shard at a time.  All nodes work at the same time, each on one shard.
 *
 * Each node queues the keys of those rows of its shards whose entries are wrong, and
 * drains them as any others.
 */

/*
 * verify_all_shards
 *		Calls the handler for each entry that is not as it should be, and for each row that
 *		cannot have its entries, in no order.  Shards that cannot be compared, for example
 *		because their node does not answer, are reported as a problem of the setup.
 *
 * sample is the percentage of the shards that are compared.  Unless repair is 0, the keys
 * of rows whose entries are wrong are queued with this number.  The nodes compare their
 * shards as the current user, who has to own the index table.
 */
void
verify_all_shards(IndexDef *def, double sample, int64 repair, discrepancy_handler handler, void *arg)
{
	char	   *command = psprintf("SELECT coalesce(pg_catalog.jsonb_agg(v), '[]') FROM"
								   " (SELECT * FROM " IT_INTERNAL
								   ".verify_shard(%%L::pg_catalog.regclass, %%s, " INT64_FORMAT ") LIMIT %d) v",
								   repair, MAX_REPORTED);
	Oid			types[] = {OIDOID, TEXTOID, FLOAT8OID, TEXTOID};
	Datum		values[4];
	Rows		found;

	values[0] = ObjectIdGetDatum(def->fact->relid);
	values[1] = CStringGetTextDatum(command);
	values[2] = Float8GetDatum(sample);
	values[3] = CStringGetTextDatum(quoted_relation(def->relid));
	found = query_with(InvalidOid, psprintf(rows, answers), 4, types, values);
	for (uint64 i = 0; i < found.n; i++)
	{
		Discrepancy d = {.def = def};
		char	   *kind = row_text(&found, i, 3);
		Datum		columns[8];
		bool		isnull[8];

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(found.tuples[i], found.desc, columns, isnull);
		if (!DatumGetBool(columns[0]))
		{
			d.kind = KIND_SETUP;
			d.by_hand = true;
			d.problem = psprintf("a shard could not be compared: %s", row_text(&found, i, 2));
		}
		else if (kind == NULL)
			continue;			/* the shard has no discrepancy */
		else
		{
			d.kind = discrepancy_kind(kind);
			d.columns = columns + 2;
			d.isnull = isnull + 2;
			d.problem = row_text(&found, i, 8);
		}
		handler(&d, arg);
	}
}

/*
 * repair_shards
 *		Mends entries in rounds, until nothing is found that is not queued, or a round has
 *		mended nothing.  Adds what the first round has found, by kind, and sets how much
 *		remains.
 *
 * The caller has connected SPI; commit says that it may commit.
 */
void
repair_shards(Oid index_table, bool commit, int64 *first, int64 *remaining)
{
	int64		before = -1;

	for (;;)
	{
		int64		found[KINDS] = {0};

		queue_discrepancies(index_table, found);
		if (commit)
			SPI_commit();
		for (int i = 0; i < KINDS && before < 0; i++)
			first[i] += found[i];
		*remaining = found[KIND_MISSING] + found[KIND_DANGLING] + found[KIND_STALE];
		if (*remaining == 0 || *remaining == before)
			break;
		before = *remaining;
	}
}

/*
 * queue_discrepancies
 *		Has the nodes queue and drain the rows whose entries are not as they should be, which
 *		they do in transactions of their own, whatever becomes of this one.
 */
static void
queue_discrepancies(Oid index_table, int64 *found)
{
	int			nestlevel = NewGUCNestLevel();
	IndexDef   *def;
	Relation	fact;
	Relation	rel;
	Oid			fact_table;

	fix_gucs();
	PushActiveSnapshot(GetTransactionSnapshot());
	def = definition_open(index_table, &fact, &rel);
	if (def == NULL)
		report_not_index_table(index_table);
	fact_table = def->fact->relid;
	verify_all_shards(def, 100, new_command_number(), count_discrepancy, found);
	relation_close(rel, AccessShareLock);
	relation_close(fact, AccessShareLock);
	if (found[KIND_MISSING] + found[KIND_DANGLING] + found[KIND_STALE] == 0)
		note_timelines(index_table);
	else
		run_sql(InvalidOid, "SELECT " IT_SCHEMA ".drain(%u::pg_catalog.regclass)", fact_table);
	PopActiveSnapshot();
	AtEOXact_GUC(false, nestlevel);
}

/*
 * failed_on_nodes
 *		Has all nodes call a function of ours for an index table, as a user, and returns the answers of those where
 *		that failed.
 */
static Rows
failed_on_nodes(Oid user, const char *function, Oid index_table)
{
	return query_as(user, "SELECT result FROM pg_catalog.run_command_on_all_nodes(%s) WHERE NOT success",
					quote_literal_cstr(psprintf("SELECT " IT_INTERNAL ".%s(%s::pg_catalog.regclass)", function,
												quote_literal_cstr(quoted_relation(index_table)))));
}

/* note_timelines: has all nodes note that the entries of an index table are right */
static void
note_timelines(Oid index_table)
{
	Rows		failed;

	if (catalog_is_old())
		return;
	failed = failed_on_nodes(InvalidOid, "note_timeline", index_table);
	if (failed.n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("not all nodes could note that index table \"%s\" is right", get_rel_name(index_table)),
				 errdetail("%s", row_text(&failed, 0, 1)),
				 errhint("When all nodes can be reached, run %s", told_call("repair", index_table))));
}

/*
 * indextable_note_timeline
 *		note_timeline(index_table regclass): notes that the entries of an index table are right on the present
 *		timeline of this node.
 */
Datum
indextable_note_timeline(PG_FUNCTION_ARGS)
{
	Oid			index_table = PG_GETARG_OID(0);

	verify_require_owner(index_table);
	if (!OidIsValid(catalog_fact_of(index_table)) || citus_kind(index_table) != CITUS_DISTRIBUTED)
		report_not_index_table(index_table);
	catalog_note_timeline(index_table);
	PG_RETURN_VOID();
}

/* count_discrepancy: counts what a node has found, and raises an error if it could not look */
static void
count_discrepancy(Discrepancy *d, void *arg)
{
	if (d->columns == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not repair index table \"%s\"", d->def->name),
				 errdetail("On one of the nodes, %s.", d->problem),
				 errhint("When all nodes can be reached, run %s", told_call("repair", d->def->relid))));
	((int64 *) arg)[d->kind]++;
}

/*
 * activate_on_all_nodes
 *		Has all nodes make a repaired index table active: each has its state in a catalog of its own, and DDL that
 *		makes it invalid does so on all of them.
 */
void
activate_on_all_nodes(Oid index_table)
{
	Rows		failed;

	PushActiveSnapshot(GetTransactionSnapshot());
	failed = failed_on_nodes(get_extension_owner(), "activate_repaired", index_table);
	PopActiveSnapshot();
	if (failed.n > 0)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("index table \"%s\" may be invalid on other nodes", get_rel_name(index_table)),
				 errdetail("On one of the nodes, %s.", row_text(&failed, 0, 1)),
				 errhint("When all nodes can be reached, run %s", told_call("repair", index_table))));
}

/*
 * indextable_activate_repaired
 *		activate_repaired(index_table regclass): makes an invalid index table active on this node if it has its
 *		triggers.
 */
Datum
indextable_activate_repaired(PG_FUNCTION_ARGS)
{
	activate_repaired(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}
