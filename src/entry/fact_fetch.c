/*-------------------------------------------------------------------------
 *
 * fact_fetch.c
 *	  Finds out which version of a fact row is live.
 *
 * Called by trigger.c and reconcile.c.  A row version may have been replaced by a statement
 * nested in another trigger before our trigger comes to it; only the live
 * version may add entries.  SnapshotSelf sees what is committed or our own at
 * this moment, whatever the isolation level.  It is safe here because the row's
 * writer holds its lock: nobody else changes what is live under this key.
 * The drain, who locks nothing, uses the snapshot it has read the queue with.  A row
 * on another server is read as that server shows it: see foreign.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/skey.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../definition/fact_partition.h"
#include "../definition/routing.h"
#include "../indextable.h"
#include "document.h"
#include "fact_fetch.h"
#include "foreign_fetch.h"
#include "foreign_rows.h"
#include "foreign_scan.h"

static void begin_leaf(LiveScan *scan, LeafScan *leaf, Oid pk_index);
static bool choose_leaf(LiveScan *scan, Datum *key);
static void fetch_foreign(LiveScan *scan, Datum *key);
static void keep_row(TupleTableSlot *row, void *arg);
static void end_leaf(LeafScan *leaf);

bool
row_is_live(Relation fact, TupleTableSlot *slot)
{
	return table_tuple_satisfies_snapshot(fact, slot, SnapshotSelf);
}

/* live_scan_begin: of the rows that the snapshot sees, by primary key */
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
	scan->lock = AccessShareLock;
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
		scan->current = &scan->only;
		scan->only.leaf = NULL;
		scan->only.rel = fact;
		begin_leaf(scan, &scan->only, def->pk_index);
	}
}

