/*-------------------------------------------------------------------------
 *
 * prepared.c
 *	  Finds out which transactions are prepared on any node, and hold shards of index tables or of their
 *	  queue.
 *
 * Drains and wait() ask this all the time.  Citus' own functions that run something on all nodes open a
 * new connection to each for every call, which takes more than all else that they do.  So wait() asks each node
 * by a query of one shard of the queue that it has, which Citus sends over a connection that it
 * keeps.  That shard is found by a value of the column by which the queue is distributed: one whose hash is
 * within the bounds of the shard.
 *
 * Such a query locks the shard until the transaction ends.  Of wait() that is nothing new, as it reads the
 * queue.  A drain must not: it would be in a deadlock with drop(), or ALTER TABLE, which lock the shards of
 * one node after those of another.
 *
 * A transaction that is in doubt keeps the shards where they are that it has written to, or its changes
 * have gone with the old copy of the shard.  So those nodes are asked that have shards of the queue or the
 * index tables, as Citus' catalog says at this moment.  Where one of them has none of the queue, or its type
 * is not one of those whose values are made here, all nodes are asked over new connections.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/sql.h"
#include "citus.h"

PG_FUNCTION_INFO_V1(indextable_prepared_here);

/* For so long a drain waits for prepared transactions, in ms, and so often it looks. */
#define PREPARED_WAIT		1000
#define PREPARED_LOOK		5

/*
 * The number of bytes, at least, that the name of a shard has in common with that of its
 * table, from the first one on.
 */
#define SHARD_PREFIX		30

/* The number of values that are tried to find one of a shard; of 1000 shards about 1000 are. */
#define MAX_TRIES			20000

static char *gids_asked_for(bool all_nodes);
static List *prefixes_of(FactDef *def);
static char *of_drains(FactDef *def);
static char *query_of_prepared(const char *gids, List *prefixes);
static void add_names_condition(StringInfo query, List *prefixes);
static bool has_new_timeline(List *prefixes);
static bool ask_shards(FactDef *def, const char *question, List **found);
static void ask_all_nodes(const char *query, List **found);
static bool value_of_shard(Oid type, Oid collation, int32 min, int32 max, Datum *value);
static bool nth_value(Oid type, int n, Datum *value);
static void add_names(List **names, char *text);

/*
 * wait_for_prepared
 *		Waits until the transactions have ended that are prepared now on any node and hold locks on
 *		shards of the index tables or the queue: those that this node has prepared, or all nodes have.
 *		Raises an error if they do not end soon.
 */
void
wait_for_prepared(FactDef *def, bool all_nodes)
{
	List	   *before = prepared_transactions(def, all_nodes, false);

	for (int waited = 0; before != NIL; waited += PREPARED_LOOK)
	{
		if (waited >= PREPARED_WAIT)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("changes of table \"%s\" wait for prepared transaction \"%s\"", def->name, strVal(linitial(before))),
					 errdetail("Citus has prepared it on a node, and it holds shards of the index tables."),
					 errhint("Citus ends such transactions every citus.recover_2pc_interval, or when recover_prepared_transactions() is called on the node that has begun it.")));
		CHECK_FOR_INTERRUPTS();
		pg_usleep(PREPARED_LOOK * 1000);
		before = list_intersection(before, prepared_transactions(def, all_nodes, false));
	}
}

/*
 * prepared_transactions
 *		Lists the names of these transactions (String *); asks over connections that are kept if shards of
 *		the queue may be locked until the transaction ends.
 */
List *
prepared_transactions(FactDef *def, bool all_nodes, bool may_lock)
{
	char	   *gids = gids_asked_for(all_nodes);
	List	   *prefixes = prefixes_of(def);
	List	   *result = NIL;

	if (!may_lock || catalog_is_old())
		ask_all_nodes(psprintf("%s%s", query_of_prepared(gids, prefixes), may_lock ? "" : of_drains(def)), &result);
	else
	{
		char	   *question = psprintf(IT_INTERNAL ".prepared_here(%s, %s)", quote_literal_cstr(gids),
										array_literal(prefixes));

		if (!ask_shards(def, question, &result))
			ask_all_nodes(psprintf("SELECT %s", question), &result);
	}
	return result;
}

