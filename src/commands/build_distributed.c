/*-------------------------------------------------------------------------
 *
 * build_distributed.c
 *	  Builds distributed index tables, and refuses what is not supported for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../catalog/named.h"
#include "../catalog/owner.h"
#include "../indextable.h"
#include "../util/citus.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "build_distributed.h"

/* How long to wait, in ms, before it is looked again whether an index table is active. */
#define PAUSE				50

static bool is_building(Oid index_table);

/* refuse_distributed: raises an error if an index table is distributed, as the function cannot change its contents then */
void
refuse_distributed(Oid index_table, const char *function)
{
	if (citus_kind(index_table) == CITUS_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s is not supported for index table \"%s\"", function, get_rel_name(index_table)),
				 errdetail("Citus has distributed it."),
				 errhint("Create another index table, and drop this one when the other is active.")));
}

/*
 * build_distributed
 *		Has all nodes apply what create() has queued for an index table, and waits until it
 *		is active here.
 *
 * Each node makes it active for itself when it drains its shards next and finds that
 * everything is applied (queue/shard_drain.c).  Without a worker this one would not.
 */
void
build_distributed(Oid index_table, Oid fact_table)
{
	bool		building;

	do
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		run_sql(InvalidOid, "SELECT " IT_SCHEMA ".drain(%u::pg_catalog.regclass)", fact_table);
		run_sql(get_extension_owner(), "SELECT " IT_INTERNAL ".drain_shards(%u::pg_catalog.regclass, 1)", fact_table);
		building = is_building(index_table);
		PopActiveSnapshot();
		SPI_commit();
		if (building)
			sleep_interruptibly(PAUSE);
	} while (building);
}

/* is_building: returns whether an index table is still being built; raises an error if it is not an index table any more */
static bool
is_building(Oid index_table)
{
	List	   *rows = catalog_read_definitions(InvalidOid, index_table);

	if (rows == NIL)
		report_not_index_table(index_table);
	return strcmp(((StoredDefinition *) linitial(rows))->row.state, "building") == 0;
}
