/*-------------------------------------------------------------------------
 *
 * down_nodes.c
 *	  Knows which nodes cannot be reached, so that drains go on without them.
 *
 * Nobody asks nodes for that while all is well.  A drain that fails because of a connection, or of time,
 * has the next one look: it tries to connect to each node.  Those that do not answer are left out from then
 * on by all processes, as that is kept in shared memory with other trouble of workers (queue/trouble.c).
 * They are tried again after a while, which grows, and is at least ten times as long as the attempt has taken:
 * a node may be gone without anything that refuses connections.
 *
 * To leave a node out is always right, whether it is down or not: see 7 in shard_drain.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/sql.h"
#include "citus.h"

/*
 * A node has to answer within this time, and is tried again after that time at most if it refuses at once,
 * both in ms.
 */
#define PATIENCE			2000
#define MAX_PAUSE			5000

/* A node has no more than a tenth of the time that drains have. */
#define SHARE				10

List	   *nodes_left_out = NIL;
bool		holding_keys = false;

static bool look = false;		/* at all nodes, before the next drain */

static Work work_of_group(int group);
static bool is_down(int group, Trouble *trouble);
static void try_node(int group, char *name, int port);
static bool connects(char *name, int port);

/* suspect_nodes: has the next drain look whether all nodes can be reached */
void
suspect_nodes(void)
{
	look = true;
}

/* suspect_nodes_after: does so after an error that may be about a connection, or has ended one */
void
suspect_nodes_after(ErrorData *error)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_CONNECTION_EXCEPTION:
		case ERRCODE_INTERNAL_ERROR:
		case ERRCODE_OPERATOR_INTERVENTION:
			look = true;
	}
}

/* work_of_group: returns under what the trouble with a node is kept; -1: with any */
static Work
work_of_group(int group)
{
	return (Work)
	{
		MyDatabaseId, (Oid) (group + 1), InvalidOid, WORK_NODE
	};
}

/* is_down: sets *trouble to what is known of a node, -1 for any; returns false if it is up */
static bool
is_down(int group, Trouble *trouble)
{
	Work		work = work_of_group(group);

	return trouble_of(&work, trouble);
}

/*
 * nodes_down
 *		Lists the nodes that cannot be reached, by the numbers of their groups, after it has tried to reach
 *		those whose turn it is.  Sets *again to the time after which the next of them is tried, in ms.
 */
List *
nodes_down(int *again)
{
	Work		any = work_of_group(-1);
	List	   *result = NIL;
	Trouble		trouble;
	Rows		rows;

	*again = 0;
	if (!look && !is_down(-1, &trouble))
		return NIL;
	rows = query_kept("SELECT n.groupid::pg_catalog.int4, n.nodename::pg_catalog.text, n.nodeport::pg_catalog.int4"
					  " FROM pg_catalog.pg_dist_node n, pg_catalog.pg_dist_local_group g"
					  " WHERE n.noderole = 'primary' AND n.groupid <> g.groupid ORDER BY n.groupid", 0, NULL, NULL);
	for (uint64 i = 0; i < rows.n; i++)
	{
		int			group = DatumGetInt32(row_value(&rows, i, 1));
		int64		pause;

		CHECK_FOR_INTERRUPTS();
		if (is_down(group, &trouble) ? GetCurrentTimestamp() >= trouble.next_try : look)
			try_node(group, row_text(&rows, i, 2), DatumGetInt32(row_value(&rows, i, 3)));
		if (!is_down(group, &trouble))
			continue;
		result = lappend_int(result, group);
		pause = Max(TimestampDifferenceMilliseconds(GetCurrentTimestamp(), trouble.next_try), 1);
		*again = *again == 0 ? pause : Min(*again, pause);
	}
	look = false;
	if (result == NIL)
		trouble_end(&any);
	else
		(void) trouble_note(&any, "", 0, MAX_PAUSE);
	return result;
}

/* try_node: tries to reach a node, and notes whether it could */
static void
try_node(int group, char *name, int port)
{
	Work		work = work_of_group(group);
	TimestampTz begun_at = GetCurrentTimestamp();
	Trouble		trouble;

	if (connects(name, port))
	{
		if (is_down(group, &trouble))
			ereport(LOG,
					(errmsg("node %s:%d can be reached again", name, port)));
		trouble_end(&work);
	}
	else if (trouble_note(&work, psprintf("changes wait for node %s:%d, which cannot be reached", name, port),
						  SHARE * TimestampDifferenceMilliseconds(begun_at, GetCurrentTimestamp()), MAX_PAUSE))
		ereport(LOG,
				(errmsg("node %s:%d cannot be reached: drains go on without it", name, port)));
}

/*
 * connects
 *		Returns whether a node answers, over a connection that Citus has or makes.  Citus would write a
 *		warning to the server's log each time that it does not.
 */
static bool
connects(char *name, int port)
{
	int			nestlevel = NewGUCNestLevel();
	Oid			types[2] = {TEXTOID, INT4OID};
	Datum		values[2] = {CStringGetTextDatum(name), Int32GetDatum(port)};
	bool		result = false;

	/* The result counts for all sessions, whatever this one has set. */
	set_config_option("citus.node_connection_timeout", CppAsString2(PATIENCE), PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	set_config_option("log_min_messages", "error", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	AS_OWNER(get_extension_owner());
	{
		Rows		rows = query_kept("SELECT pg_catalog.citus_check_connection_to_node($1, $2)", 2, types, values);

		result = rows.n == 1 && DatumGetBool(row_value(&rows, 0, 1));
	}
	END_AS_OWNER();
	AtEOXact_GUC(false, nestlevel);
	return result;
}

/*
 * trouble_with_nodes
 *		Sets *trouble to what is known of a node that has shards of a fact table's asynchronous index tables and
 *		cannot be reached; returns false if all can.
 */
bool
trouble_with_nodes(Oid fact_table, Trouble *trouble)
{
	List	   *tables = NIL;

	if (!is_down(-1, trouble))
		return false;
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact_table, InvalidOid))
	{
		if (is_async(row))
			tables = lappend_oid(tables, row->index_table);
	}
	foreach_int(group, groups_with_shards(tables))
	{
		if (is_down(group, trouble))
			return true;
	}
	return false;
}
