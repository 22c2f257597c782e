/*-------------------------------------------------------------------------
 *
 * shard_append.c
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
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../indextable.h"
#include "../util/citus_shards.h"
#include "../util/role.h"
#include "lost.h"
#include "shard_append.h"

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

/* shard_append: inserts rows into the queue of a shard, and into its index */
void
shard_append(Relation queue, HeapTuple *tuples, int n)
{
	CatalogIndexState indexes = CatalogOpenIndexes(queue);
	int			i;

	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		CatalogTupleInsertWithInfo(queue, tuples[i], indexes);
	}
	CatalogCloseIndexes(indexes);
}
