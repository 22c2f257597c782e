/*-------------------------------------------------------------------------
 *
 * create_distributed.c
 *	  Makes index tables over tables that Citus distributes: what create() does otherwise for
 *	  them.
 *
 * A transactional index table is distributed together with its fact table, by the same column, and filled by
 * create() itself: see shard_pair.c.  The rest of this is about asynchronous ones.
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

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "executor/spi.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../queue/queue.h"
#include "../util/compat.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "citus.h"

PG_FUNCTION_INFO_V1(indextable_fill_shards);

static void refuse(Relation fact, const char *why, const char *hint);
static void check_key(DefinitionRow *row, IndexDef *def, Relation fact);
static void check_hashes(DefinitionRow *row, IndexDef *def, Relation fact, const char *column);
static bool has_oids_of_node(Oid type);
static void check_types(IndexDef *def, Relation fact);
static bool is_narrow(IndexDef *def);
static void fill_on_all_nodes(Oid fact, Oid index_table, int64 number);
static void distribute(Oid index_table, const char *column, const char *with);

/* How long to wait, in ms, before it is looked again whether an index table is active. */
#define PAUSE				50

/*
 * check_distributed
 *		Raises an error if a distributed table cannot have the index table that is asked for.
 */
void
check_distributed(DefinitionRow *row, IndexDef *def, Relation fact, bool populate, bool partitioned)
{
	FactDef    *factdef = def->fact;
	CitusTable	table;
	bool		found = false;

	if (!is_async(row))
		check_key(row, def, fact);
	citus_read_table(row->fact_table, &table);
	if (citus_local_group() != 0)
		refuse(fact, "It is distributed, and this node is not the coordinator.",
			   "Run create() on the coordinator of Citus.");
	if (!table.by_hash || table.column == NULL)
		refuse(fact, "It is not distributed by hash.",
			   "Use create_distributed_table() with a column of the primary key.");
	if (table.replicated)
		refuse(fact, "Its shards have several placements.",
			   "Distribute the table with citus.shard_replication_factor = 1.");
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
	if (!is_async(row))
		return;
	check_hashes(row, def, fact, table.column);
	check_types(def, fact);
}

/*
 * check_hashes
 *		Raises an error unless all nodes find the shard of a row and of its entries by the same hashes.  Otherwise
 *		each would look for entries where it would have written them.
 */
static void
check_hashes(DefinitionRow *row, IndexDef *def, Relation fact, const char *column)
{
	if (has_type_within(get_atttype(row->fact_table, get_attnum(row->fact_table, column)), has_oids_of_node))
		refuse(fact, "It is distributed by a column with values of an enum, or names of objects, which each node hashes in its own way.",
			   NULL);
	if (def->spec.nkeys > 0 && has_type_within(def->spec.fields[0].type, has_oids_of_node))
		refuse(fact, "The first key field has values of an enum, or names of objects, which each node hashes in its own way.",
			   "Begin the key with another field.");
}

/* has_oids_of_node: returns whether values of a type are OIDs, which each node has for itself */
static bool
has_oids_of_node(Oid type)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGNAMESPACEOID:
		case REGROLEOID:
			return true;
		default:
			return type_is_enum(type);
	}
}

/*
 * check_types
 *		Raises an error if primary keys cannot be in the queue, whose owner is in charge when Citus sends and
 *		copies its rows, or entries not in the arrays in which a drain sends them.
 */
static void
check_types(IndexDef *def, Relation fact)
{
	AttrNumber	column = citus_distribution_column(RelationGetRelid(fact));

	for (int i = 0; i < def->fact->layout.npk; i++)
	{
		AttrNumber	attno = def->fact->layout.pk_attno[i];
		Oid			type = get_atttype(RelationGetRelid(fact), attno);

		if (attno == column && getBaseType(type) != type)
			refuse(fact, "It is distributed by a column of a domain, whose checks may call code of its owner.", NULL);
		if (calls_code_of_owner(getBaseType(type)))
			refuse(fact, "Its primary key has values with a domain or a composite type within, for which code of its owner may be called.",
				   NULL);
	}
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (!OidIsValid(get_array_type(def->spec.fields[i].type)))
			refuse(fact, psprintf("Field \"%s\" has type %s, of which there are no arrays.", def->spec.fields[i].spec->name,
								  format_type_be(def->spec.fields[i].type)), NULL);
}

/*
 * check_key
 *		Raises an error unless the first key field of a transactional index table is the distribution column, as
 *		it is, so that the entries of a row belong to the shard with the same bounds as its own.
 */
