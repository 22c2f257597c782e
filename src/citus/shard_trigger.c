/*-------------------------------------------------------------------------
 *
 * shard_trigger.c
 *	  Finds the definition that a shard of a distributed table belongs to, puts the triggers there,
 *	  and refuses writes by hand to distributed index tables.
 *
 * The row trigger of a distributed table is on its shards, too, with its argument and with the
 * number of the shard in its name.  The definition is that of the distributed table, which is
 * an empty table of this node.  Its shards are leaves, as partitions are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "citus.h"

/* The distributed table of a shard. */
typedef struct ShardTable
{
	Oid			relid;			/* hash key: the shard */
	Oid			table;
} ShardTable;

static HTAB *tables = NULL;		/* of ShardTable */
static ShardTable *last = NULL; /* that was asked for */

static void forget_table(Oid relid);

static ChangeListener tables_listener = {.any_relation = forget_table};

/* Since 16 the rights that are to be checked are in a list of their own. */
#if PG_VERSION_NUM < 160000
typedef RangeTblEntry CheckedTable;
#define RIGHTS_PARAMETERS	List *checked, bool raise
#define RIGHTS_ARGUMENTS	checked, raise
#else
typedef RTEPermissionInfo CheckedTable;
#define RIGHTS_PARAMETERS	List *tables, List *checked, bool raise
#define RIGHTS_ARGUMENTS	tables, checked, raise
#endif

static Oid	table_of_shard(Oid shard);
static char *queue_name(Oid fact);
static bool check_writes(RIGHTS_PARAMETERS);
static void check_truncate(ObjectAccessType access, Oid class, Oid object, int part, void *arg);
static void refuse_by_hand(Oid relid, bool for_citus);

static ExecutorCheckPerms_hook_type previous_check = NULL;
static object_access_hook_type previous_access = NULL;

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
	Relation	root;

	if (!OidIsValid(relid))
		return NULL;
	def = fresh_definition_for_writer(relid);
	if (def == NULL || !def->registered)
	{
		root = relation_open(root_of_shard(RelationGetRelid(shard)), AccessShareLock);
		def = definition_for_writer_of_part(root, relid);
		if (!def->registered)
		{
			/*
			 * This node was added, and its worker has not looked yet. Several
			 * sessions of the same statement must not wait for each other.
			 */
			if (ConditionalLockRelationOid(catalog_relid("definition", false), ShareUpdateExclusiveLock))
				adopt_distributed();
			def = definition_for_writer_of_part(root, relid);
		}
		relation_close(root, NoLock);
	}
	if (!def->registered)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard \"%s\" has triggers of indextable but its table is not registered on this node",
						RelationGetRelationName(shard)),
				 errdetail("Its index tables would not be maintained."),
				 errhint("Try again: another session may be registering it.")));
	if (def->ndefs == 0)
		return def;
	leaf = leaf_of(def, shard);
	if (!OidIsValid(leaf->queue))
		shard_find_queue(def, leaf);
	return def;
}

/*
 * table_of_shard
 *		Returns the distributed table that a table is a shard of, or a partition of one; InvalidOid, if it is such
 *		a table itself, which has no rows.
 */
static Oid
table_of_shard(Oid shard)
{
	bool		found;
	Oid			table;

	if (last != NULL && last->relid == shard)
		return last->table;
	if (tables == NULL)
	{
		listen_to_changes(&tables_listener);
		tables = hash_by_oid("indextable shards", 64, sizeof(ShardTable), NULL);
	}
	last = hash_search(tables, &shard, HASH_FIND, NULL);
	if (last != NULL)
		return last->table;
	table = place_table_of_part(root_of_shard(shard));
	if (!OidIsValid(table) && citus_kind(shard) == CITUS_DISTRIBUTED)
		return InvalidOid;
	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has a trigger of a distributed table, but this node knows of no such shard", get_rel_name(shard)),
				 errdetail("The transaction by which Citus has moved or split the shard may not be complete on this node."),
				 errhint("Try again. Citus completes such transactions every citus.recover_2pc_interval.")));
	last = hash_search(tables, &shard, HASH_ENTER, &found);
	last->table = table;
	return table;
}

/*
 * forget_table
 *		Takes a table that has changed out of the cache, or all tables, if relid is InvalidOid: a shard remains one
 *		of the same table as long as it exists, but not a partition of the same shard.
 */
