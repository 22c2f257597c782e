/*-------------------------------------------------------------------------
 *
 * liverow.c
 *	  Finds out which version of a fact row is live.
 *
 * Called by trigger.c.  A row version may have been replaced by a statement
 * nested in another trigger before our trigger comes to it; only the live
 * version may add entries.  SnapshotSelf sees what is committed or our own at
 * this moment, whatever the isolation level.  It is safe here because the row's
 * writer holds its lock: nobody else changes what is live under this key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "indextable.h"
#include "utils/snapmgr.h"

bool
row_is_live(Relation fact, TupleTableSlot *slot)
{
	return table_tuple_satisfies_snapshot(fact, slot, SnapshotSelf);
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
	Relation	index = index_open(def->pk_index, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(fact, NULL);
	IndexScanDesc scan = index_beginscan_compat(fact, index, SnapshotSelf, def->npk);
	TupleDesc	desc = CreateTupleDescCopy(RelationGetDescr(fact));
	ScanKey		keys = palloc(sizeof(ScanKeyData) * def->npk);
	int			i;

	memcpy(keys, def->pk_keys, sizeof(ScanKeyData) * def->npk);
	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		keys[i].sk_argument = slot_getattr(row, def->pk_attno[i], &isnull);
	}
	index_rescan(scan, keys, def->npk, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		/* The entries point into the row, and outlive the scan. */
		TupleTableSlot *copy = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
		FactRow		live;

		ExecCopySlot(copy, slot);
		factrow_init(&live, def, copy);
		each(&live, arg);
	}
	index_endscan(scan);
	index_close(index, NoLock);
	ExecDropSingleTupleTableSlot(slot);
}