/* gids_asked_for: returns a regular expression of the names that Citus gives them */
static char *
gids_asked_for(bool all_nodes)
{
	return psprintf("^citus_%s_[0-9]+_[0-9]+_[0-9]+$", all_nodes ? "[0-9]+" : psprintf("%d", citus_local_group()));
}

/*
 * prefixes_of
 *		Lists what the names of shards of the queue and index tables begin with (char *), behind their owner and
 *		schema: any role may have a table of such a name, and prepare a transaction of such a name.
 */
static List *
prefixes_of(FactDef *def)
{
	List	   *result = NIL;

	for (int i = -1; i < def->ndefs; i++)
	{
		Oid			relid = i < 0 ? def->queue.current : def->defs[i]->relid;
		char	   *name = get_rel_name(relid);

		if (name == NULL)
			continue;
		result = lappend(result, psprintf("%s.%s.%s", quote_literal_cstr(GetUserNameFromId(table_owner(relid), false)),
										  quote_literal_cstr(get_namespace_name(get_rel_namespace(relid))),
										  pnstrdup(name, pg_mbcliplen(name, strlen(name), SHARD_PREFIX))));
	}
	return result;
}

/*
 * query_of_prepared
 *		Returns the query for the names of those transactions on one node.
 *
 * The server does not say which locks a prepared transaction holds.  They belong to no process, and
 * have the same virtual transaction as the lock on its own transaction number.
 */
static char *
query_of_prepared(const char *gids, List *prefixes)
{
	StringInfoData query;

	initStringInfo(&query);
	appendStringInfo(&query, "SELECT pg_catalog.string_agg(DISTINCT p.gid, ',') FROM pg_catalog.pg_prepared_xacts p"
					 " JOIN pg_catalog.pg_locks x ON x.locktype = 'transactionid' AND x.transactionid = p.transaction AND x.granted AND x.pid IS NULL"
					 " JOIN pg_catalog.pg_locks l ON l.virtualtransaction = x.virtualtransaction AND l.pid IS NULL AND l.locktype = 'relation'"
					 " JOIN pg_catalog.pg_class c ON c.oid = l.relation"
					 " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
					 " WHERE p.database = pg_catalog.current_database() AND p.gid ~ %s",
					 quote_literal_cstr(gids));
	add_names_condition(&query, prefixes);
	return query.data;
}

/* add_names_condition: adds a condition on the name of table c in schema n */
static void
add_names_condition(StringInfo query, List *prefixes)
{
	appendStringInfoString(query, " AND (false");
	foreach_ptr(char, prefix, prefixes)
		appendStringInfo(query, " OR pg_catalog.starts_with(pg_catalog.format('%%L.%%L.%%s',"
						 " pg_catalog.pg_get_userbyid(c.relowner), n.nspname, c.relname), %s)",
						 quote_literal_cstr(prefix));
	appendStringInfoChar(query, ')');
}

/*
 * of_drains
 *		Returns the condition that a transaction may be of a drain or of create().
 *
 * Any role may prepare one with such a name, which locks such a table, whatever its rights are: to analyze
 * a statement is enough.  It must not hold up drains.
 */
static char *
of_drains(FactDef *def)
{
	return psprintf(" AND p.owner IN (%s, %s)", quote_literal_cstr(GetUserNameFromId(def->owner, false)),
					quote_literal_cstr(GetUserNameFromId(get_extension_owner(), false)));
}

/*
 * committed_transactions
 *		Lists those of prepared transactions (String *) that are committed by the nodes that have begun them, by
 *		whose record Citus ends them; all, if a node does not answer.
 *
 * The others were not committed when they were found, or are not of Citus at all.
 */
