/*-------------------------------------------------------------------------
 *
 * shard_repair.c
 *	  Mends the entries of a distributed fact table.
 *
 * Each node queues the keys of those rows of its shards whose entries are wrong, and
 * drains them as any others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../catalog/named.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../catalog/told_sql.h"
#include "../definition/cache.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "all_shards.h"
#include "discrepancy.h"
#include "shard_repair.h"

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
