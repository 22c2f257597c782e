/*-------------------------------------------------------------------------
 *
 * sharedkey.c
 *	  Rows that share their primary key with another one until it is checked.
 *
 * Called by trigger.c and apply.c, for deferrable primary keys only, and by batch.c before the
 * transaction commits or is prepared.  Until the key is checked there may be two
 * rows of one primary key, ours and one of another transaction, and if both have
 * the same key they have one entry in common: that of whoever wrote it first, maybe
 * before his row could be seen.  Whoever deletes the other row, or changes its key,
 * cannot see ours, and takes the entry away.
 *
 * So the entries of such a row are written once more in the end: those that are
 * there stay.  By then the deferred check is through, which waits for whoever is
 * deleting the other row, and fails if that row remains.  Only a row of ours has
 * its entries written: nobody else can have deleted it, while of another's row that
 * looks live a deletion may be about to commit.  A row that was rolled back with a
 * subtransaction is not found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "indextable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

static List *shared_keys = NIL; /* of SharedKey *, as long as the transaction */

/*
 * note_shared_key
 *		Of a row, or an entry, that this transaction has written, and that may not be
 *		the only one under its primary key, which is in these columns of it.
 */
void
note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	SharedKey  *key = palloc(sizeof(SharedKey));
	int			i;

	slot_getallattrs(row);
	key->fact = def->relid;
	key->n = def->npk;
	key->attno = palloc(sizeof(AttrNumber) * key->n);
	key->types = palloc(sizeof(Oid) * key->n);
	key->values = palloc(sizeof(Datum) * key->n);
	for (i = 0; i < key->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tts_tupleDescriptor, columns[i] - 1);

		key->attno[i] = def->pk_attno[i];
		key->types[i] = att->atttypid;
		key->values[i] = datumCopy(row->tts_values[columns[i] - 1], att->attbyval, att->attlen);
	}
	shared_keys = lappend(shared_keys, key);
	MemoryContextSwitchTo(old);
}

/* is_key_of: whether the fact table has the primary key still that it had when the key was noted */
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

/* forget_shared_keys: the transaction has ended */
void
forget_shared_keys(void)
{
	shared_keys = NIL;
}

/* take_shared_keys: returns what was noted, and forgets it */
List *
take_shared_keys(void)
{
	List	   *keys = shared_keys;

	shared_keys = NIL;
	return keys;
}

/* is_ours: whether this transaction has made the row version that a scan has found */
static bool
is_ours(TupleTableSlot *stored)
{
	bool		isnull;
	Datum		xmin = slot_getsysattr(stored, MinTransactionIdAttributeNumber, &isnull);

	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

/* collect_entries: of a row of ours, as if they were new */
static void
collect_entries(FactDef *def, TupleTableSlot *row)
{
	MemoryContext cxt;
	OpList	   *lists = batch_collect(def, &cxt);
	FactRow		factrow;
	int			i;

	factrow_init(&factrow, def, row);
	for (i = 0; i < def->nsync; i++)
	{
		Entries		none;
		Entries		entries;

		entries_init(&none, def->defs[i]);
		entries_init(&entries, def->defs[i]);
		(void) extract_entries(def->defs[i], &factrow, false, &entries);
		diff_entries(def->defs[i], &none, &entries, &lists[i], cxt);
	}
	batch_row_done(def);
}

static void
write_again(SharedKey *key)
{
	Relation	fact = try_relation_open(key->fact, RowExclusiveLock);
	FactDef    *def;
	LiveScan	scan;
	TupleTableSlot *row;

	if (fact == NULL)
		return;
	do
	{
		def = definition_of_fact(fact, key->fact);
	} while (is_key_of(key, def, fact) && !batch_lock(def));
	/* With another primary key the index tables are new, and were filled from the rows. */
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
			if (scan.current->index != NULL && is_ours(scan.current->stored))
				collect_entries(def, row);
		live_scan_end(&scan);
	}
	PG_FINALLY();
	{
		definition_unpin(def);
	}
	PG_END_TRY();
	relation_close(fact, NoLock);
}

/* write_shared_keys: the entries of rows that have shared their primary keys, before the transaction ends */
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
