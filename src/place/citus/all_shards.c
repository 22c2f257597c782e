/*-------------------------------------------------------------------------
 *
 * all_shards.c
 *	  Has each node compare its shards of a distributed fact table with their entries, and mends
 *	  what they find.
 *
 * A shard is compared on the node that has it, where its writers and its drain are: see
 * shard_check.c.  Each comparison is a transaction of its own there, so that it holds up
 * the drain of one shard at a time.  All nodes work at the same time, each on one shard.
 *
 * Each node queues the keys of those rows of its shards whose entries are wrong, and
 * drains them as any others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../../catalog/definition_rows.h"
#include "../../catalog/named.h"
#include "../../catalog/owner.h"
#include "../../catalog/table_access.h"
#include "../../catalog/told_sql.h"
#include "../../definition/cache.h"
#include "../../indextable.h"
#include "../../util/fixed_settings.h"
#include "../../util/role.h"
#include "../../util/sql.h"
#include "../../verify/discrepancy.h"
#include "citus_place.h"

/* The nodes' answers: a JSON array for each shard, with an object for each discrepancy. */
static const char answers[] =
"SELECT r.success, r.result"
" FROM (SELECT pg_catalog.array_agg(s.nodename), pg_catalog.array_agg(s.nodeport), pg_catalog.array_agg(s.command)"
"       FROM (SELECT n.nodename::pg_catalog.text, n.nodeport::pg_catalog.int4,"
"                    pg_catalog.format($2, s.shardid) AS command,"
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

/* So many discrepancies of one shard are reported at most. */
#define MAX_REPORTED		100000

/* What verify() has found in a round. */
typedef struct Found
{
	int64		missing;
	int64		dangling;
	int64		stale;
} Found;

static void queue_discrepancies(Oid index_table, Found *found);
static void count_discrepancy(Discrepancy *d, void *arg);
static int64 new_number(void);

/*
 * verify_all_shards
 *		Calls the handler for each entry that is not as it should be, and for each row that
 *		cannot have its entries, in no order.  Shards that cannot be compared, for example
 *		because their node does not answer, are reported as a problem of the setup.
 *
 * sample is the percentage of the shards that are compared.  Unless repair is 0, the keys
 * of rows whose entries are wrong are queued with this number.  The nodes do that as the
 * current user, who has to own the index table.
 */
void
verify_all_shards(IndexDef *def, double sample, int64 repair, discrepancy_handler handler, void *arg)
{
	char	   *command = psprintf("SELECT coalesce(pg_catalog.jsonb_agg(v), '[]') FROM"
								   " (SELECT * FROM " IT_INTERNAL ".verify_shard(%s::pg_catalog.regclass, %%s, " INT64_FORMAT
								   ") LIMIT %d) v",
								   quote_literal_cstr(quoted_relation(def->relid)), repair, MAX_REPORTED);
	Oid			types[] = {OIDOID, TEXTOID, FLOAT8OID};
	Datum		values[3];
	uint64		i;

	values[0] = ObjectIdGetDatum(def->fact->relid);
	values[1] = CStringGetTextDatum(command);
	values[2] = Float8GetDatum(sample);
	SPI_connect();
	execute_with_latest_snapshot(psprintf(rows, answers), 3, types, values);
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Discrepancy d = {.def = def,.kind = SPI_getvalue(tuple, desc, 3)};
		Datum		columns[8];
		bool		isnull[8];

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, desc, columns, isnull);
		if (!DatumGetBool(columns[0]))
		{
			d.kind = "setup";
			d.by_hand = true;
			d.problem = psprintf("a shard could not be compared: %s", SPI_getvalue(tuple, desc, 2));
		}
		else if (d.kind == NULL)
			continue;			/* the shard has no discrepancy */
		else
		{
			d.columns = columns + 2;
			d.isnull = isnull + 2;
			d.problem = SPI_getvalue(tuple, desc, 8);
		}
		handler(&d, arg);
	}
	SPI_finish();
}

/*
 * repair_shards
 *		Mends entries in rounds, until nothing is found that is not queued, or a round has
 *		mended nothing.  Sets what the first round has found, and how much remains.
 *
 * The caller has connected SPI; commit says that it may commit.
 */
void
repair_shards(Oid index_table, bool commit, int64 *missing, int64 *dangling, int64 *stale, int64 *remaining)
{
	int64		before = -1;

	for (;;)
	{
		Found		found = {0};

		queue_discrepancies(index_table, &found);
		if (commit)
			SPI_commit();
		if (before < 0)
		{
			*missing = found.missing;
			*dangling = found.dangling;
			*stale = found.stale;
		}
		*remaining = found.missing + found.dangling + found.stale;
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
queue_discrepancies(Oid index_table, Found *found)
{
	int			nestlevel = NewGUCNestLevel();
	FactDef    *factdef;
	IndexDef   *def;
	Relation	fact;
	Relation	rel;
	Oid			fact_table;

	fix_gucs();
	PushActiveSnapshot(GetTransactionSnapshot());
	def = definition_open(index_table, &factdef, &fact, &rel);
	if (def == NULL)
		report_not_index_table(index_table);
	fact_table = factdef->relid;
	PG_TRY();
	{
		verify_all_shards(def, 100, new_number(), count_discrepancy, found);
	}
	PG_FINALLY();
	{
		definition_unpin(factdef);
	}
	PG_END_TRY();
	relation_close(rel, AccessShareLock);
	relation_close(fact, AccessShareLock);
	if (found->missing + found->dangling + found->stale > 0)
		run_sql(InvalidOid, "SELECT " IT_SCHEMA ".drain(%u::pg_catalog.regclass)", fact_table);
	PopActiveSnapshot();
	AtEOXact_GUC(false, nestlevel);
}

/* count_discrepancy: counts what a node has found, and raises an error if it could not look */
static void
count_discrepancy(Discrepancy *d, void *arg)
{
	Found	   *found = arg;

	if (d->columns == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not repair index table \"%s\"", d->def->name),
				 errdetail("On one of the nodes, %s.", d->problem),
				 errhint("When all nodes can be reached, run %s", told_call("repair", d->def->relid))));
	found->missing += strcmp(d->kind, "missing") == 0;
	found->dangling += strcmp(d->kind, "dangling") == 0;
	found->stale += strcmp(d->kind, "stale") == 0;
}

/* new_number: returns the number under which a command queues rows: see place/citus/distributed_queue.c */
static int64
new_number(void)
{
	Caller		caller;
	int64		result;

	become_owner(&caller, get_extension_owner());
	result = -nextval_internal(get_relname_relid("shard_queue_number", catalog_schema()), false);
	become_caller(&caller);
	return result;
}
