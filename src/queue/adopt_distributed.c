/*-------------------------------------------------------------------------
 *
 * adopt_distributed.c
 *	  Registers on this node the distributed index tables that were created on another one, and
 *	  forgets those that were dropped there.
 *
 * Each node has the tables that Citus distributes, without rows, and our triggers on them, whose
 * arguments say what is to be registered (distributed_triggers.c).  Citus creates them on all
 * nodes in the transaction that creates them on the coordinator, and the event trigger for CREATE
 * TRIGGER calls this, so the catalogs of all nodes change together.  A node that is added later
 * gets the triggers before it is told that the tables are distributed.  Its worker calls this from
 * time to time, and a shard's trigger when it finds its fact table unknown.
 *
 * The definition is written as a restore would write it, and adopt_restored.c does the rest.
 *
 * A definition is carried out with the rights of our workers, and everybody can create triggers
 * on tables of his own.  So only superusers, as whom create() makes them, can
 * create triggers that would be believed here (refuse_forged_trigger()).  And they are believed only if both
 * tables have the same owner, and the queue is not known as that of another table: no table can be
 * made to follow, or to consume the changes of, one of another user.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"

#include "../catalog/orphaned_rows.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../catalog/trigger_names.h"
#include "../indextable.h"
#include "../util/citus_shards.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "adopt_distributed.h"

/*
 * The distributed index tables that are not registered, each with its fact table, its queue
 * and its definition.  The last argument of a trigger begins behind the other two, and each
 * ends with a zero byte.
 */
#define UNKNOWN_INDEX_TABLES \
	"WITH guard AS (SELECT t.tgrelid, t.tgargs, pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\\000', 1) AS queue," \
	"  pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\\000', 2) AS number" \
	"  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = t.tgrelid" \
	"  WHERE t.tgname = '" GUARD "' AND t.tgnargs = 3 AND t.tgfoid = '%2$s.guard()'::pg_catalog.regprocedure" \
	"   AND NOT EXISTS (SELECT FROM %1$s d WHERE d.index_table::oid = t.tgrelid))," \
	" unknown AS (SELECT g.tgrelid AS index_table, f.tgrelid AS fact_table, q.oid AS queue," \
	"  pg_catalog.convert_from(pg_catalog.substr(g.tgargs, 3 + pg_catalog.length(g.queue) + pg_catalog.length(g.number)," \
	"   pg_catalog.octet_length(g.tgargs) - 3 - pg_catalog.length(g.queue) - pg_catalog.length(g.number))," \
	"   pg_catalog.getdatabaseencoding())::pg_catalog.jsonb AS definition" \
	"  FROM guard g JOIN pg_catalog.pg_class q ON q.relname = g.queue AND q.relnamespace = '%2$s'::pg_catalog.regnamespace" \
	"  JOIN pg_catalog.pg_trigger f ON f.tgname = '%3$s' AND f.tgnargs = 1 AND f.tgfoid = '%2$s.maintain()'::pg_catalog.regprocedure" \
	"   AND pg_catalog.split_part(pg_catalog.encode(f.tgargs, 'escape'), '\\000', 1) = g.queue" \
	"  JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = f.tgrelid" \
	"  JOIN pg_catalog.pg_class a ON a.oid = g.tgrelid JOIN pg_catalog.pg_class b ON b.oid = f.tgrelid AND b.relowner = a.relowner" \
	"  WHERE NOT EXISTS (SELECT FROM %4$s o WHERE o.queue::oid = q.oid AND o.fact_table::oid <> f.tgrelid)) "

/*
 * adopt_distributed
 *		Makes the catalog of this node what the triggers of distributed tables say; does nothing
 *		where there is no Citus.
 */
void
adopt_distributed(void)
{
	Caller		caller;
	char	   *query;

	if (!citus_is_installed())
		return;
	forget_orphaned_rows(InvalidOid);
	become_owner(&caller, get_extension_owner());
	SPI_connect();
	query = psprintf(UNKNOWN_INDEX_TABLES, catalog_table("definition"), IT_INTERNAL, fact_triggers[0].name,
					 catalog_table("fact"));
	if (execute_with_latest_snapshot(psprintf("%sSELECT FROM unknown", query), 0, NULL, NULL) > 0)
	{
		execute_with_latest_snapshot(psprintf("%sINSERT INTO %s (fact_table, queue)"
											  " SELECT DISTINCT fact_table::pg_catalog.regclass, queue::pg_catalog.regclass FROM unknown"
											  " ON CONFLICT (fact_table) DO UPDATE SET queue = excluded.queue", query, catalog_table("fact")),
									 0, NULL, NULL);
		execute_with_latest_snapshot(psprintf("%sINSERT INTO %s SELECT n.* FROM unknown,"
											  " pg_catalog.jsonb_populate_record(NULL::%s, definition || pg_catalog.jsonb_build_object("
											  "'index_table', index_table, 'fact_table', fact_table, 'fact_oid', 0)) n"
											  " ON CONFLICT (index_table) DO NOTHING", query, catalog_table("definition"), catalog_table("definition")),
									 0, NULL, NULL);
	}
	SPI_finish();
	become_caller(&caller);
}
