/*-------------------------------------------------------------------------
 *
 * shard_trigger.c
 *	  Finds the definition that a shard of a distributed table belongs to.
 *
 * The row trigger of a distributed table is on its shards, too, with its argument and with the
 * number of the shard in its name.  The definition is that of the distributed table, which is
 * an empty table of this node.  Its shards are leaves, as partitions are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../../catalog/catalog.h"
#include "../../definition/definition.h"
#include "../../indextable.h"
#include "../../maintain/maintain.h"
#include "../../util/relation.h"
#include "../../util/sql.h"
#include "citus.h"

/* The distributed table of a shard. */
typedef struct ShardTable
{
	Oid			relid;			/* hash key: the shard */
	Oid			table;
} ShardTable;

static HTAB *tables = NULL;		/* of ShardTable */

static Oid	table_of_shard(Oid shard);
static char *queue_name(Oid fact);

/*
 * shard_definition
 *		Returns the definition of the fact table of a shard, with the queue of the shard in its
 *		leaf.
 *
 * A writer holds a lock on the shard, which conflicts with that by which create() makes the
 * triggers anew.  So a writer either has ended when an index table comes to exist, or gets its
 * lock after the transaction that has created it committed on this node, and with the lock the
 * news of it, because that is one transaction for all shards and tables of the node.
 */
FactDef *
shard_definition(Relation shard)
{
	Oid			relid = table_of_shard(RelationGetRelid(shard));
	FactDef    *def;
	Leaf	   *leaf;
	Relation	table;

	if (!OidIsValid(relid))
		return NULL;
	def = fresh_definition(relid);
	if (def == NULL || !def->registered)
	{
		table = relation_open(relid, AccessShareLock);
		def = definition_of_fact(table, relid);
		if (!def->registered)
		{
			/* This node was added, and its worker has not looked yet. */
			adopt_distributed();
			def = definition_of_fact(table, relid);
		}
		relation_close(table, AccessShareLock);
	}
	if (!def->registered)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard \"%s\" has triggers of indextable but its table is not registered on this node",
						RelationGetRelationName(shard)),
				 errdetail("Its index tables would not be maintained.")));
	if (def->ndefs == 0)
		return def;
	leaf = leaf_of(def, shard);
	if (!OidIsValid(leaf->queue))
		shard_find_queue(def, leaf);
	return def;
}

/*
 * table_of_shard
 *		Returns the distributed table that a table is a shard of; InvalidOid, if it is such a
 *		table itself, which has no rows.
 */
static Oid
table_of_shard(Oid shard)
{
	static ShardTable *last = NULL;
	bool		found;
	Oid			table;

	if (last != NULL && last->relid == shard)
		return last->table;
	if (tables == NULL)
		tables = hash_by_oid("indextable shards", 64, sizeof(ShardTable), NULL);
	last = hash_search(tables, &shard, HASH_FIND, NULL);
	if (last != NULL)
		return last->table;
	table = place_table_of_part(shard);
	if (!OidIsValid(table) && citus_kind(shard) == CITUS_DISTRIBUTED)
		return InvalidOid;
	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has a trigger of a distributed table, but this node knows of no such shard", get_rel_name(shard)),
				 errdetail("The transaction by which Citus has moved or split the shard may not be complete on this node."),
				 errhint("Try again. Citus completes such transactions every citus.recover_2pc_interval.")));
	/* A shard remains one of the same table as long as it exists. */
	last = hash_search(tables, &shard, HASH_ENTER, &found);
	last->table = table;
	return table;
}

/*-------------------------------------------------------------------------
 * Puts our triggers on distributed fact tables and index tables.
 *
 * Citus puts them on the shards, too, on all nodes, takes them along when a shard is moved or
 * split, and gives them to new nodes.  So they also carry the definition to the other nodes,
 * each of which registers what it finds there in its own catalog (distributed_queue.c): the
 * first argument of each trigger is the name of the queue table, by which the tables are known
 * to belong together, because it is the only one that is never renamed.
 *
 * The triggers of a fact table are not enabled ALWAYS, as they are on other tables: what
 * logical replication writes to a shard that is being moved or split has been queued where it
 * comes from, and the queue moves along.
 *
 * The guard of an index table is one for TRUNCATE only; shard_guard.c refuses all writes by hand.
 *-------------------------------------------------------------------------
 */

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

/* distributed_remove_triggers: drops our triggers on a distributed fact table, on all nodes */
void
distributed_remove_triggers(Oid fact)
{
	int			nestlevel = begin_citus_settings();

	triggers_remove_from(fact);
	end_citus_settings(nestlevel);
}

/* distributed_install_guard: has a distributed index table refuse TRUNCATE, and carry its definition */
void
distributed_install_guard(Oid index_table)
{
	install_guard_with(index_table, guard_number(index_table));
}

/* install_guard_with: does that, with a number of the rows in the queue by which the index table is built, or 0 */
void
install_guard_with(Oid index_table, int64 number)
{
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(index_table);
	Rows		rows = query_as(get_extension_owner(),
								psprintf("SELECT (pg_catalog.to_jsonb(d) - 'index_table' - 'fact_table' - 'fact_oid')::pg_catalog.text"
										 " FROM %s d WHERE d.index_table = $1::pg_catalog.regclass", catalog_table("definition")),
								1, &type, &value);
	int			nestlevel;

	if (rows.n == 0)
		report_not_index_table(index_table);
	nestlevel = begin_citus_settings();
	run_sql(get_extension_owner(), "CREATE OR REPLACE TRIGGER " GUARD " BEFORE TRUNCATE ON %s"
			" FOR EACH STATEMENT EXECUTE FUNCTION " IT_INTERNAL ".guard(%s, '" INT64_FORMAT "', %s)",
			quoted_relation(index_table),
			quote_literal_cstr(queue_name(catalog_fact_of(index_table))), number, quote_literal_cstr(row_text(&rows, 0, 1)));
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
	if (citus_kind(index_table) != CITUS_DISTRIBUTED || place_is_governed_elsewhere(index_table))
		return;
	CommandCounterIncrement();
	distributed_install_guard(index_table);
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
