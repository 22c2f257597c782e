/*-------------------------------------------------------------------------
 *
 * distributed_triggers.c
 *	  Puts our triggers on distributed fact tables and index tables.
 *
 * Citus puts them on the shards, too, on all nodes, takes them along when a shard is moved or
 * split, and gives them to new nodes.  So they also carry the definition to the other nodes,
 * each of which registers what it finds there in its own catalog (adopt_distributed.c): the
 * first argument of each trigger is the name of the queue table, by which the tables are known
 * to belong together, because it is the only one that is never renamed.
 *
 * The triggers of a fact table are not enabled ALWAYS, as they are on other tables: what
 * logical replication writes to a shard that is being moved or split has been queued where it
 * comes from, and the queue moves along.
 *
 * The guard of an index table refuses TRUNCATE only.  Writes by hand reach the shards in the
 * same way as those of a drain on another node, which cannot be told from them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/definition_rows.h"
#include "../catalog/distributed_guard.h"
#include "../catalog/fact_rows.h"
#include "../catalog/named.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../catalog/trigger_names.h"
#include "../util/citus.h"
#include "../util/citus_shards.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "distributed_triggers.h"

static char *queue_name(Oid fact);

/* distributed_install_fact: puts one trigger of fact tables on a distributed one, which has a queue */
void
distributed_install_fact(Oid fact, const char *trigger, const char *event, const char *level)
{
	int			nestlevel = begin_citus_settings();

	run_sql(get_extension_owner(), "CREATE OR REPLACE TRIGGER %s %s ON %s FOR EACH %s EXECUTE FUNCTION " IT_INTERNAL ".maintain(%s)",
			trigger, event, quoted_relation(fact), level,
			quote_literal_cstr(queue_name(fact)));
	end_citus_settings(nestlevel);
}

/*
 * distributed_install_guard
 *		Has a distributed index table refuse TRUNCATE, and carry its definition; number is
 *		that of guard_number().
 */
void
distributed_install_guard(Oid index_table, int64 number)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(index_table);
	char	   *definition = NULL;
	Caller		caller;
	int			nestlevel;

	become_owner(&caller, get_extension_owner());
	SPI_connect();
	if (execute_with_latest_snapshot(psprintf("SELECT (pg_catalog.to_jsonb(d) - 'index_table' - 'fact_table' - 'fact_oid')::pg_catalog.text"
											  " FROM %s d WHERE d.index_table = $1::pg_catalog.regclass", catalog_table("definition")),
									 1, &type, &value) > 0)
		definition = MemoryContextStrdup(cxt, SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1));
	SPI_finish();
	become_caller(&caller);
	if (definition == NULL)
		report_not_index_table(index_table);
	nestlevel = begin_citus_settings();
	run_sql(get_extension_owner(), "CREATE OR REPLACE TRIGGER " GUARD " BEFORE TRUNCATE ON %s"
			" FOR EACH STATEMENT EXECUTE FUNCTION " IT_INTERNAL ".guard(%s, '" INT64_FORMAT "', %s)",
			quoted_relation(index_table),
			quote_literal_cstr(queue_name(catalog_fact_of(index_table))), number, quote_literal_cstr(definition));
	end_citus_settings(nestlevel);
}

/*
 * distributed_renew_guard
 *		Has the guard of an index table, if that is distributed, carry the definition as it is now, with
 *		other names: a node that is added later knows no others.
 */
void
distributed_renew_guard(Oid index_table)
{
	if (citus_kind(index_table) != CITUS_DISTRIBUTED || citus_is_governed_elsewhere(index_table))
		return;
	CommandCounterIncrement();
	distributed_install_guard(index_table, guard_number(index_table));
}

/* queue_name: returns the name of the queue table of a fact table */
static char *
queue_name(Oid fact)
{
	FactTableRow row;
	char	   *name = catalog_read_fact(fact, &row) ? get_rel_name(row.queue) : NULL;

	if (name == NULL)
		elog(ERROR, "table \"%s\" has no queue", get_rel_name(fact));
	return name;
}
