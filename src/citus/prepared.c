/*-------------------------------------------------------------------------
 *
 * prepared.c
 *	  Finds out which transactions are prepared on any node, and hold shards of index tables or of their
 *	  queue.
 *
 * Drains and wait() ask this all the time.  wait() asks each node by a shard of the queue that it has
 * (ask_node.c), which is locked until the transaction ends.  That is nothing new, as it reads the queue.  A drain
 * must not: it would be in a deadlock with drop(), or ALTER TABLE, which lock the shards of one node after those
 * of another.  It asks by shards of the index tables, which it locks anyway, when it reads their entries: see
 * entries_here().
 *
 * A transaction that is in doubt keeps the shards where they are that it has written to, or its changes
 * have gone with the old copy of the shard.  So those nodes are asked that have shards of the queue or the
 * index tables, as Citus' catalog says at this moment.  Where one of them cannot be asked so, all nodes are
 * asked over new connections.
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
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/relation.h"
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

/* A shard since whose arrival no transaction of another node is in doubt. */
typedef struct MetShard
{
	Oid			relid;			/* hash key: the table, which a move makes
								 * anew */
	int64		number;
} MetShard;

static HTAB *met_shards = NULL; /* of MetShard */

/* Where transactions are looked for, again and again. */
typedef struct PreparedSearch
{
	FactDef    *def;			/* NULL: on this node only */
	const char *gids;
	List	   *prefixes;
} PreparedSearch;

static void wait_until_ended(PreparedSearch *search);
static List *look_for_prepared(PreparedSearch *search);
static char *names_here(const char *gids, List *prefixes, const char *condition);
static char *of_drains(Oid owner);
static char *of_drains_and_writers(void);
static char *query_of_prepared(const char *gids, List *prefixes);
static void add_names_condition(StringInfo query, List *prefixes);
static bool has_new_timeline(List *prefixes);
static bool ask_shards(FactDef *def, const char *gids, List *prefixes, List **found);
static void ask_all_nodes(const char *query, List **found);
static void add_names(List **names, char *text);

/*
 * gids_of_drains
 *		Returns what the names of the transactions are like that a drain of shards (ShardPair *) waits for: those
 *		that this node has prepared, or all nodes have if this process has not met all of these shards before.  One
 *		that holds keys does not wait for those of other nodes, one of which may be down: see 7 in shard_drain.c.
 */
const char *
gids_of_drains(List *shards)
{
	foreach_ptr(ShardPair, shard, shards)
	{
		MetShard   *met = met_shards == NULL ? NULL : hash_search(met_shards, &shard->fact, HASH_FIND, NULL);

		if (!holding_keys && (met == NULL || met->number != shard->fact_shard))
			return GIDS_OF_ALL_NODES;
	}
	return psprintf(GIDS_OF_NODE("%d"), citus_local_group());
}

/* note_met: notes that no transaction that could be of these shards was in doubt */
void
note_met(List *shards)
{
	if (met_shards == NULL)
		met_shards = hash_by_oid("indextable shards met", 64, sizeof(MetShard), NULL);
	foreach_ptr(ShardPair, shard, shards)
	{
		bool		found;
		MetShard   *met = hash_search(met_shards, &shard->fact, HASH_ENTER, &found);

		met->number = shard->fact_shard;
	}
}

/*
 * wait_for_prepared
 *		Waits until the transactions have ended whose names match gids, and that are prepared now on any node
 *		and hold locks on shards of the index tables or the queue.  Raises an error if they do not end soon.
 */
void
wait_for_prepared(FactDef *def, const char *gids)
{
	PreparedSearch search = {.def = def,.gids = gids};

	wait_until_ended(&search);
}

/* wait_for_prepared_here: does so on this node, for tables of such names of the current user */
void
wait_for_prepared_here(const char *gids, List *prefixes)
{
	PreparedSearch search = {.gids = gids,.prefixes = prefixes};

	wait_until_ended(&search);
}

/* wait_until_ended: waits until those transactions have ended that are found now */
static void
wait_until_ended(PreparedSearch *search)
{
	List	   *before = look_for_prepared(search);

	for (int waited = 0; before != NIL; waited += PREPARED_LOOK)
	{
		if (waited >= PREPARED_WAIT)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("changes wait for prepared transaction \"%s\"", strVal(linitial(before))),
					 errdetail("Citus has prepared it on a node, and it holds shards of the index tables."),
					 errhint("Citus ends such transactions every citus.recover_2pc_interval, or when recover_prepared_transactions() is called on the node that has begun it.")));
		CHECK_FOR_INTERRUPTS();
		pg_usleep(PREPARED_LOOK * 1000);
		before = list_intersection(before, look_for_prepared(search));
	}
}

