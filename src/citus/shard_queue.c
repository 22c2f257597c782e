/*-------------------------------------------------------------------------
 *
 * shard_queue.c
 *	  Appends to the queue of a shard, reads it, and holds keys there.
 *
 * The writers of a shard append to the shard of the queue that has the same bounds.  A row of it has a
 * number: see distributed_queue.c.  When a drain has applied a row as far as nodes can be reached, it holds
 * the row's key: it puts another row in the place of this one, with the same key and time, and the number that
 * held_number() makes of its own.  Nothing else says that a key is held, so that writers pay nothing for it.
 * As the primary key begins with the number, keys that are not held are found without reading the others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/indexing.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "citus.h"

static SysScanDesc begin_queue(FactDef *def, Relation rel, Snapshot snapshot, bool held);
static Oid	index_by_number(Relation rel, AttrNumber number);
static HeapTuple held_row(FactDef *def, Relation rel, HeapTuple row);

/*
 * The number of this node, shifted, and the sequence below it; as of the last
 * shard_find_queue().
 */
static int64 node_number = 0;
static Oid	sequence = InvalidOid;

/* shard_find_queue: sets in a shard of a fact table which shard of the queue has the same bounds */
void
shard_find_queue(FactDef *def, Leaf *shard)
{
	Oid			queue;

	if (!OidIsValid(def->queue.current))
		queue_lost_error(def);
	AS_OWNER(get_extension_owner());
	{
		queue = citus_colocated_shard(shard->relid, def->relid, def->queue.current);
		node_number = (int64) citus_local_group() << 48;
	}
	END_AS_OWNER();
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

/* new_command_number: returns the number under which a command queues many rows */
int64
new_command_number(void)
{
	return -nextval_internal(get_relname_relid("shard_queue_number", catalog_schema()), false);
}

/*
 * shard_append
 *		Inserts rows into the queue of a shard, and into its index; returns false if it does
 *		not exist any more.
 */
bool
shard_append(FactDef *def, Oid queue, HeapTuple *rows, int n)
{
	Relation	rel = try_relation_open(queue, RowExclusiveLock);
	CatalogIndexState indexes;
	bool		pushed;

	if (rel == NULL)
		return false;
	/* A long key goes to a TOAST table, if there is one, with a snapshot. */
	pushed = OidIsValid(rel->rd_rel->reltoastrelid) && push_missing_snapshot();
	indexes = CatalogOpenIndexes(rel);
	for (int i = 0; i < n; i++)
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

/* shards_with_queues: lists the shards that are on this node (ShardPair *) */
List *
shards_with_queues(FactDef *def)
{
	List	   *shards = citus_local_shards(def->relid, def->queue.current);
	AttrNumber	column = citus_distribution_column(def->queue.current);

	foreach_ptr(ShardPair, pair, shards)
		pair->column = column - QUEUE_KEY;
	return shards;
}

/* shard_queue_has_rows: returns whether the queue of a shard has rows, or any that are not held */
bool
shard_queue_has_rows(FactDef *def, Oid relid, bool held)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	SysScanDesc scan;
	Snapshot	snapshot;
	bool		found;

	if (rel == NULL)
		return false;
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = begin_queue(def, rel, snapshot, held);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	relation_close(rel, NoLock);
	return found;
}

/*
 * begin_queue
 *		Begins to read the queue of a shard: all rows, or those that are not held, which the primary key finds.  In
 *		queues of version 1.1 that begins with other columns.
 */
static SysScanDesc
begin_queue(FactDef *def, Relation rel, Snapshot snapshot, bool held)
{
	AttrNumber	number = QUEUE_KEY + def->layout.npk;
	Oid			index = held ? InvalidOid : index_by_number(rel, number);
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], number, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(-HELD_NUMBER));
	ScanKeyInit(&keys[1], number, BTLessStrategyNumber, F_INT8LT, Int64GetDatum(HELD_NUMBER));
	return systable_beginscan(rel, index, OidIsValid(index), snapshot, held ? 0 : 2, keys);
}

/* index_by_number: returns the primary key of a queue, or InvalidOid if the number is not first */
static Oid
index_by_number(Relation rel, AttrNumber number)
{
	Relation	index;
	Oid			relid;
	bool		fits;

	list_free(RelationGetIndexList(rel));
	relid = rel->rd_pkindex;
	index = OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
	if (index == NULL)
		return InvalidOid;
	fits = index->rd_index->indkey.values[0] == number;
	relation_close(index, NoLock);
	return fits ? relid : InvalidOid;
}

/*
 * read_shard_keys
 *		Reads keys that the snapshot sees from the queues of shards, up to the limit, and
 *		deletes them; or, while keys are held, reads those that are not, and holds them.
 */
void
read_shard_keys(FactDef *def, List *shards, Snapshot snapshot, Keys *keys)
{
	bool		consume = !holding_keys || guard_is_left_out("the holding of keys");
	HeapTuple  *held = holding_keys ? palloc_extended(sizeof(HeapTuple) * keys->limit, MCXT_ALLOC_HUGE) : NULL;

	keys->values = palloc_extended(sizeof(Datum) * def->layout.npk * keys->limit, MCXT_ALLOC_HUGE);
	foreach_ptr(ShardPair, pair, shards)
	{
		Relation	rel = relation_open(pair->queue, RowExclusiveLock);
		SysScanDesc scan = begin_queue(def, rel, snapshot, !holding_keys);
		HeapTuple	row;
		Datum		values[INDEX_MAX_KEYS + 2];
		bool		isnull[INDEX_MAX_KEYS + 2];
		int			nheld = 0;

		while (keys->n < keys->limit && HeapTupleIsValid(row = systable_getnext(scan)))
		{
			CHECK_FOR_INTERRUPTS();
			heap_deform_tuple(row, RelationGetDescr(rel), values, isnull);
			copy_key(keys, values);
			simple_table_tuple_delete(rel, &row->t_self, snapshot);
			if (!consume)
				held[nheld++] = held_row(def, rel, row);
		}
		systable_endscan(scan);
		if (nheld > 0)
			(void) shard_append(def, pair->queue, held, nheld);
		relation_close(rel, NoLock);
	}
}

/* held_row: returns what a row of a queue becomes when it is held */
static HeapTuple
held_row(FactDef *def, Relation rel, HeapTuple row)
{
	AttrNumber	number = QUEUE_KEY + def->layout.npk;
	Datum		values[INDEX_MAX_KEYS + 2];
	bool		isnull[INDEX_MAX_KEYS + 2];

	heap_deform_tuple(row, RelationGetDescr(rel), values, isnull);
	values[number - 1] = Int64GetDatum(held_number(DatumGetInt64(values[number - 1])));
	return heap_form_tuple(RelationGetDescr(rel), values, isnull);
}

/*
 * shard_queues_wait
 *		Returns whether shards on this node have something queued that waits until a node can be reached,
 *		as of the last drain.
 */
bool
shard_queues_wait(Oid fact_table)
{
	Relation	fact = holding_keys ? try_relation_open(fact_table, AccessShareLock) : NULL;
	bool		result = false;

	if (fact == NULL)
		return false;
	AS_OWNER(get_extension_owner());
	{
		FactDef    *def = definition_of_fact(fact, fact_table);

		foreach_ptr(ShardPair, pair, OidIsValid(def->queue.current) ? shards_with_queues(def) : NIL)
			result |= shard_queue_has_rows(def, pair->queue, true);
	}
	END_AS_OWNER();
	relation_close(fact, NoLock);
	return result;
}
