/*-------------------------------------------------------------------------
 *
 * unique_conflict.c
 *	  Decides which of two entries with one unique key may have it, by looking at their fact rows, and
 *	  words the error if neither gives way.
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../util/as_owner.h"
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
 * rethrow_duplicate
 *		Throws the error in PG_CATCH() on.  If the unique key of the index table has raised it,
 *		the error speaks of the index table instead of its primary key, which may be that of a
 *		partition, with a name that differs from value to value.
 *
 * Where the owner writes, the server shows the values of a key to the writer of the fact
 * table: only a user may see them who may read the index table.
 */
void
rethrow_duplicate(Writer *w, MemoryContext cxt)
{
	ErrorData  *error;

	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	if (error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION || error->constraint_name == NULL)
		PG_RE_THROW();
	FlushErrorState();
	if (w->users_code && pg_class_aclcheck(w->def->relid, user_outside(), ACL_SELECT) != ACLCHECK_OK)
		error->detail = NULL;
	if (w->primary_index < 0 ||
		strcmp(error->constraint_name, RelationGetRelationName(w->indexes[w->primary_index])) != 0)
		ReThrowError(error);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"", w->def->name),
			 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
			 errindextable(w->def, NULL)));
}
