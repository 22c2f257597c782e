/*-------------------------------------------------------------------------
 *
 * distributed.c
 *	  Makes the queue of a distributed table, queues rows of all its shards at once, and drains it
 *	  on all nodes.
 *
 * The queue is one table, distributed together with the fact table.  A row of it has a number,
 * which makes it unique: a table without a key could not be moved without stopping writers.
 * Numbers that writers give are positive: the number of the node, and below that one from a
 * sequence of the node.  A command that queues many rows gives all of them the same negative
 * number, so that it can be seen when they are all applied.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../catalog/owner.h"
#include "../definition/cache.h"
#include "../indextable.h"
#include "../util/citus_shards.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "distributed.h"
#include "lost.h"
#include "shard_drain.h"

static char *queued_now(const char *queue);
static bool exists(const char *query);
static int64 drain_round(const char *fact, int limit);

/* distribute_queue: has Citus distribute a queue table, which is empty, together with its fact table */
void
distribute_queue(FactDef *def, Oid queue)
{
	int			nestlevel;
	CitusTable	table;
	int			i;

	citus_read_table(def->relid, &table);
	for (i = 0; i < def->npk; i++)
		if (strcmp(get_attname(def->relid, def->pk_attno[i], false), table.column) == 0)
			break;
	nestlevel = begin_citus_settings();
	run_sql(get_extension_owner(), "SELECT pg_catalog.create_distributed_table(%s, 'key%d', colocate_with => %s)",
			quote_literal_cstr(quoted_relation(queue)), i + 1, quote_literal_cstr(quoted_relation(def->relid)));
	end_citus_settings(nestlevel);
}

/* queue_all_rows: queues the keys of all rows of a distributed table under one number */
void
queue_all_rows(Oid fact, int64 number)
{
	List	   *key = ((StoredDefinition *) linitial(catalog_read_definitions(fact, InvalidOid)))->row.primary_key;
	StringInfoData columns;
	FactTableRow row;
	ListCell   *cell;
	int			nestlevel;

	if (!catalog_read_fact(fact, &row))
		elog(ERROR, "table \"%s\" is not registered", get_rel_name(fact));
	initStringInfo(&columns);
	foreach(cell, key)
		appendStringInfo(&columns, ", %s", quote_identifier(lfirst(cell)));
	nestlevel = begin_citus_settings();
	run_sql(get_extension_owner(), "INSERT INTO %s SELECT pg_catalog.statement_timestamp()%s, " INT64_FORMAT "::pg_catalog.int8 FROM %s",
			quoted_relation(row.queue), columns.data, number, quoted_relation(fact));
	end_citus_settings(nestlevel);
}

/*
 * drain_all_nodes
 *		Applies what is queued for a distributed table at the moment of the call, and returns how many
 *		changes that was: all nodes drain the shards that they have, one batch after another.
 *
 * A shard may be moved meanwhile, so it is asked each time whether anything is left.  What has been
 * applied is committed on each node by itself, whatever becomes of this transaction, which is why
 * changes that it has made itself are not applied: nobody else sees them yet.
 */
int64
drain_all_nodes(Oid fact_table, int limit)
{
	Relation	fact = relation_open(fact_table, AccessShareLock);
	FactDef    *def = definition_of_fact(fact, fact_table);
	int64		changes = 0;
	Caller		caller;
	char	   *queue;
	char	   *left;

	if (!OidIsValid(def->queue))
		queue_lost_error(def);
	queue = quoted_relation(def->queue);
	become_owner(&caller, get_extension_owner());
	left = psprintf("SELECT FROM %s WHERE %s LIMIT 1", queue, queued_now(queue));
	while (exists(left))
	{
		int64		n = drain_round(quoted_relation(fact_table), limit);

		CHECK_FOR_INTERRUPTS();
		if (n == 0)
			pg_usleep(10 * 1000);
		changes += n;
	}
	/* A worker may have applied it, and its transaction be prepared. */
	wait_for_prepared(definition_of_fact(fact, fact_table), true);
	become_caller(&caller);
	relation_close(fact, NoLock);
	return changes;
}

/* queued_now: returns the condition of which rows a queue has at this moment, by their numbers */
static char *
queued_now(const char *queue)
{
	StringInfoData condition;
	uint64		i;

	/* It is allocated here, where it outlives what SPI allocates. */
	initStringInfo(&condition);
	appendStringInfoString(&condition, "false");
	SPI_connect();
	execute_with_latest_snapshot(psprintf("SELECT min(number)::pg_catalog.text, max(number)::pg_catalog.text FROM %s"
										  " GROUP BY number >> 48", queue), 0, NULL, NULL);
	for (i = 0; i < SPI_processed; i++)
		appendStringInfo(&condition, " OR number BETWEEN %s AND %s",
						 SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1),
						 SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2));
	SPI_finish();
	return condition.data;
}

/* exists: returns whether a query has a result */
static bool
exists(const char *query)
{
	bool		found;

	SPI_connect();
	found = execute_with_latest_snapshot(query, 0, NULL, NULL) > 0;
	SPI_finish();
	return found;
}

/* drain_round: has all nodes apply one batch each, and returns how many changes that was */
static int64
drain_round(const char *fact, int limit)
{
	Oid			type = TEXTOID;
	Datum		value = CStringGetTextDatum(psprintf("SELECT " IT_INTERNAL ".drain_shards(%s, %d)", quote_literal_cstr(fact), limit));
	int64		changes = 0;
	uint64		i;

	SPI_connect();
	execute_with_latest_snapshot("SELECT success, result FROM pg_catalog.run_command_on_all_nodes($1)", 1, &type, &value);
	for (i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		bool		ok = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
		char	   *result = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2);

		if (!ok)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("could not drain table %s on all nodes", fact),
					 result != NULL ? errdetail("%s", result) : 0,
					 errhint("What the other nodes have applied is applied. For the rest, run SELECT " IT_SCHEMA ".drain(%s);", quote_literal_cstr(fact))));
		if (result != NULL)
			changes += strtoll(result, NULL, 10);
	}
	SPI_finish();
	return changes;
}
