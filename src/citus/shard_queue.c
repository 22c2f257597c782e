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
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "citus.h"

static SysScanDesc begin_queue(FactDef *def, Relation rel, Snapshot snapshot, bool held);
static Oid	index_by_number(Relation rel, AttrNumber number);
static void require_key_of_queue(Relation shard, Relation key, Relation queue);
static void queue_rows_of_leaf(Oid leaf, Relation key, Relation queue, int64 number, Snapshot snapshot);
static HeapTuple queue_row(TupleTableSlot *row, AttrNumber *columns, Relation queue, int64 number);
static HeapTuple held_row(FactDef *def, Relation rel, HeapTuple row);

/* The number of rows that are queued at a time. */
#define ROWS_AT_ONCE		100

/*
 * The number of this node, shifted, and the sequence below it; as of the last
 * queue_of_shard().
 */
static int64 node_number = 0;
static Oid	sequence = InvalidOid;

/*
 * shard_find_queue
 *		Sets in a shard of a fact table, or a partition of it, which shard of the queue has the same bounds.
 */
void
shard_find_queue(FactDef *def, Leaf *shard)
{
	if (!OidIsValid(def->queue.current))
		queue_lost_error(def);
	shard->queue = queue_of_shard(root_of_shard(shard->relid), def->relid, def->queue.current);
}

/*
 * queue_of_shard
 *		Returns which shard of the queue has the same bounds as a shard of a fact table.
 */
Oid
queue_of_shard(Oid shard, Oid fact, Oid queue)
{
	Oid			result;

	AS_OWNER(get_extension_owner());
	{
		result = citus_colocated_shard(shard, fact, queue);
		node_number = (int64) citus_local_group() << 48;
	}
	END_AS_OWNER();
	sequence = get_relname_relid("shard_queue_number", catalog_schema());
	if (!OidIsValid(result))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard \"%s\" has no queue", get_rel_name(shard)),
				 errdetail("The queue of table \"%s\" has no shard with the same bounds on this node.", get_rel_name(fact)),
				 errhint("Drop the index tables of the table, and create them again.")));
	return result;
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
	/* By this lock wait() knows a writer that is in doubt: see prepared.c. */
	if (indexes->ri_NumIndices > 0)
		LockRelationOid(RelationGetRelid(indexes->ri_IndexRelationDescs[0]), RowExclusiveLock);
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

/*
 * queue_all_rows
 *		Queues the keys of all rows of a shard of a fact table, or of one of its partitions, relid, under one
 *		number, or, if that is 0, each under a number of its own.
 *
 * No table but shards is looked at: another session of the same transaction of Citus may have locked the fact
 * table.  Rows are read as fill_index_table() reads them.
 */
void
queue_all_rows(Relation shard, Oid relid, Oid queue, int64 number)
{
	Relation	rel = relation_open(queue, AccessShareLock);
	Relation	key = open_primary_key(shard);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	if (key == NULL)
		report_no_primary_key(RelationGetRelid(shard));
	require_key_of_queue(shard, key, rel);
	foreach_oid(leaf, lock_leaves(relid, NULL))
		queue_rows_of_leaf(leaf, key, rel, number, snapshot);
	UnregisterSnapshot(snapshot);
	relation_close(key, AccessShareLock);
	relation_close(rel, NoLock);
}

/*
 * require_key_of_queue
 *		Raises an error unless the primary key of a shard has the columns of the queue: the owner of the fact table
 *		may have put another table in the place of the shard.
 */
static void
require_key_of_queue(Relation shard, Relation key, Relation queue)
{
	int			nkeys = key->rd_index->indnkeyatts;
	bool		same = RelationGetDescr(queue)->natts == QUEUE_KEY + nkeys;

	for (int i = 0; same && i < nkeys; i++)
		same = TupleDescAttr(RelationGetDescr(shard), key->rd_index->indkey.values[i] - 1)->atttypid ==
			TupleDescAttr(RelationGetDescr(queue), QUEUE_KEY - 1 + i)->atttypid;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("shard \"%s\" has another primary key than its table", RelationGetRelationName(shard))));
}

/* queue_rows_of_leaf: queues the keys of all rows of a table, given the shard's primary key */
static void
queue_rows_of_leaf(Oid leaf, Relation key, Relation queue, int64 number, Snapshot snapshot)
{
	Relation	rel = relation_open(leaf, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan_compat(rel, snapshot);
	AttrNumber	columns[INDEX_MAX_KEYS];
	HeapTuple	rows[ROWS_AT_ONCE];
	int			n = 0;
	bool		more;

	for (int i = 0; i < key->rd_index->indnkeyatts; i++)
		columns[i] = get_attnum(leaf, get_attname(key->rd_index->indrelid, key->rd_index->indkey.values[i],
												  false));
	do
	{
		CHECK_FOR_INTERRUPTS();
		more = table_scan_getnextslot(scan, ForwardScanDirection, slot);
		if (more)
			rows[n++] = queue_row(slot, columns, queue, number != 0 ? number : next_queue_number());
		if (n > 0 && (!more || n == ROWS_AT_ONCE))
		{
			(void) shard_append(NULL, RelationGetRelid(queue), rows, n);
			while (n > 0)
				heap_freetuple(rows[--n]);
		}
	} while (more);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	relation_close(rel, NoLock);
}

/* queue_row: returns a row of a queue, about one of a table that has the key in these columns */
static HeapTuple
queue_row(TupleTableSlot *row, AttrNumber *columns, Relation queue, int64 number)
{
	int			nkeys = RelationGetDescr(queue)->natts - QUEUE_KEY;
	Datum		values[INDEX_MAX_KEYS + 2];
	bool		isnull[INDEX_MAX_KEYS + 2] = {0};

	values[QUEUE_AT - 1] = TimestampTzGetDatum(GetCurrentStatementStartTimestamp());
	for (int i = 0; i < nkeys; i++)
		values[QUEUE_KEY - 1 + i] = slot_getattr(row, columns[i], &isnull[QUEUE_KEY - 1 + i]);
	values[QUEUE_KEY - 1 + nkeys] = Int64GetDatum(number);
	return heap_form_tuple(RelationGetDescr(queue), values, isnull);
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
