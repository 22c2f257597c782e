/*-------------------------------------------------------------------------
 *
 * create_distributed.c
 *	  Makes index tables over tables that Citus distributes: what create() does otherwise for
 *	  them.
 *
 * The index table is distributed by its first key field, so that a look-up by key asks one
 * shard, and its queue together with the fact table, so that each shard of the one is always on
 * the same node as that of the other.  Entries are written by the workers of all nodes.
 *
 * An index table is filled through the queue: create() queues the keys of all rows, each on the
 * node that has it, and the index table is "building" until they are applied.  No row is missed.
 * The triggers are made anew for each index table.  That locks all shards of the fact table
 * against writers, and the fact table on each node against drains, until create() has committed
 * there.  So a row is queued by create(), or is written after it.  A drain that knows only the
 * definitions from before create() consumes neither: what it sees was committed before it had
 * its lock on the fact table, which it has taken before create() did or takes after it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../queue/queue.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "citus.h"

static void refuse(Relation fact, const char *why, const char *hint);
static void distribute(Oid index_table, const char *column, int nshards);

/* How long to wait, in ms, before it is looked again whether an index table is active. */
#define PAUSE				50


/*
 * check_distributed
 *		Raises an error if a distributed table cannot have the index table that is asked for.
 */
void
check_distributed(DefinitionRow *row, FactDef *factdef, Relation fact, bool populate, bool partitioned)
{
	CitusTable	table;
	bool		found = false;

	citus_read_table(row->fact_table, &table);
	if (citus_local_group() != 0)
		refuse(fact, "It is distributed, and this node is not the coordinator.",
			   "Run create() on the coordinator of Citus.");
	if (!is_async(row))
		refuse(fact, "It is distributed, and its rows and their entries are on several nodes.",
			   "Use maintenance => 'async'.");
	if (!table.by_hash || table.column == NULL)
		refuse(fact, "It is not distributed by hash.",
			   "Use create_distributed_table() with a column of the primary key.");
	if (table.replicated)
		refuse(fact, "Its shards have several placements.",
			   "Distribute the table with citus.shard_replication_factor = 1.");
	if (fact->rd_rel->relkind != RELKIND_RELATION)
		refuse(fact, "It is both partitioned and distributed.", NULL);
	if (partitioned)
		refuse(fact, "It is distributed, and so are its index tables, which cannot be partitioned as well.",
			   "Use partitions => n alone, which is the number of its shards.");
	if (!populate)
		refuse(fact, "It is distributed, and its index tables are always filled by the workers.",
			   "Leave out populate.");
	if (IsolationUsesXactSnapshot())
		refuse(fact, "It is distributed, and rows that are newer than the transaction would be missed.",
			   "Run create() with the isolation level READ COMMITTED.");
	for (int i = 0; i < factdef->layout.npk; i++)
		found |= strcmp(get_attname(row->fact_table, factdef->layout.pk_attno[i], false), table.column) == 0;
	if (!found)
		refuse(fact, "The column by which it is distributed does not belong to the primary key.", NULL);
}

/* refuse: raises the error for a distributed table that cannot be a fact table */
static void
refuse(Relation fact, const char *why, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot have this index table", RelationGetRelationName(fact)),
			 errdetail("%s", why),
			 hint != NULL ? errhint("%s", hint) : 0));
}

/*
 * register_distributed
 *		Distributes an index table that is as its definition says, has it maintained on all
 *		nodes from now on, and queues the keys of all rows; closes both tables.  It has
 *		nshards shards; 0: as many as the fact table.
 */
void
register_distributed(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table, int nshards)
{
	char	   *tablespace = tablespace_of(index_table);
	char	   *column = pstrdup(NameStr(TupleDescAttr(def->layout.desc, def->layout.ident[0] - 1)->attname));
	CitusTable	table;
	int64		number;
	int			uncounted;

	citus_read_table(row->fact_table, &table);
	completeness_begin(row->index_table);
	table_close(index_table, NoLock);
	uncounted = begin_uncounted();
	primary_key_add(def, primary_key_can_cover(def), tablespace, NULL);
	end_uncounted(uncounted);
	row_index_make(def);
	distribute(row->index_table, column, nshards > 0 ? nshards : table.nshards);

	record_code_dependencies(row->index_table, definition_expressions(def));
	row->state = STATE_BUILDING;
	catalog_insert(row, fact);
	usage_from_now(row->index_table);
	table_close(fact, NoLock);
	if (!catalog_has_fact(row->fact_table))
	{
		FactTableRow new = {.fact_table = row->fact_table};

		catalog_write_fact(&new);
	}
	queues_create(def->fact, false);
	number = new_command_number();
	install_guard_with(row->index_table, number);
	triggers_install(row->fact_table);
	queue_all_rows(row->fact_table, number);
	CacheInvalidateRelcacheByRelid(row->fact_table);
}

/* distribute: has Citus distribute an index table, which is empty, by a column */
static void
distribute(Oid index_table, const char *column, int nshards)
{
	run_with_citus_settings(
							psprintf("SELECT pg_catalog.create_distributed_table(%s, %s, colocate_with => 'none', shard_count => %d)",
									 quote_literal_cstr(held_name(index_table)), quote_literal_cstr(column),
									 nshards));
}

/*-------------------------------------------------------------------------
 * Builds distributed index tables.
 *-------------------------------------------------------------------------
 */

/*
 * build_distributed
 *		Has all nodes apply what create() has queued for an index table, and waits until it
 *		is active here.
 *
 * Each node makes it active for itself when it drains its shards next and finds that
 * everything is applied (shard_drain.c).  Without a worker this one would not.
 */
void
build_distributed(Oid index_table, Oid fact_table)
{
	bool		building;

	do
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		run_sql(InvalidOid, "SELECT " IT_SCHEMA ".drain(%u::pg_catalog.regclass)", fact_table);
		run_sql(get_extension_owner(), "SELECT " IT_INTERNAL ".drain_shards(%u::pg_catalog.regclass, 1)",
				fact_table);
		building = required_definition(index_table)->state == STATE_BUILDING;
		PopActiveSnapshot();
		SPI_commit();
		if (building)
			sleep_interruptibly(PAUSE);
	} while (building);
}