List *
committed_transactions(List *names)
{
	List	   *texts = NIL;
	List	   *found = NIL;
	Rows		rows;

	foreach_node(String, name, names)
		texts = lappend(texts, strVal(name));
	rows = query_as(get_extension_owner(), "SELECT success, result FROM pg_catalog.run_command_on_all_nodes(%s)",
					quote_literal_cstr(psprintf("SELECT pg_catalog.string_agg(gid, ',') FROM pg_catalog.pg_dist_transaction"
												" WHERE gid = ANY (%s)", array_literal(texts))));
	for (uint64 i = 0; i < rows.n; i++)
	{
		if (!DatumGetBool(row_value(&rows, i, 1)))
			return names;
		add_names(&found, row_text(&rows, i, 2));
	}
	return list_intersection(names, found);
}

/*
 * has_new_timeline
 *		Returns whether this server has begun a new timeline since the entries of one of these index tables were
 *		right.
 */
static bool
has_new_timeline(List *prefixes)
{
	StringInfoData query;

	if (RecoveryInProgress())
		return false;

	/*
	 * There is nothing to be looked up but after a failover: wait() asks this
	 * each time.
	 */
	if (query_as(get_extension_owner(), "SELECT FROM %s WHERE timeline <> %d LIMIT 1", catalog_table("timeline"),
				 present_timeline()).n == 0)
		return false;
	initStringInfo(&query);
	appendStringInfo(&query, "SELECT FROM %s t JOIN pg_catalog.pg_class c ON c.oid = t.index_table::pg_catalog.oid"
					 " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE t.timeline <> %d",
					 catalog_table("timeline"), present_timeline());
	add_names_condition(&query, prefixes);
	return query_with(get_extension_owner(), query.data, 0, NULL, NULL).n > 0;
}

/*
 * indextable_prepared_here
 *		prepared_here(gids text, prefixes text[]): returns the names of these transactions on this node,
 *		with commas between them, or NULL; one of them is NEW_TIMELINE if entries may have been lost.
 */
Datum
indextable_prepared_here(PG_FUNCTION_ARGS)
{
	Datum	   *values;
	int			n;
	List	   *prefixes = NIL;
	char	   *gids = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Rows		rows;
	char	   *result = NULL;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &values, NULL, &n);
	for (int i = 0; i < n; i++)
		prefixes = lappend(prefixes, TextDatumGetCString(values[i]));
	if (query_as(InvalidOid, "SELECT FROM pg_catalog.pg_prepared_xacts LIMIT 1").n > 0)
	{
		rows = query_with(InvalidOid, query_of_prepared(gids, prefixes), 0, NULL, NULL);
		result = row_text(&rows, 0, 1);
	}
	if (has_new_timeline(prefixes))
		result = result == NULL ? NEW_TIMELINE : psprintf("%s," NEW_TIMELINE, result);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/*
 * ask_shards
 *		Adds the transactions of all nodes that have shards, each of which is asked over the connection that
 *		Citus keeps; returns false if that cannot be done.
 */
