/*-------------------------------------------------------------------------
 *
 * liverow.c
 *	  Finds out which version of a fact row is live.
 *
 * Called by trigger.c and reconcile.c.  A row version may have been replaced by a statement
 * nested in another trigger before our trigger comes to it; only the live
 * version may add entries.  SnapshotSelf sees what is committed or our own at
 * this moment, whatever the isolation level.  It is safe here because the row's
 * writer holds its lock: nobody else changes what is live under this key.
 * The drain, who locks nothing, uses the snapshot it has read the queue with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "indextable.h"
#include "utils/snapmgr.h"

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
	scan->cxt = CurrentMemoryContext;
	scan->index = index_open(def->pk_index, AccessShareLock);
	scan->slot = table_slot_create(fact, NULL);
	scan->scan = index_beginscan_compat(fact, scan->index, snapshot, def->npk);
	scan->keys = palloc(sizeof(ScanKeyData) * def->npk);
	memcpy(scan->keys, def->pk_keys, sizeof(ScanKeyData) * def->npk);
}

/* live_scan_first: the row, or the first row, under a primary key; NULL if there is none */
TupleTableSlot *
live_scan_first(LiveScan *scan, Datum *key)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	int			i;

	for (i = 0; i < scan->def->npk; i++)
		scan->keys[i].sk_argument = key[i];
	index_rescan(scan->scan, scan->keys, scan->def->npk, NULL, 0);
	MemoryContextSwitchTo(old);
	return live_scan_next(scan);
}

TupleTableSlot *
live_scan_next(LiveScan *scan)
{
	/* The scan keeps what it allocates now. */
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	bool		found = index_getnext_slot(scan->scan, ForwardScanDirection, scan->slot);

	MemoryContextSwitchTo(old);
	return found ? scan->slot : NULL;
}

void
live_scan_end(LiveScan *scan)
{
	index_endscan(scan->scan);
	index_close(scan->index, NoLock);
	ExecDropSingleTupleTableSlot(scan->slot);
}

/*
 * live_rows
 *		Calls each with every live row that has the primary key of the given one;
 *		more than one only while a deferred primary key allows it.
 */
void
live_rows(FactDef *def, Relation fact, TupleTableSlot *row,
		  void (*each) (FactRow *row, void *arg), void *arg)
{
	LiveScan	scan;
	TupleDesc	desc = CreateTupleDescCopy(RelationGetDescr(fact));
	Datum		key[INDEX_MAX_KEYS];
	TupleTableSlot *slot;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
	}
	live_scan_begin(&scan, def, fact, SnapshotSelf);
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
 *		A search key for (columns of an index) > (bounds), or whatever the strategy
 *		says.  It points into itself.
 */
void
row_comparison(RowComparison *key, Relation index, int n, StrategyNumber strategy, Datum *bounds)
{
	int			i;

	for (i = 0; i < n; i++)
		ScanKeyEntryInitializeWithInfo(&key->members[i], SK_ROW_MEMBER | (i == n - 1 ? SK_ROW_END : 0),
									   i + 1, strategy, InvalidOid, index->rd_indcollation[i],
									   index_getprocinfo(index, i + 1, BTORDER_PROC), bounds[i]);
	memset(&key->header, 0, sizeof(ScanKeyData));
	key->header.sk_flags = SK_ROW_HEADER;
	key->header.sk_attno = 1;
	key->header.sk_strategy = strategy;
	key->header.sk_argument = PointerGetDatum(key->members);
}