static void
check_key(DefinitionRow *row, IndexDef *def, Relation fact)
{
	AttrNumber	column = citus_distribution_column(row->fact_table);
	Field	   *field = def->spec.nkeys > 0 ? &def->spec.fields[0] : NULL;
	Form_pg_attribute att = column > 0 ? TupleDescAttr(RelationGetDescr(fact), column - 1) : NULL;

	if (att != NULL && field != NULL && field->fact_attno == column && field->convert == NULL &&
		!field->spec->multi && field->type == att->atttypid && field->typmod == att->atttypmod &&
		field->collation == att->attcollation)
		return;
	if (row->is_unique)
		citus_check_unique(row->fact_table);
	refuse(fact, "It is distributed, and its rows and their entries are on several nodes, as the first key field is not the distribution column.",
		   att == NULL ? (is_totals(def) ? NULL : "Use maintenance => 'async'.") :
		   psprintf("%s the key with @%s.", is_totals(def) ? "Begin" : "Use maintenance => 'async', or begin",
					quote_identifier(NameStr(att->attname))));
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
 *		nodes from now on, and fills it, or queues the keys of all rows; closes both tables.  It has
 *		nshards shards; 0: as many as the fact table.
 */
void
register_distributed(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table, int nshards)
{
	bool		beside = !is_async(row);
	char	   *tablespace = tablespace_of(index_table);
	char	   *column = pstrdup(NameStr(TupleDescAttr(def->layout.desc, def->layout.ident[0] - 1)->attname));
	CitusTable	table;
	int64		number;
	int			uncounted;

	if (beside && nshards > 0)
		refuse(fact, "Each shard of the index table is beside one of the fact table.", "Leave out partitions.");
	citus_read_table(row->fact_table, &table);
	completeness_begin(row->index_table);
	table_close(index_table, NoLock);
	uncounted = begin_uncounted();
	if (is_totals(def))
		finish_totals(def, tablespace);
	else
		primary_key_add(def, primary_key_can_cover(def) && (!beside || is_narrow(def)), tablespace, NULL);
	end_uncounted(uncounted);
	if (!beside)
		row_index_make(def);
	distribute(row->index_table, column,
			   beside ? psprintf("colocate_with => %s", quote_literal_cstr(held_name(row->fact_table))) :
			   psprintf("colocate_with => 'none', shard_count => %d", nshards > 0 ? nshards : table.nshards));

	record_code_dependencies(row->index_table, definition_expressions(def));
	row->state = beside ? STATE_ACTIVE : STATE_BUILDING;
	catalog_insert(row, fact);
	usage_from_now(row->index_table);
	table_close(fact, NoLock);
	if (!catalog_has_fact(row->fact_table))
	{
		FactTableRow new = {.fact_table = row->fact_table};

		catalog_write_fact(&new);
	}
	queues_create(def->fact, false);
	number = beside ? 0 : new_command_number();
	install_guard_with(row->index_table, number);
	triggers_install(row->fact_table);
	fill_on_all_nodes(row->fact_table, row->index_table, number);
	CacheInvalidateRelcacheByRelid(row->fact_table);
}

/*
 * is_narrow
 *		Returns whether no entry can be too wide for an index with all included fields.  Elsewhere the primary key
 *		would be made anew without these, but Citus makes that of a shard which it moves as the whole table has it.
 */
static bool
is_narrow(IndexDef *def)
{
	for (int i = 0; i < def->layout.desc->natts; i++)
		if (!TupleDescAttr(def->layout.desc, i)->attisdropped && TupleDescAttr(def->layout.desc, i)->attlen < 0)
			return false;
	return true;
}

/*
 * fill_on_all_nodes
 *		Has all nodes fill the new index table beside their shards of the fact table, or, unless number is 0, queue
 *		the keys of all rows with it; in this transaction, over the connections that have made the shards.
 *
 * That is a query of the queue, whose shards are where those of the fact table are.  No query may name the fact
 * table: this is the owner of the extension, and to plan one evaluates what the table's owner has put into indexes
 * and statistics, or a view that he has put in the place of a shard.
 */
static void
fill_on_all_nodes(Oid fact, Oid index_table, int64 number)
{
	int			nestlevel = begin_citus_settings();
	FactTableRow row;

	if (!catalog_read_fact(fact, &row) || !OidIsValid(row.queue))
		elog(ERROR, "table \"%s\" has no queue", get_rel_name(fact));
	use_one_connection();
	run_command(get_extension_owner(),
				psprintf("SELECT pg_catalog.count(*) FROM %s WHERE " IT_INTERNAL ".fill_shards(%s::pg_catalog.regclass, " INT64_FORMAT ")",
						 quoted_relation(row.queue), quote_literal_cstr(held_name(index_table)), number));
	AtEOXact_GUC(false, nestlevel);
}

/*
 * indextable_fill_shards
 *		fill_shards(index_table regclass, number bigint): does so for the shards that this node has, and returns
 *		false.
 *
 * It is declared to be stable, so that the query of a shard of which it is the condition calls it, without reading
 * rows.  Of these queries the first one does it for all shards of the node.
 */
Datum
indextable_fill_shards(PG_FUNCTION_ARGS)
{
	static LocalTransactionId filled_in = InvalidLocalTransactionId;
	static Oid	filled = InvalidOid;
	Oid			index_table = PG_GETARG_OID(0);
	int64		number = PG_GETARG_INT64(1);
	FactTableRow row;

	require_citus("fill_shards");
	if (filled_in == current_lxid() && filled == index_table)
		PG_RETURN_BOOL(false);
	adopt_distributed();
	if (!catalog_read_fact(catalog_fact_of(index_table), &row))
		report_not_index_table(index_table);
	foreach_ptr(ShardPair, pair, citus_local_shards(row.fact_table, number == 0 ? index_table : row.queue))
	{
		citus_require_pair(pair, row.fact_table);
		if (number == 0)
			fill_pair(pair);
		else
		{
			Relation	shard = table_open(pair->fact, AccessShareLock);

			queue_all_rows(shard, pair->fact, pair->queue, number);
			table_close(shard, NoLock);
		}
	}
	filled_in = current_lxid();
	filled = index_table;
	PG_RETURN_BOOL(false);
}

/* distribute: has Citus distribute an index table, which is empty, by a column */
static void
distribute(Oid index_table, const char *column, const char *with)
{
	char	   *name = quote_literal_cstr(held_name(index_table));

	run_with_citus_settings(psprintf("SELECT pg_catalog.create_distributed_table(%s, %s, %s)", name,
									 quote_literal_cstr(column), with));
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
