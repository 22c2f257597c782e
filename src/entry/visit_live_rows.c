/*-------------------------------------------------------------------------
 *
 * visit_live_rows.c
 *	  Shows the live versions of a fact row to a function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../indextable.h"
#include "document.h"
#include "fact_fetch.h"

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
		copy->tts_tid = slot->tts_tid;
		factrow_init(&live, def, copy);
		each(&live, arg);
	}
	live_scan_end(&scan);
}
