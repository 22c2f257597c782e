/*-------------------------------------------------------------------------
 *
 * shard_queue.c
 *	  Appends to the queue of a shard: what append.c does otherwise for distributed tables.
 *
 * The writers of a shard append to the shard of the queue that has the same bounds.  Both are on
 * this node, so the change and its key are committed together by it, in one transaction or, if
 * Citus commits in two phases, in one prepared transaction.  The two are moved and split
 * together, too, by copying them or by logical replication, which reads what each transaction
 * has written to both.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/indexing.h"
#include "commands/sequence.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "../../catalog/owner.h"
#include "../../catalog/table_access.h"
#include "../../definition/resolve.h"
#include "../../indextable.h"
#include "../../queue/lost.h"
#include "../../util/citus.h"
#include "../../util/role.h"
#include "../../util/subxact.h"
#include "citus_place.h"

/* The number of this node, shifted, and the sequence below it; as of the last shard_find_queue(). */
static int64 node_number = 0;
static Oid	sequence = InvalidOid;

/* shard_find_queue: sets in a shard of a fact table which shard of the queue has the same bounds */
void
shard_find_queue(FactDef *def, Leaf *shard)
{
	Caller		caller;
	Oid			queue;

	if (!OidIsValid(def->queue))
		queue_lost_error(def);
	become_owner(&caller, get_extension_owner());
	queue = citus_colocated_shard(shard->relid, def->relid, def->queue);
	node_number = (int64) citus_local_group() << 48;
	become_caller(&caller);
	sequence = get_relname_relid("shard_queue_number", catalog_schema());
	if (!OidIsValid(queue))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard \"%s\" has no queue", get_rel_name(shard->relid)),
				 errdetail("The queue of table \"%s\" has no shard with the same bounds on this node.", def->name),
				 errhint("Drop the index tables of the table, and create them again.")));
	shard->queue = queue;
}

/* next_queue_number: returns a number for a row of a queue that no other row has, on any node */
int64
next_queue_number(void)
{
	return node_number + nextval_internal(sequence, false);
}

/* shard_append: inserts rows into the queue of a shard, and into its index; returns false if it does not exist any more */
bool
shard_append(FactDef *def, Oid queue, HeapTuple *rows, int n)
{
	Relation	rel = try_relation_open(queue, RowExclusiveLock);
	CatalogIndexState indexes;
	bool		pushed;
	int			i;

	if (rel == NULL)
		return false;
	/* A long key goes to a TOAST table, if there is one, with a snapshot. */
	pushed = OidIsValid(rel->rd_rel->reltoastrelid) && push_missing_snapshot();
	indexes = CatalogOpenIndexes(rel);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		CatalogTupleInsertWithInfo(rel, rows[i], indexes);
	}
	CatalogCloseIndexes(indexes);
	if (pushed)
		PopActiveSnapshot();
	relation_close(rel, NoLock);
	return true;
}

/*
 * shard_of_key
 *		Returns which of the shards has the row with a primary key, or NULL if none of them does.
 *		Citus distributes rows by the hash by which the type is hashed everywhere else.
 */
ShardPair *
shard_of_key(List *shards, FactDef *def, Datum *key)
{
	int			column = ((ShardPair *) linitial(shards))->column;
	Form_pg_attribute att = TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + column);
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_HASH_PROC_FINFO);
	int32		hash = DatumGetInt32(FunctionCall1Coll(&type->hash_proc_finfo, att->attcollation, key[column]));
	ListCell   *cell;

	foreach(cell, shards)
	{
		ShardPair  *pair = lfirst(cell);

		if (pair->min <= hash && hash <= pair->max)
			return pair;
	}
	return NULL;
}