static void
begin_leaf(LiveScan *scan, LeafScan *leaf, Oid pk_index)
{
	leaf->rows = NIL;
	leaf->fetched = NULL;
	leaf->index = NULL;
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

/* choose_leaf: the partition that may have the row; false if there is none */
static bool
choose_leaf(LiveScan *scan, Datum *key)
{
	Oid			relid = route_key(scan->def, scan->fact, key);
	bool		found;

	/* A row that is kept pins its block. */
	if (scan->current != NULL)
		ExecClearTuple(scan->current->stored);
	scan->current = NULL;
	if (!OidIsValid(relid))
		return false;
	scan->current = hash_search(scan->leaves, &relid, HASH_FIND, NULL);
	if (scan->current == NULL)
	{
		/* Dropped, or detached, and not known here yet. */
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

/* live_scan_is_foreign: whether the row under a primary key is on another server, if it is at all */
bool
live_scan_is_foreign(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		result = scan->leaves != NULL && choose_leaf(scan, key) && scan->current->index == NULL;

	MemoryContextSwitchTo(old);
	return result;
}

/* live_scan_first: the row, or the first row, under a primary key; NULL if there is none */
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
		for (i = 0; i < scan->def->npk; i++)
			scan->keys[i].sk_argument = key[i];
		index_rescan(scan->current->scan, scan->keys, scan->def->npk, NULL, 0);
	}
	MemoryContextSwitchTo(old);
	return found ? live_scan_next(scan) : NULL;
}

/*
 * fetch_foreign
 *		A row on another server, in one round trip, as that server shows it.  What
 *		this transaction has written there it sees in the name of whoever wrote it.
 */
static void
fetch_foreign(LiveScan *scan, Datum *key)
{
	LeafScan   *leaf = scan->current;
	List	   *fetched;
	ListCell   *cell;
	RowRequest	request = {.def = scan->def,.rel = leaf->rel,.role = leaf->rel->rd_rel->relowner};

	if (scan->as_writer)
	{
		request.rel = scan->fact;
		request.role = InvalidOid;
		request.all = true;
	}
	request.columns = bms_union(scan->def->used, scan->def->queued);
	list_free_deep(leaf->rows);
	leaf->rows = NIL;
	if (leaf->fetched != NULL && foreign_fetch_find(leaf->fetched, key, &fetched))
		foreach(cell, fetched)
			leaf->rows = lappend(leaf->rows, heap_copy_minimal_tuple_compat(lfirst(cell)));
	else
		fetch_foreign_rows(&request, key, 1, keep_row, leaf);
}

/*
 * live_scan_prefetch_foreign
 *		Those rows of these keys that are on other servers, each server's partition
 *		asked once; in place of those fetched before.  They are as of this moment.
 */
void
live_scan_prefetch_foreign(LiveScan *scan, Datum **keys, int n)
{
	List	   *leaves = NIL;
	ListCell   *cell;
	HASH_SEQ_STATUS seq;
	LeafScan   *leaf;
	MemoryContext old;
	int			i;

	if (scan->leaves == NULL)
		return;
	hash_seq_init(&seq, scan->leaves);
	while ((leaf = hash_seq_search(&seq)) != NULL)
		leaf->fetched = NULL;
	if (scan->fetched_cxt == NULL)
		scan->fetched_cxt = AllocSetContextCreate(scan->cxt, "indextable rows fetched", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(scan->fetched_cxt);
	old = MemoryContextSwitchTo(scan->fetched_cxt);
	for (i = 0; i < n; i++)
	{
		if (!live_scan_is_foreign(scan, keys[i]))
			continue;
		leaf = scan->current;
		if (leaf->fetched == NULL)
		{
			RowRequest	request = {.def = scan->def,.rel = leaf->rel,.role = leaf->rel->rd_rel->relowner};

			request.columns = bms_union(scan->def->used, scan->def->queued);
			leaf->fetched = foreign_fetch_begin(&request);
			leaves = lappend(leaves, leaf);
		}
		foreign_fetch_add(leaf->fetched, keys[i], false);
	}
	foreach(cell, leaves)
		foreign_fetch_run(((LeafScan *) lfirst(cell))->fetched);
	MemoryContextSwitchTo(old);
}

static void
keep_row(TupleTableSlot *row, void *arg)
{
	LeafScan   *leaf = arg;

	leaf->rows = lappend(leaf->rows, ExecCopySlotMinimalTuple(row));
}

TupleTableSlot *
live_scan_next(LiveScan *scan)
{
	/* The scan keeps what it allocates now. */
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	LeafScan   *leaf = scan->current;
	bool		found;

	if (leaf->index != NULL)
		found = index_getnext_slot(leaf->scan, ForwardScanDirection, leaf->stored);
	else if ((found = leaf->rows != NIL))
	{
		ExecStoreMinimalTuple(linitial(leaf->rows), leaf->stored, true);
		leaf->rows = list_delete_first(leaf->rows);
	}
	MemoryContextSwitchTo(old);
	return found ? live_scan_row(scan) : NULL;
}

/* live_scan_row: what is stored in scan->current->stored, as the fact table has it */
TupleTableSlot *
live_scan_row(LiveScan *scan)
{
	LeafScan   *leaf = scan->current;

	return leaf->slot == leaf->stored ? leaf->stored :
		execute_attr_map_slot(leaf->leaf->map, leaf->stored, leaf->slot);
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

static void
end_leaf(LeafScan *leaf)
{
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
 * visit_live_rows
 *		Calls each with every live row that has the primary key of the given one;
 *		more than one only while a deferred primary key allows it.
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
		/* The entries point into the row, and outlive the scan. */
		TupleTableSlot *copy = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
		FactRow		live;

		ExecCopySlot(copy, slot);
		factrow_init(&live, def, copy);
		each(&live, arg);
	}
	live_scan_end(&scan);
}

/*
 * row_comparison
 *		A search key for the entries of an index that come after the bounds, in the
 *		order of the index, or whatever the strategy says.  It points into itself.
 *		With one column it is an ordinary search key: a row comparison has two
 *		members or more.
 */
void
row_comparison(RowComparison *key, Relation index, int n, StrategyNumber strategy, Datum *bounds)
{
	int			i;

	memset(&key->header, 0, sizeof(ScanKeyData));
	for (i = 0; i < n; i++)
	{
		/*
		 * What comes after a bound in a descending column is less, and the
		 * btree takes it like that.
		 */
		StrategyNumber member = (index->rd_indoption[i] & INDOPTION_DESC) == 0 ? strategy :
			BTCommuteStrategyNumber(strategy);

		if (n == 1)
		{
			Oid			type = index->rd_opcintype[i];
			Oid			operator = get_opfamily_member(index->rd_opfamily[i], type, type, member);

			ScanKeyEntryInitialize(&key->header, 0, i + 1, member, InvalidOid, index->rd_indcollation[i],
								   get_opcode(operator), bounds[i]);
			return;
		}
		ScanKeyEntryInitializeWithInfo(&key->members[i], SK_ROW_MEMBER | (i == n - 1 ? SK_ROW_END : 0),
									   i + 1, member, InvalidOid, index->rd_indcollation[i],
									   index_getprocinfo(index, i + 1, BTORDER_PROC), bounds[i]);
	}
	key->header.sk_flags = SK_ROW_HEADER;
	key->header.sk_attno = 1;
	key->header.sk_strategy = key->members[0].sk_strategy;
	key->header.sk_argument = PointerGetDatum(key->members);
}