static void
forget_table(Oid relid)
{
	(void) hash_forget(tables, relid);
	last = NULL;
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
 * The guard of an index table is one for TRUNCATE only; writes are refused below.
 *-------------------------------------------------------------------------
 */

/*
 * distributed_install_fact
 *		Puts one trigger of fact tables on a distributed one, which has a queue.
 */
void
distributed_install_fact(Oid fact, const char *trigger, const char *event, const char *level)
{
	run_with_citus_settings(
							psprintf("CREATE OR REPLACE TRIGGER %s %s ON %s FOR EACH %s EXECUTE FUNCTION " IT_INTERNAL
									 ".maintain(%s)",
									 trigger, event, held_name(fact), level,
									 quote_literal_cstr(queue_name(fact))));
}

/* distributed_remove_triggers: drops our triggers on a distributed fact table, on all nodes */
void
distributed_remove_triggers(Oid fact)
{
	int			nestlevel = begin_citus_settings();

	triggers_remove_from(fact);
	AtEOXact_GUC(false, nestlevel);
}

/*
 * distributed_install_guard
 *		Has a distributed index table refuse TRUNCATE, and carry its definition.
 */
void
distributed_install_guard(Oid index_table)
{
	install_guard_with(index_table, guard_number(index_table));
}

/*
 * install_guard_with
 *		Installs this guard; number is that of the queued rows by which the index table is
 *		built, or 0.
 */
void
install_guard_with(Oid index_table, int64 number)
{
	Rows		rows =
		query_as(get_extension_owner(),
				 "SELECT (pg_catalog.to_jsonb(d) - 'index_table' - 'fact_table' - 'fact_oid')::pg_catalog.text"
				 " FROM %s d WHERE d.index_table = '%u'::pg_catalog.regclass",
				 catalog_table("definition"), index_table);

	if (rows.n == 0)
		report_not_index_table(index_table);
	run_with_citus_settings(
							psprintf("CREATE OR REPLACE TRIGGER " GUARD " BEFORE TRUNCATE ON %s"
									 " FOR EACH STATEMENT EXECUTE FUNCTION " IT_INTERNAL ".guard(%s, '" INT64_FORMAT "', %s)",
									 held_name(index_table),
									 quote_literal_cstr(queue_name(catalog_fact_of(index_table))), number,
									 quote_literal_cstr(row_text(&rows, 0, 1))));
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

/*-------------------------------------------------------------------------
 * Refuses writes by hand to distributed index tables and their shards.
 *
 * Triggers cannot: Citus puts those for TRUNCATE, as the guard of an index table is one, on no
 * shard, and for a trigger for rows the writes of a drain look the same.  So it is done where the
 * server checks rights, before a statement is executed.
 *-------------------------------------------------------------------------
 */

/* shard_guard_init: has statements checked */
void
shard_guard_init(void)
{
	previous_check = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check_writes;
	previous_access = object_access_hook;
	object_access_hook = check_truncate;
}

/*
 * check_writes
 *		Refuses INSERT, UPDATE, DELETE and COPY of index tables, and notes those of other tables of Citus.
 *
 * A drain writes to shards on other nodes as the owner of the tables.  So the owner could pretend to be one, and
 * change an index table.
 */
static bool
check_writes(RIGHTS_PARAMETERS)
{
	foreach_ptr(CheckedTable, table, checked)
	{
		AclMode		writes = ACL_INSERT | ACL_DELETE;

		/*
		 * A session that only locks rows needs the right to update them, but
		 * no column.
		 */
		if (table->updatedCols != NULL)
			writes |= ACL_UPDATE;
		if (!OidIsValid(table->relid) || (table->requiredPerms & (writes | ACL_UPDATE)) == 0 ||
			!citus_is_taken(table->relid))
			continue;
		note_write();
		if ((table->requiredPerms & writes) != 0)
			refuse_by_hand(table->relid,
						   is_for_citus() && (superuser() || owns_relation(table->relid, GetUserId())));
	}
	return previous_check == NULL || previous_check(RIGHTS_ARGUMENTS);
}

/*
 * check_truncate
 *		Refuses TRUNCATE, before the table is locked.
 *
 * That of a fact table empties its index tables as their owner.  A role that is not the owner and has the
 * right to truncate one could pretend to come from another node, and empty a shard.
 */
static void
check_truncate(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (previous_access != NULL)
		previous_access(access, class, object, part, arg);
	if (access != OAT_TRUNCATE || class != RelationRelationId)
		return;
	if (citus_is_taken(object))
		note_write();
	queue_truncated(object);
	if (!OidIsValid(truncated_by_us))
		refuse_by_hand(object, is_for_citus() && (superuser() || owns_relation(object, GetUserId())));
}

/*
 * refuse_by_hand
 *		Raises an error if a table is an index table or a shard of one, unless this session writes it
 *		on behalf of a drain: its own, or, for_citus, that of another session for which Citus has
 *		connected to this node, as the superuser that drains run as.  Where triggers would not fire,
 *		writers know what they do.
 */
static void
refuse_by_hand(Oid relid, bool for_citus)
{
	if (writing_distributed || for_citus || SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
		return;
	if (is_guarded(relid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot change index table \"%s\"", get_rel_name(relid)),
				 errdetail("An index table is written only by the maintenance of its fact table."),
				 errhint("Change the fact table instead.")));
}
