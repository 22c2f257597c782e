/*-------------------------------------------------------------------------
 *
 * shard.c
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
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"

#include "../catalog/trigger_names.h"
#include "../definition/cache.h"
#include "../definition/fact_partition.h"
#include "../indextable.h"
#include "../queue/adopt_distributed.h"
#include "../queue/shard_append.h"
#include "../util/citus.h"
#include "shard.h"

/* The distributed table of a shard. */
typedef struct ShardTable
{
	Oid			relid;			/* hash key: the shard */
	Oid			table;
} ShardTable;

static HTAB *tables = NULL;		/* of ShardTable */

static Oid	table_of_shard(Oid shard);

/* is_shard_trigger: returns whether a trigger is one of ours on a distributed table or a shard */
bool
is_shard_trigger(Trigger *trigger)
{
	Size		i;

	for (i = 0; i < FACT_TRIGGERS; i++)
		if ((fact_triggers[i].on & ON_DISTRIBUTED) != 0 &&
			strncmp(trigger->tgname, fact_triggers[i].name, strlen(fact_triggers[i].name)) == 0)
			return true;
	return false;
}

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
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(ShardTable);
		tables = hash_create("indextable shards", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	last = hash_search(tables, &shard, HASH_FIND, NULL);
	if (last != NULL)
		return last->table;
	table = citus_table_of_shard(shard);
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
