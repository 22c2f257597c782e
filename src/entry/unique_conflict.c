/*-------------------------------------------------------------------------
 *
 * unique_conflict.c
 *	  Two entries with one unique key: whose it is by now.
 *
 * Called by apply.c, for transactional index tables, when it finds an entry in
 * the way of another.  A unique index looks at the rows of the table themselves,
 * each at the moment when the other is written.  Entries are written later, when
 * the rows' events come, and these do not come in the order of the changes: a
 * trigger that fires before ours may give the key of a row to another in a nested
 * statement, whose event comes first, and those of a foreign key's cascade come
 * last.  So it is the rows that are looked at here, too.
 *
 * This transaction has deleted or updated a row that had the key, no version of
 * it has it any more, and the version of the other row that has the key was made
 * by a later command: then the unique index has found the first version dead, and
 * the key was handed on.  The event of that row is yet to come, and is to delete
 * its entry: to delete it now, or not to insert it, is the same, and in a
 * subtransaction that is rolled back the entry comes back.  If no version of the
 * row is live because others have committed that, the entry is gone as well: for
 * that the row need not be looked at, and a partition that is not known here yet
 * does no harm.  What this transaction has deleted nobody else can have brought
 * back.
 *
 * Where both commands are the same, the events are in the order of the changes,
 * and the key's first row had it still when the second was written: they swap
 * their keys, and a unique index refuses that.
 *
 * Another transaction may have deleted or updated the row that has the key
 * without having come to the entry yet: then its end is waited for, as a unique
 * index waits.  A row that another transaction has inserted does not count, as
 * its entry is yet to be written, and that will find ours.
 *
 * Rows on other servers show none of this: who has an entry keeps it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "storage/lockdefs.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../indextable.h"
#include "document.h"
#include "entries.h"
#include "extract.h"
#include "fact_fetch.h"
#include "unique_conflict.h"

/* What became of a key that a row has, or had in this transaction. */
typedef struct History
{
	bool		has;			/* a live version of the row has it, ... */
	TransactionId wait;			/* ... which this transaction is deleting or
								 * updating */
	bool		got;			/* this transaction has made a version that
								 * has it, the last ... */
	CommandId	got_by;			/* ... with this command */
	bool		lost;			/* this transaction has deleted or updated
								 * one, the last ... */
	CommandId	lost_by;		/* ... with this command */
} History;

static bool handed_on(History *from, History *to);
static void read_row_history(IndexDef *def, Relation fact, TupleTableSlot *entry, History *h);
static bool has_entry(IndexDef *def, TupleTableSlot *row, TupleTableSlot *entry);

/*
 * decide_key_owner
 *		Whose a key is: of the entry that is there, of the one that is to come, or of
 *		whoever has it when *wait has ended.
 */
Claim
decide_key_owner(IndexDef *def, TupleTableSlot *there, TupleTableSlot *new, TransactionId *wait)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable claim",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Relation	fact = relation_open(def->fact->relid, AccessShareLock);
	History		its;
	History		ours;
	Claim		claim = CLAIM_STAYS;

	slot_getallattrs(there);
	slot_getallattrs(new);
	read_row_history(def, fact, there, &its);
	if (TransactionIdIsValid(its.wait))
		claim = CLAIM_WAIT;
	else
	{
		read_row_history(def, fact, new, &ours);
		if (handed_on(&its, &ours))
			claim = CLAIM_NEW;
		else if (handed_on(&ours, &its))
			claim = CLAIM_NOT_NEW;
	}
	*wait = its.wait;
	relation_close(fact, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return claim;
}

static bool
handed_on(History *from, History *to)
{
	return !from->has && from->lost && to->got && from->lost_by < to->got_by;
}

/* read_row_history: at all versions of the row that an entry is of */
static void
read_row_history(IndexDef *def, Relation fact, TupleTableSlot *entry, History *h)
{
	FactDef    *factdef = def->fact;
	Datum		key[INDEX_MAX_KEYS];
	LiveScan	scan;
	TupleTableSlot *row;
	SnapshotData dirty;
	int			i;

	memset(h, 0, sizeof(History));
	InitDirtySnapshot(dirty);
	for (i = 0; i < factdef->npk; i++)
		key[i] = entry->tts_values[def->pk_attno[i] - 1];
	live_scan_begin(&scan, factdef, fact, SnapshotAny);
	row = live_scan_is_foreign(&scan, key) ? NULL : live_scan_first(&scan, key);
	for (; row != NULL && !h->has; row = live_scan_next(&scan))
	{
		TupleTableSlot *stored = scan.current->stored;
		HeapTupleHeader tuple = ExecFetchSlotHeapTuple(stored, false, NULL)->t_data;
		bool		live = table_tuple_satisfies_snapshot(scan.current->rel, stored, &dirty);
		bool		got = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple));
		bool		lost = !live && !(tuple->t_infomask & HEAP_XMAX_INVALID) &&
			!HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask) &&
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple));

		/*
		 * What others have left behind or are inserting may have parts out of
		 * line that go any moment.
		 */
		if ((live && TransactionIdIsValid(dirty.xmin)) || (!live && !lost) ||
			!has_entry(def, row, entry))
			continue;
		if (live)
		{
			h->has = true;
			h->wait = dirty.xmax;
		}
		if (lost)
		{
			h->lost_by = h->lost ? Max(h->lost_by, HeapTupleHeaderGetCmax(tuple)) : HeapTupleHeaderGetCmax(tuple);
			h->lost = true;
		}
		if (got)
		{
			h->got_by = h->got ? Max(h->got_by, HeapTupleHeaderGetCmin(tuple)) : HeapTupleHeaderGetCmin(tuple);
			h->got = true;
		}
	}
	live_scan_end(&scan);
}

/* has_entry: whether a version of a row asks for an entry */
static bool
has_entry(IndexDef *def, TupleTableSlot *row, TupleTableSlot *entry)
{
	FactRow		factrow;
	Entries		entries;
	int			i;

	factrow_init(&factrow, def->fact, row);
	entries_init(&entries, def);
	extract_entries(def, &factrow, false, &entries);
	for (i = 0; i < entries.n; i++)
		if (compare_identity(def, ENTRY_VALUES(&entries, i), entry->tts_values) == 0)
			return true;
	return false;
}