/* look_for_prepared: lists the transactions that a search finds */
static List *
look_for_prepared(PreparedSearch *search)
{
	List	   *result = NIL;

	if (search->def != NULL)
		return prepared_transactions(search->def, search->gids, false);
	add_names(&result, names_here(search->gids, search->prefixes, of_drains(GetUserId())));
	return result;
}

/*
 * prepared_transactions
 *		Lists the names of these transactions (String *); asks over connections that are kept if shards of
 *		the queue may be locked until the transaction ends.
 */
List *
prepared_transactions(FactDef *def, const char *gids, bool may_lock)
{
	List	   *prefixes = prefixes_of_tables(def);
	List	   *result = NIL;

	if (!may_lock || catalog_is_old())
		ask_all_nodes(psprintf("%s%s", query_of_prepared(gids, prefixes),
							   may_lock ? of_drains_and_writers() : of_drains(def->owner)), &result);
	else if (!ask_shards(def, gids, prefixes, &result))
		ask_all_nodes(psprintf("SELECT " IT_INTERNAL ".prepared_here(%s, %s)", quote_literal_cstr(gids),
							   array_literal(prefixes)), &result);
	return result;
}

/*
 * prefixes_of_tables
 *		Lists what the names of shards of the queue and index tables begin with (char *), behind their owner and
 *		schema: any role may have a table of such a name, and prepare a transaction of such a name.
 */
List *
prefixes_of_tables(FactDef *def)
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

/* names_here: returns the names of those transactions here, with commas between them, or NULL */
static char *
names_here(const char *gids, List *prefixes, const char *condition)
{
	int			nestlevel;
	Rows		rows;

	/* Mostly there are none, and this is asked all the time. */
	if (query_kept("SELECT FROM pg_catalog.pg_prepared_xact() LIMIT 1", 0, NULL, NULL).n == 0)
		return NULL;
	/* Citus hides shards in pg_class from sessions of users. */
	nestlevel = NewGUCNestLevel();
	set_config_option("citus.override_table_visibility", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
					  false);
	rows = query_as(InvalidOid, "%s%s", query_of_prepared(gids, prefixes), condition);
	AtEOXact_GUC(false, nestlevel);
	return row_text(&rows, 0, 1);
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
of_drains(Oid owner)
{
	return psprintf(" AND p.owner IN (%s, %s)", quote_literal_cstr(GetUserNameFromId(owner, false)),
					quote_literal_cstr(GetUserNameFromId(get_extension_owner(), false)));
}

/*
 * of_drains_and_writers
 *		Returns the condition that a transaction may be of a drain, or has queued something: wait() is not to be
 *		held up by others either, which may also have the name of one that Citus has committed before.
 *
 * Writers may be of any role.  They have locked an index of the queue's shard (shard_append()) in a mode in which
 * nobody can who has no right on the table.
 */
static char *
of_drains_and_writers(void)
{
	return psprintf(" AND (p.owner IS NULL OR p.owner IN (pg_catalog.pg_get_userbyid(c.relowner), %s)"
					" OR (c.relkind = 'i' AND l.mode <> 'AccessShareLock'))",
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
	List	   *prefixes = texts_of_array(PG_GETARG_ARRAYTYPE_P(1));
	char	   *gids = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *result = names_here(gids, prefixes, of_drains_and_writers());

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
ask_shards(FactDef *def, const char *gids, List *prefixes, List **found)
{
	List	   *tables = list_make1_oid(def->queue.current);
	List	   *nodes;
	NodeCall	call = {.call = IT_INTERNAL ".prepared_here($1, $2)",.nargs = 2};

	for (int i = 0; i < def->ndefs; i++)
		tables = lappend_oid(tables, def->defs[i]->relid);
	nodes = nodes_with_shards(tables, def->queue.current);
	call.types[0] = TEXTOID;
	call.values[0] = CStringGetTextDatum(gids);
	call.types[1] = TEXTARRAYOID;
	call.values[1] = array_of_texts(prefixes);
	foreach_ptr(AskedNode, node, nodes)
	{
		bool		isnull;
		Datum		names = ask_node(node, &call, &isnull);

		add_names(found, isnull ? NULL : TextDatumGetCString(names));
	}
	return nodes != NIL;
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
