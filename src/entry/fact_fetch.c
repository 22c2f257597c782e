/*-------------------------------------------------------------------------
 *
 * fact_fetch.c
 *	  Finds the live version of a fact row by its primary key.
 *
 * A statement nested in another trigger may have replaced a version of a row before
 * our trigger comes to it, and only the live version may add entries.  The triggers
 * ask with SnapshotSelf, which shows what is committed or our own at this moment,
 * whatever the isolation level.  That is safe because this transaction has the row
 * locked: no other transaction changes what is live under its primary key.  (A
 * deferrable primary key is another matter: see shared_keys.c.)  The drain locks no
 * rows, and uses the snapshot that it has read the queue with.  A row on another
 * server is read as that server shows it: see foreign_scan.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../definition/fact_partition.h"
#include "../definition/routing.h"
#include "../indextable.h"
#include "document.h"
#include "fact_fetch.h"
#include "foreign_batch.h"
#include "foreign_by_key.h"
#include "foreign_scan.h"
#include "key_walk.h"

static void begin_leaf(LiveScan *scan, LeafScan *leaf, Oid pk_index);
static bool choose_leaf(LiveScan *scan, Datum *key);
static void fetch_foreign(LiveScan *scan, Datum *key);
static void keep_row(TupleTableSlot *row, void *arg);
static void end_leaf(LeafScan *leaf);

/* row_is_live: returns whether the version of a row in slot is the live one */
bool
row_is_live(Relation fact, TupleTableSlot *slot)
{
	return table_tuple_satisfies_snapshot(fact, slot, SnapshotSelf);
}

