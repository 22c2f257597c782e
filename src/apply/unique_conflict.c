/*-------------------------------------------------------------------------
 *
 * unique_conflict.c
 *	  Decides which of two entries with one unique key may have it, by looking at
 *	  their fact rows; and notes rows that may share their primary key with another
 *	  row until a deferrable constraint is checked.
 *
 * Which one may have it is asked for transactional index tables, when an entry is in the way of
 * another.  A unique index looks at the rows of the table themselves: it looks at
 * one at the moment when the other is written.  Entries are written later, when the
 * trigger events of the rows come, and these do not come in the order of the
 * changes.  A trigger that fires before ours may give the key of a row to another
 * row in a nested statement, whose events come first; and the events of a foreign
 * key's cascade come last.  So here, too, the rows are looked at.
 *
 * A row has handed the key on to another row if this transaction has deleted or
 * updated a version of the first row that had the key, no live version of that row
 * has it, and a later command has made the version of the second row that has it.
 * A unique index would have found the version of the first row dead.  The event of
 * the first row is yet to come, and is to delete its entry: to delete the entry
 * now, or not to insert it, has the same result, and if a subtransaction is rolled
 * back, the entry is back as well.  If no version of a row is live because another
 * transaction has committed its deletion, that transaction has deleted the entry,
 * too: so such a row need not be looked at, and it does no harm if it is in a
 * partition that is not known here yet.  No other transaction can have inserted a
 * row again that this transaction has deleted.
 *
 * Where both commands are the same, the events come in the order of the changes,
 * and the first row still had the key when the second was written: the two rows
 * swap their keys, and a unique index refuses that.
 *
 * Another transaction may have deleted or updated the row that has the key, without
 * having deleted the entry yet.  Then its end is waited for, as a unique index
 * waits.  A row that another transaction has inserted does not count: its entry is
 * yet to be written, and its writer will find ours.
 *
 * Rows on other servers do not show their history: there an entry that exists keeps
 * the key.
 *
 * Until a deferrable primary key is checked, two rows may have it: one of this
 * transaction, and one of another transaction.  If both have the same key in an
 * index table, they have one entry in common: the one that was written first, maybe
 * before the row that it was written for could be seen.  A transaction that deletes
 * the other row, or changes its key, does not see our row, and deletes the common
 * entry.
 *
 * So the entries of such a row are written once more before the transaction commits
 * or is prepared (maintain/at_commit.c); those that exist stay as they
 * are.  By then the deferred check has passed: it has waited for any transaction
 * that was deleting the other row, and would have failed if that row had remained.
 * Entries are written only for rows of this transaction, which no other transaction
 * can have deleted.  A row of another transaction may look live although its
 * deletion is about to commit.  A row that was rolled back with a subtransaction is
 * not found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../util/subxact.h"
#include "apply.h"

/* Whether a row has a key, and what this transaction has done about that. */
typedef struct KeyHistory
{
	bool		has;			/* a live version of the row has the key */
	TransactionId wait;			/* another transaction that is deleting or
								 * updating this version, if any */

	/* Of commands of this transaction, one more than their id; 0: none. */
	uint64		got_by;			/* the last that has made a version with the
								 * key */
	uint64		lost_by;		/* the last that has deleted or updated one */
} KeyHistory;

static bool handed_on(KeyHistory *from, KeyHistory *to);
static void read_row_history(IndexDef *def, Relation fact, TupleTableSlot *entry, KeyHistory *history);
static bool has_entry(IndexDef *def, TupleTableSlot *row, TupleTableSlot *entry);
static List *shared_keys = NIL; /* of SharedKey *, in TopTransactionContext */

/*
 * decide_key_owner
 *		Decides whether an existing entry or a new one may have the unique key that
 *		both of them have.
 *
 * If the result is KEY_UNDECIDED, *wait is the transaction to wait for.
 */
KeyOwner
decide_key_owner(IndexDef *def, TupleTableSlot *existing, TupleTableSlot *new, TransactionId *wait)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable claim",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Relation	fact = relation_open(def->fact->relid, AccessShareLock);
	KeyHistory	existing_history;
	KeyHistory	new_history;
	KeyOwner	owner = KEY_STAYS;

	slot_getallattrs(existing);
	slot_getallattrs(new);
	read_row_history(def, fact, existing, &existing_history);
	if (TransactionIdIsValid(existing_history.wait))
		owner = KEY_UNDECIDED;
	else
	{
		read_row_history(def, fact, new, &new_history);
		if (handed_on(&existing_history, &new_history))
			owner = KEY_WENT_TO_NEW;
		else if (handed_on(&new_history, &existing_history))
			owner = KEY_WENT_TO_EXISTING;
	}
	*wait = existing_history.wait;
	relation_close(fact, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return owner;
}

