/*-------------------------------------------------------------------------
 *
 * shared_key_entries.c
 *	  Writes once more, before the transaction ends, the entries of rows that shared
 *	  their primary key with another row.  entry/shared_keys.c says why.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../definition/cache.h"
#include "../entry/diff.h"
#include "../entry/fact_fetch.h"
#include "../entry/shared_keys.h"
#include "../indextable.h"
#include "../util/subxact.h"
#include "batch.h"
#include "shared_key_entries.h"

static void write_again(SharedKey *key);
static bool is_key_of(SharedKey *key, FactDef *def, Relation fact);
static bool is_ours(TupleTableSlot *stored);

/* write_shared_keys: writes the entries of the rows under all primary keys that were noted */
void
write_shared_keys(void)
{
	List	   *keys = take_shared_keys();
	MemoryContext cxt;
	ListCell   *cell;

	if (keys == NIL)
		return;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable shared key", ALLOCSET_DEFAULT_SIZES);
	foreach(cell, keys)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		bool		pushed = push_missing_snapshot();

		CHECK_FOR_INTERRUPTS();
		write_again(lfirst(cell));
		if (pushed)
			PopActiveSnapshot();
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	MemoryContextDelete(cxt);
}

/*
 * write_again
 *		Writes the entries of the row under a primary key as if they were new, if this
 *		transaction has written the row.  Values that cannot be in an entry were
 *		reported when the row was written.
 */
static void
write_again(SharedKey *key)
{
	Relation	fact = try_relation_open(key->fact, RowExclusiveLock);
	FactDef    *def;
	LiveScan	scan;
	TupleTableSlot *row;
	OpList	   *lists;
	MemoryContext cxt;

	if (fact == NULL)
		return;
	do
	{
		def = definition_for_writer(fact, key->fact);
	} while (is_key_of(key, def, fact) && !batch_lock(def));

	/*
	 * If the fact table has another primary key by now, its index tables are
	 * new, and were filled from the rows.
	 */
	if (!is_key_of(key, def, fact) || def->nsync == 0)
	{
		relation_close(fact, NoLock);
		return;
	}
	definition_pin(def);
	PG_TRY();
	{
		live_scan_begin(&scan, def, fact, SnapshotSelf);
		for (row = live_scan_first(&scan, key->values); row != NULL; row = live_scan_next(&scan))
		{
			if (scan.current->is_foreign || !is_ours(scan.current->stored))
				continue;
			lists = batch_get_op_lists(def, &cxt);
			batch_add_row(def, row, true, false, lists, cxt);
			batch_row_done(def);
		}
		live_scan_end(&scan);
	}
	PG_FINALLY();
	{
		definition_unpin(def);
	}
	PG_END_TRY();
	relation_close(fact, NoLock);
}

/* is_key_of: returns whether the fact table still has the primary key that it had when the key was noted */
static bool
is_key_of(SharedKey *key, FactDef *def, Relation fact)
{
	bool		same = def->npk == key->n;
	int			i;

	for (i = 0; same && i < key->n; i++)
		same = def->pk_attno[i] == key->attno[i] &&
			TupleDescAttr(RelationGetDescr(fact), def->pk_attno[i] - 1)->atttypid == key->types[i];
	return same;
}

/* is_ours: returns whether this transaction has written the row version that a scan has found */
static bool
is_ours(TupleTableSlot *stored)
{
	bool		isnull;
	Datum		xmin = slot_getsysattr(stored, MinTransactionIdAttributeNumber, &isnull);

	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}