/* live_scan_begin: prepares to search by primary key for rows of fact that the snapshot sees */
void
live_scan_begin(LiveScan *scan, FactDef *def, Relation fact, Snapshot snapshot)
{
	scan->def = def;
	scan->fact = fact;
	scan->snapshot = snapshot;
	scan->cxt = CurrentMemoryContext;
	scan->leaves = NULL;
	scan->current = NULL;
	scan->as_writer = false;
	scan->in_order = false;
	scan->lock = AccessShareLock;
	scan->fetched = NULL;
	scan->fetched_cxt = NULL;
	scan->keys = palloc(sizeof(ScanKeyData) * def->npk);
	memcpy(scan->keys, def->pk_keys, sizeof(ScanKeyData) * def->npk);
	if (def->partitioned)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(LeafScan);
		ctl.hcxt = CurrentMemoryContext;
		scan->leaves = hash_create("partitions read", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	else
	{
		/* If Citus distributes the fact table, this is one of its shards. */
		scan->current = &scan->only;
		scan->only.leaf = leaf_of(def, fact);
		scan->only.rel = fact;
		begin_leaf(scan, &scan->only, scan->only.leaf != NULL ? scan->only.leaf->pk_index : def->pk_index);
	}
}

/* live_scan_is_foreign: returns whether a row with this primary key would be on another server */
bool
live_scan_is_foreign(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		result = scan->leaves != NULL && choose_leaf(scan, key) && scan->current->index == NULL;

	MemoryContextSwitchTo(old);
	return result;
}

/* live_scan_first: returns the first row, usually the only one, with this primary key, or NULL if there is none */
TupleTableSlot *
live_scan_first(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		found = scan->leaves == NULL || choose_leaf(scan, key);
	int			i;

	if (found && scan->current->index == NULL)
		fetch_foreign(scan, key);
	else if (found)
	{
		LeafScan   *leaf = scan->current;

		if (scan->in_order && leaf->walk == NULL)
			leaf->walk = key_walk_begin(leaf->rel, leaf->index, scan->snapshot, scan->def->npk);
		leaf->walking = scan->in_order && key_walk_to(leaf->walk, key);
		for (i = 0; i < scan->def->npk && !leaf->walking; i++)
			scan->keys[i].sk_argument = key[i];
		if (!leaf->walking)
			index_rescan(leaf->scan, scan->keys, scan->def->npk, NULL, 0);
	}
	MemoryContextSwitchTo(old);
	return found ? live_scan_next(scan) : NULL;
}

/* live_scan_next: returns the next row with the same primary key, or NULL if there is none */
TupleTableSlot *
live_scan_next(LiveScan *scan)
{
	/* What the scan allocates now, it keeps. */
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	LeafScan   *leaf = scan->current;
	bool		found;

	if (leaf->walking)
		found = key_walk_next(leaf->walk, leaf->stored);
	else if (leaf->index != NULL)
		found = index_getnext_slot(leaf->scan, ForwardScanDirection, leaf->stored);
	else if ((found = leaf->rows != NIL))
	{
		ExecStoreMinimalTuple(linitial(leaf->rows), leaf->stored, true);
		leaf->rows = list_delete_first(leaf->rows);
	}
	MemoryContextSwitchTo(old);
	return found ? live_scan_row(scan) : NULL;
}

/* live_scan_row: returns the row in scan->current->stored with the columns of the fact table */
TupleTableSlot *
live_scan_row(LiveScan *scan)
{
	LeafScan   *leaf = scan->current;

	return leaf->slot == leaf->stored ? leaf->stored :
		execute_attr_map_slot(leaf->leaf->map, leaf->stored, leaf->slot);
}

/*
 * live_scan_prefetch_foreign
 *		Fetches in advance the rows with these keys that are on other servers.
 *
 * All partitions are asked at once.  Rows that were fetched before are forgotten: all
 * are as the other servers show them at this moment.
 */
void
live_scan_prefetch_foreign(LiveScan *scan, Datum **keys, int n)
{
	RowRequest	request = {.def = scan->def,.relid = scan->def->relid,.as_owner = true};
	MemoryContext old;
	int			i;

	scan->fetched = NULL;
	if (scan->leaves == NULL)
		return;
	if (scan->fetched_cxt == NULL)
		scan->fetched_cxt = AllocSetContextCreate(scan->cxt, "indextable rows fetched", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(scan->fetched_cxt);
	old = MemoryContextSwitchTo(scan->fetched_cxt);
	for (i = 0; i < n; i++)
	{
		if (!live_scan_is_foreign(scan, keys[i]))
			continue;
		if (scan->fetched == NULL)
		{
			request.columns = bms_union(scan->def->used, scan->def->queued);
			scan->fetched = foreign_batch_begin(&request);
		}
		foreign_batch_add(scan->fetched, keys[i], RelationGetRelid(scan->current->rel));
	}
	if (scan->fetched != NULL)
		foreign_batch_run(scan->fetched);
	MemoryContextSwitchTo(old);
}

void
live_scan_end(LiveScan *scan)
{
	HASH_SEQ_STATUS seq;
	LeafScan   *leaf;

	if (scan->leaves == NULL)
	{
		end_leaf(&scan->only);
		return;
	}
	hash_seq_init(&seq, scan->leaves);
	while ((leaf = hash_seq_search(&seq)) != NULL)
	{
		end_leaf(leaf);
		relation_close(leaf->rel, NoLock);
	}
	hash_destroy(scan->leaves);
}

/*
 * visit_live_rows
 *		Calls each() with every live row that has the same primary key as the given one.
 *
 * There is at most one, unless a deferrable primary key has not been checked yet.
 */
void
visit_live_rows(FactDef *def, Relation fact, TupleTableSlot *row,
				void (*each) (FactRow *row, void *arg), void *arg)
{
	LiveScan	scan;
	TupleDesc	desc = CreateTupleDescCopy(def->partitioned ? def->desc : RelationGetDescr(fact));
	Datum		key[INDEX_MAX_KEYS];
	TupleTableSlot *slot;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
	}
	live_scan_begin(&scan, def, fact, SnapshotSelf);
	scan.as_writer = true;
	for (slot = live_scan_first(&scan, key); slot != NULL; slot = live_scan_next(&scan))
	{
		/* Entries that each() makes point into the row, and outlive the scan. */
		TupleTableSlot *copy = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
		FactRow		live;

		ExecCopySlot(copy, slot);
		factrow_init(&live, def, copy);
		each(&live, arg);
	}
	live_scan_end(&scan);
}

/* choose_leaf: sets scan->current to the partition that a key belongs to; returns false if there is none */
static bool
choose_leaf(LiveScan *scan, Datum *key)
{
	Oid			relid = route_key(scan->def, scan->fact, key);
	bool		found;

	/* As long as a slot has a row, the block of the row is pinned. */
	if (scan->current != NULL)
		ExecClearTuple(scan->current->stored);
	scan->current = NULL;
	if (!OidIsValid(relid))
		return false;
	scan->current = hash_search(scan->leaves, &relid, HASH_FIND, NULL);
	if (scan->current == NULL)
	{
		/*
		 * The partition may have been dropped or detached, which is not known
		 * here yet.
		 */
		Relation	rel = try_relation_open(relid, scan->lock);
		LeafScan   *leaf;

		if (rel == NULL)
			return false;
		leaf = hash_search(scan->leaves, &relid, HASH_ENTER, &found);
		leaf->rel = rel;
		leaf->leaf = leaf_of(scan->def, rel);
		begin_leaf(scan, leaf, leaf->leaf->pk_index);
		scan->current = leaf;
	}
	return true;
}

/* begin_leaf: prepares to search one table by its primary key */
static void
begin_leaf(LiveScan *scan, LeafScan *leaf, Oid pk_index)
{
	leaf->rows = NIL;
	leaf->index = NULL;
	leaf->walk = NULL;
	leaf->walking = false;
	if (leaf->leaf != NULL && leaf->leaf->is_foreign)
	{
		leaf->stored = leaf->slot = MakeSingleTupleTableSlot(scan->def->desc, &TTSOpsMinimalTuple);
		return;
	}
	leaf->index = index_open(pk_index, AccessShareLock);
	leaf->stored = leaf->slot = table_slot_create(leaf->rel, NULL);
	if (leaf->leaf != NULL && leaf->leaf->map != NULL)
		leaf->slot = MakeSingleTupleTableSlot(scan->def->desc, &TTSOpsVirtual);
	leaf->scan = index_beginscan_compat(leaf->rel, leaf->index, scan->snapshot, scan->def->npk);
}

static void
end_leaf(LeafScan *leaf)
{
	if (leaf->walk != NULL)
		key_walk_end(leaf->walk);
	if (leaf->index != NULL)
	{
		index_endscan(leaf->scan);
		index_close(leaf->index, NoLock);
	}
	if (leaf->slot != leaf->stored)
		ExecDropSingleTupleTableSlot(leaf->slot);
	ExecDropSingleTupleTableSlot(leaf->stored);
}

/*
 * fetch_foreign
 *		Fetches the rows with a primary key from another server, in one round trip.
 *
 * That server shows what this transaction has written there only if it is asked as
 * the user who has written it.
 */
static void
fetch_foreign(LiveScan *scan, Datum *key)
{
	LeafScan   *leaf = scan->current;
	List	   *fetched;
	ListCell   *cell;
	RowRequest	request = {.def = scan->def,.relid = scan->def->relid,.as_owner = !scan->as_writer};
	Oid			partition = RelationGetRelid(leaf->rel);

	request.columns = bms_union(scan->def->used, scan->def->queued);
	list_free_deep(leaf->rows);
	leaf->rows = NIL;
	if (scan->fetched != NULL && foreign_batch_find(scan->fetched, key, &fetched))
		foreach(cell, fetched)
			leaf->rows = lappend(leaf->rows, heap_copy_minimal_tuple_compat(lfirst(cell)));
	else
		foreign_by_key_fetch(&request, &partition, key, 1, keep_row, leaf);
}

/* keep_row: adds a row of another server to those of the key */
static void
keep_row(TupleTableSlot *row, void *arg)
{
	LeafScan   *leaf = arg;

	leaf->rows = lappend(leaf->rows, ExecCopySlotMinimalTuple(row));
}