static bool
ask_shards(FactDef *def, const char *question, List **found)
{
	StringInfoData tables;
	char	   *column = NULL;
	AttrNumber	attno;
	Oid			type;
	int32		typmod;
	Oid			collation;
	Rows		nodes;

	initStringInfo(&tables);
	for (int i = 0; i < def->ndefs; i++)
		appendStringInfo(&tables, ", '%u'", def->defs[i]->relid);
	nodes = query_as(InvalidOid, "SELECT DISTINCT ON (p.groupid) p.groupid = g.groupid, s.logicalrelid = t.logicalrelid,"
					 " pg_catalog.column_to_column_name(t.logicalrelid, t.partkey),"
					 " s.shardminvalue::pg_catalog.int4, s.shardmaxvalue::pg_catalog.int4"
					 " FROM pg_catalog.pg_dist_partition t, pg_catalog.pg_dist_local_group g,"
					 "  pg_catalog.pg_dist_placement p JOIN pg_catalog.pg_dist_shard s USING (shardid)"
					 " WHERE t.logicalrelid = '%u' AND s.logicalrelid IN (t.logicalrelid%s)"
					 " ORDER BY p.groupid, s.logicalrelid <> t.logicalrelid, s.shardid",
					 def->queue.current, tables.data);
	for (uint64 i = 0; i < nodes.n; i++)
	{
		Datum		value;
		Rows		answer;

		if (DatumGetBool(row_value(&nodes, i, 1)))
			answer = query_as(InvalidOid, "SELECT %s", question);
		else
		{
			column = row_text(&nodes, i, 3);
			attno = DatumGetBool(row_value(&nodes, i, 2)) ? get_attnum(def->queue.current, column) : 0;
			if (attno == 0)
				return false;
			get_atttypetypmodcoll(def->queue.current, attno, &type, &typmod, &collation);
			type = getBaseType(type);
			if (!value_of_shard(type, collation, DatumGetInt32(row_value(&nodes, i, 4)),
								DatumGetInt32(row_value(&nodes, i, 5)), &value))
				return false;
			/* An aggregate makes it one row, and so the shard needs none. */
			answer = query_with(InvalidOid, psprintf("SELECT %s, pg_catalog.count(*) FROM %s WHERE %s = $1",
													 question, quoted_relation(def->queue.current),
													 quote_identifier(column)), 1, &type, &value);
		}
		if (answer.n != 1)
			elog(ERROR, "unexpected number of answers of a node");
		add_names(found, row_text(&answer, 0, 1));
	}
	return nodes.n > 0;
}

/* ask_all_nodes: adds the transactions of all nodes, which are asked over new connections */
static void
ask_all_nodes(const char *query, List **found)
{
	Rows		rows = query_as(InvalidOid, "SELECT success, result FROM pg_catalog.run_command_on_all_nodes(%s)",
								quote_literal_cstr(query));

	*found = NIL;
	for (uint64 row = 0; row < rows.n; row++)
	{
		char	   *text = row_text(&rows, row, 2);

		if (!DatumGetBool(row_value(&rows, row, 1)))
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("could not ask all nodes for prepared transactions"),
					 text !=NULL ? errdetail("%s", text) : 0));
		add_names(found, text);
	}
}

/* add_names: adds names with commas between them to a list (String *); text may be NULL */
static void
add_names(List **names, char *text)
{
	char	   *rest;

	if (text == NULL)
		return;
	for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
		*names = lappend(*names, makeString(name));
}

/*
 * value_of_shard
 *		Sets *value to one of a base type that Citus looks for in the shard with these bounds; returns false if
 *		none is found.
 */
static bool
value_of_shard(Oid type, Oid collation, int32 min, int32 max, Datum *value)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);

	for (int n = 0; n < MAX_TRIES && nth_value(type, n, value); n++)
	{
		int32		hash = DatumGetInt32(FunctionCall1Coll(&entry->hash_proc_finfo, collation, *value));

		if (min <= hash && hash <= max)
			return true;
	}
	return false;
}

/* nth_value: sets *value to one of many values of a type; returns false if it cannot */
static bool
nth_value(Oid type, int n, Datum *value)
{
	switch (type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) n);
			return true;
		case INT4OID:
			*value = Int32GetDatum(n);
			return true;
		case INT8OID:
			*value = Int64GetDatum(n);
			return true;
		case NUMERICOID:
			*value = NumericGetDatum(int64_to_numeric(n));
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			*value = CStringGetTextDatum(psprintf("%d", n));
			return true;
		case DATEOID:
			*value = DateADTGetDatum(n);
			return true;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*value = TimestampTzGetDatum((TimestampTz) n);
			return true;
		case UUIDOID:
			{
				pg_uuid_t  *uuid = palloc0(sizeof(pg_uuid_t));

				memcpy(uuid->data, &n, sizeof(n));
				*value = UUIDPGetDatum(uuid);
				return true;
			}
		default:
			return false;
	}
}