/* handed_on: returns whether a row has handed its key on to another, as described above */
static bool
handed_on(KeyHistory *from, KeyHistory *to)
{
	return !from->has && from->lost_by > 0 && from->lost_by < to->got_by;
}

/* read_row_history: finds out from all versions of an entry's row what became of its key */
static void
read_row_history(IndexDef *def, Relation fact, TupleTableSlot *entry, KeyHistory *history)
{
	FactDef    *factdef = def->fact;
	Datum		key[INDEX_MAX_KEYS];
	LiveScan	scan;
	TupleTableSlot *row;
	SnapshotData dirty;

	memset(history, 0, sizeof(KeyHistory));
	InitDirtySnapshot(dirty);
	for (int i = 0; i < factdef->layout.npk; i++)
		key[i] = entry->tts_values[def->layout.pk_attno[i] - 1];
	live_scan_begin(&scan, factdef, fact, SnapshotAny, NULL);
	row = live_scan_is_elsewhere(&scan, key) ? NULL : live_scan_first(&scan, key);
	for (; row != NULL && !history->has; row = live_scan_next(&scan))
	{
		TupleTableSlot *stored = scan.current->stored;
		HeapTupleHeader tuple = ExecFetchSlotHeapTuple(stored, false, NULL)->t_data;
		bool		live = table_tuple_satisfies_snapshot(scan.current->rel, stored, &dirty);
		bool		got = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple));
		bool		lost = !live && !(tuple->t_infomask & HEAP_XMAX_INVALID) &&
			!HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask) &&
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple));

		/*
		 * Versions that other transactions are inserting, or have left
		 * behind, may have values out of line that are removed at any moment.
		 */
		if ((live && TransactionIdIsValid(dirty.xmin)) || (!live && !lost) ||
			!has_entry(def, row, entry))
			continue;
		if (live)
		{
			history->has = true;
			history->wait = dirty.xmax;
		}
		if (lost)
			history->lost_by = Max(history->lost_by, (uint64) HeapTupleHeaderGetCmax(tuple) + 1);
		if (got)
			history->got_by = Max(history->got_by, (uint64) HeapTupleHeaderGetCmin(tuple) + 1);
	}
	live_scan_end(&scan);
}

/* has_entry: returns whether an entry is among those of a version of a row */
static bool
has_entry(IndexDef *def, TupleTableSlot *row, TupleTableSlot *entry)
{
	FactRow		factrow;
	Entries		entries;

	factrow_init(&factrow, def->fact, row);
	entries_init(&entries, def);
	extract_entries(def, &factrow, false, &entries);
	for (int i = 0; i < entries.n; i++)
		if (compare_identity(def, ENTRY_VALUES(&entries, i), ENTRY_NULLS(&entries, i), entry->tts_values,
							 entry->tts_isnull) == 0)
			return true;
	return false;
}

/*
 * note_shared_key
 *		Notes the primary key of a row that this transaction has written, and that may
 *		not be the only one with that key.
 *
 * row may be the row itself, or one of its entries; columns are the numbers of its
 * columns that hold the primary key.
 */
void
note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	SharedKey  *key = palloc(sizeof(SharedKey));

	if (shared_keys == NIL)
		forget_at_end(&shared_keys);
	slot_getallattrs(row);
	key->fact = def->relid;
	key->n = def->layout.npk;
	key->attno = palloc(sizeof(AttrNumber) * key->n);
	key->types = palloc(sizeof(Oid) * key->n);
	key->values = palloc(sizeof(Datum) * key->n);
	for (int i = 0; i < key->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tts_tupleDescriptor, columns[i] - 1);

		key->attno[i] = def->layout.pk_attno[i];
		key->types[i] = att->atttypid;
		key->values[i] = datumCopy(row->tts_values[columns[i] - 1], att->attbyval, att->attlen);
	}
	shared_keys = lappend(shared_keys, key);
	MemoryContextSwitchTo(old);
}

/* take_shared_keys: returns what was noted, and forgets it */
List *
take_shared_keys(void)
{
	List	   *keys = shared_keys;

	shared_keys = NIL;
	return keys;
}
