/*-------------------------------------------------------------------------
 *
 * distributed.c
 *	  Makes the queue of a distributed table, and queues rows of all its shards at once.
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

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/fact_rows.h"
#include "../catalog/owner.h"
#include "../catalog/definition_rows.h"
#include "../indextable.h"
#include "../util/citus_shards.h"
#include "../util/sql.h"
#include "distributed.h"

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
