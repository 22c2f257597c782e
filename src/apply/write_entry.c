/*-------------------------------------------------------------------------
 *
 * write_entry.c
 *	  Writes single entries into an open table: inserts, updates and deletes them.
 *
 * Entries are looked for with SnapshotSelf, which shows them as they are at this
 * moment and not as the transaction's snapshot does.  No other transaction changes
 * them meanwhile: the entries of a fact row are written only by the transaction
 * that has the row locked, or by the drain, which has the queue locked.
 *
 * An insertion never relies on not having seen the entry: the index says whether
 * there is one.  If another transaction is writing or deleting an equal key at the
 * moment, we wait for the outcome.  Where keys are unique, we wait before our own
 * entry is in the index for others to wait for, as a unique index does.  An entry of
 * another row that is in the way may be one whose row has lost the key already: see
 * unique_conflict.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/snapmgr.h"

#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../util/uncounted_reads.h"
#include "apply.h"

static void buffer_insert(Writer *w, HeapTuple tuple, int seq);
static TupleTableSlot *next_slot(Writer *w, HeapTuple tuple, int seq);
static bool may_insert(Writer *w, TupleTableSlot *slot);
static bool find_rival(Writer *w, TupleTableSlot *slot, bool *same);
static void wait_for_rival(Writer *w, TransactionId xid);
static void undo_insert(Writer *w, TupleTableSlot *slot);
static void set_search_keys(Writer *w, HeapTuple tuple, ScanKey keys);
static void settle_conflict(Writer *w, TupleTableSlot *slot);
static void keep_existing_entry(Writer *w, TupleTableSlot *slot);
static void put_entry(Writer *w, HeapTuple tuple);
static void delete_entry(Writer *w, Op *op);
static bool find_entry(Writer *w, HeapTuple tuple, bool to_update);
static bool update_found(Writer *w, HeapTuple tuple);
static bool same_row(Writer *w, HeapTuple tuple, TupleTableSlot *slot);

/*
 * write_op
 *		Applies the last operation on an entry; alone says that it is the only one.
 *
 * With keep, the tuple of an insertion is copied; otherwise it is taken over.
 */
void
write_op(Writer *w, Op *op, bool alone, bool keep)
{
	if (op->kind == OP_DELETE)
		delete_entry(w, op);
	else if (op->kind == OP_INSERT && alone)
		buffer_insert(w, keep ? heap_copytuple(op->tuple) : op->tuple, op->seq);
	else
		put_entry(w, op->tuple);
}

/*
 * flush_inserts
 *		Inserts the entries that buffer_insert() has collected.
 */
void
flush_inserts(Writer *w)
{
	TupleTableSlot *conflicts[CHUNK];
	int			nconflicts = 0;

	if (w->nbuffered == 0)
		return;
	if (w->nbuffered == 1)
		table_tuple_insert(w->rel, w->slots[0], command_id(w), 0, NULL);
	else
		table_multi_insert(w->rel, w->slots, w->nbuffered, command_id(w), 0, NULL);
	for (int i = 0; i < w->nbuffered; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (w->def->spec.is_unique && !may_insert(w, w->slots[i]))
			w->seqs[i] = -1;
		else if (!insert_index_entries(w, w->slots[i], false, (TU_UpdateIndexes) 0, w->seqs[i] >= 0))
			conflicts[nconflicts++] = w->slots[i];
		if (w->seqs[i] >= 0)
		{
			w->deferred[w->seqs[i]].tuple = ExecFetchSlotHeapTuple(w->slots[i], false, NULL);
			w->deferred[w->seqs[i]].tid = w->slots[i]->tts_tid;
		}
	}
	for (int i = 0; i < nconflicts; i++)
		settle_conflict(w, conflicts[i]);
	for (int i = 0; i < w->nbuffered; i++)
	{
		/* insert_deferred() needs the tuple again. */
		if (w->seqs[i] >= 0)
			w->slots[i]->tts_flags &= ~TTS_FLAG_SHOULDFREE;
		ExecClearTuple(w->slots[i]);
	}
	w->nbuffered = 0;
}

/*
 * buffer_insert
 *		Inserts an entry, now or together with the next ones; takes over the tuple, and
 *		frees it when it is not needed any more.
 */
static void
buffer_insert(Writer *w, HeapTuple tuple, int seq)
{
	next_slot(w, tuple, seq);
	if (w->nbuffered == CHUNK)
		flush_inserts(w);
}

/*
 * next_slot
 *		Puts a tuple into the next free slot, and returns that; seq is the number of
 *		its operation, or -1 if all indexes are to be written at once.
 */
static TupleTableSlot *
next_slot(Writer *w, HeapTuple tuple, int seq)
{
	TupleTableSlot *slot;

	if (w->nbuffered == w->nslots)
		w->slots[w->nslots++] = MakeSingleTupleTableSlot(RelationGetDescr(w->rel),
														 &TTSOpsHeapTuple);
	w->seqs[w->nbuffered] = seq >= 0 && seq < w->ndeferred ? seq : -1;
	slot = w->slots[w->nbuffered];
	w->nbuffered++;
	ExecStoreHeapTuple(tuple, slot, true);
	slot->tts_tableOid = RelationGetRelid(w->rel);
	return slot;
}

/*
 * may_insert
 *		Returns whether an entry with a unique key, which is in the table already, is
 *		to be inserted into the indexes, too.  If not, it is taken back.
 *
 * It is not if its row has the entry already, or has lost the key by now.  If the
 * row of another entry has the key, the result is true, and the unique index raises
 * the error.
 */
static bool
may_insert(Writer *w, TupleTableSlot *slot)
{
	bool		same;
	TransactionId wait;
	ItemPointerData tid;
	TM_FailureData failure;
	TM_Result	result;

	while (find_rival(w, slot, &same))
	{
		if (same)
		{
			keep_existing_entry(w, slot);
			return false;
		}
		if (w->def->spec.async)
			return true;
		switch (decide_key_owner(w->def, w->rival, slot, &wait))
		{
			case KEY_STAYS:
				return true;
			case KEY_UNDECIDED:
				wait_for_rival(w, wait);
				break;
			case KEY_WENT_TO_EXISTING:
				undo_insert(w, slot);
				return false;
			case KEY_WENT_TO_NEW:
				tid = w->rival->tts_tid;
				ExecClearTuple(w->rival);
				new_command(w);
				result = table_tuple_delete_compat(w->rel, &tid, command_id(w), true, &failure);
				if (result != TM_Ok && result != TM_Updated && result != TM_Deleted)
					elog(ERROR, "unexpected result %d of deleting an entry of index table \"%s\"",
						 (int) result, w->def->name);
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/*
 * find_rival
 *		Returns whether there is an entry with an equal key beside the one in slot, and
 *		leaves it in w->rival.  *same is set to whether it is of the same fact row.
 *
 * If another transaction is writing or deleting such an entry, its end is waited
 * for.
 */
static bool
find_rival(Writer *w, TupleTableSlot *slot, bool *same)
{
	Relation	index = w->indexes[w->primary_index];
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
	ScanKeyData keys[INDEX_MAX_KEYS];
	bool		found;

	if (w->rival == NULL)
	{
		w->rival = table_slot_create(w->rel, NULL);
		InitDirtySnapshot(w->dirty);
		key_search_begin(&w->rival_search, w->rel, index, &w->dirty, w->def->layout.nsearch);
		w->rival_search.unpruned = true;
	}
	set_search_keys(w, tuple, keys);
	*same = false;
	for (;;)
	{
		TransactionId wait = InvalidTransactionId;

		found = false;
		stop_counting(index);
		key_search_start(&w->rival_search, keys, false, NULL);
		while (!found && key_search_next(&w->rival_search, w->rival))
		{
			if (ItemPointerEquals(&w->rival->tts_tid, &slot->tts_tid))
				continue;
			wait = TransactionIdIsValid(w->dirty.xmin) ? w->dirty.xmin : w->dirty.xmax;
			found = true;
			*same = same_row(w, tuple, w->rival);
		}
		if (found)
		{
			/* No page is pinned while we wait. */
			ExecMaterializeSlot(w->rival);
			index_rescan(w->rival_search.scan, NULL, w->def->layout.nsearch, NULL, 0);
		}
		go_on_counting(index);
		if (!TransactionIdIsValid(wait))
			break;
		wait_for_rival(w, wait);
	}
	return found;
}

/* wait_for_rival: waits for the end of the transaction that decides whether the rival stays */
static void
wait_for_rival(Writer *w, TransactionId xid)
{
	ItemPointerData tid = w->rival->tts_tid;

	ExecClearTuple(w->rival);
	XactLockTableWait(xid, w->rel, &tid, XLTW_InsertIndex);
}

/* undo_insert: deletes an entry that has just been inserted into the table, but is not to stay */
static void
undo_insert(Writer *w, TupleTableSlot *slot)
{
	TM_FailureData failure;

	new_command(w);
	if (table_tuple_delete_compat(w->rel, &slot->tts_tid, command_id(w), true, &failure) != TM_Ok)
		elog(ERROR, "could not take back an entry of index table \"%s\"", w->def->name);
}

/*
 * settle_conflict
 *		Sees to the entry in slot, of which the primary key has said that there may be an
 *		equal one: if there is, that one stays.
 */
static void
settle_conflict(Writer *w, TupleTableSlot *slot)
{
	bool		same;

	if (find_rival(w, slot, &same) && same)
		keep_existing_entry(w, slot);
}

/*
 * settle_insert
 *		Settles the conflict of an entry that direct_write.c has inserted; takes over the
 *		tuple.
 */
void
settle_insert(Writer *w, HeapTuple tuple)
{
	TupleTableSlot *slot = next_slot(w, tuple, -1);

	settle_conflict(w, slot);
	ExecClearTuple(slot);
	w->nbuffered = 0;
}

/*
 * keep_existing_entry
 *		Takes back the entry in slot, whose row has one with the same key already, and
 *		gives that one its payload.
 */
static void
keep_existing_entry(Writer *w, TupleTableSlot *slot)
{
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);

	/*
	 * The existing entry was written for another row with the same primary
	 * key, and may be deleted together with that row.
	 */
	if (w->def->fact->layout.pk_deferrable && !w->def->spec.async)
		note_shared_key(w->def->fact, slot, w->def->layout.pk_attno);
	undo_insert(w, slot);
	if (!find_entry(w, tuple, true) || !update_found(w, tuple))
		elog(ERROR, "an entry of index table \"%s\" vanished", w->def->name);
}

/* put_entry: replaces the payload of an entry, or inserts it if it does not exist */
static void
put_entry(Writer *w, HeapTuple tuple)
{
	while (find_entry(w, tuple, true))
	{
		if (update_found(w, tuple))
			return;
		CHECK_FOR_INTERRUPTS();
	}
	buffer_insert(w, heap_copytuple(tuple), -1);
}

/* delete_entry: deletes an entry, if it exists */
static void
delete_entry(Writer *w, Op *op)
{
	ItemPointerData tid = op->place.tid;

	/* Its place may be known already. */
	while (ItemPointerIsValid(&tid) || find_entry(w, op->tuple, false))
	{
		TM_FailureData failure;
		TM_Result	result;

		if (!ItemPointerIsValid(&tid))
		{
			tid = w->found->tts_tid;
			ExecClearTuple(w->found);
		}
		result = table_tuple_delete_compat(w->rel, &tid, command_id(w), true, &failure);
		if (result == TM_Ok)
			return;
		if (result != TM_Updated && result != TM_Deleted)
			elog(ERROR, "unexpected result %d of deleting an entry of index table \"%s\"",
				 (int) result, w->def->name);
		ItemPointerSetInvalid(&tid);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * find_entry
 *		Returns whether there is an entry with the identity of tuple, and leaves it in
 *		w->found.
 *
 * If it is to be updated, its page is pruned, so that there is space in it for the new
 * version.  Perhaps nothing else would prune it: readers of the index alone do not come to
 * the page.
 *
 * A walk has read the page of the index before, perhaps when other entries of the page
 * were not deleted yet.  What is in it now that was not then are entries of other rows, as
 * this transaction inserts none before it has deleted all, and no other one writes those
 * of its rows.
 */
static bool
find_entry(Writer *w, HeapTuple tuple, bool to_update)
{
	Relation	index = w->indexes[w->primary_index];
	ScanKeyData keys[INDEX_MAX_KEYS];
	bool		found = false;

	if (w->found == NULL)
	{
		w->found = table_slot_create(w->rel, NULL);
		key_search_begin(&w->search, w->rel, index, SnapshotSelf, w->def->layout.nsearch);
	}
	set_search_keys(w, tuple, keys);
	w->search.unpruned = !to_update;
	stop_counting(index);
	key_search_start(&w->search, keys, w->walks && !to_update, NULL);
	while (!found && key_search_next(&w->search, w->found))
		found = same_row(w, tuple, w->found);
	go_on_counting(index);
	return found;
}

/*
 * update_found
 *		Gives the entry in w->found the bytes of tuple; returns false if it was changed
 *		or deleted meanwhile.
 */
static bool
update_found(Writer *w, HeapTuple tuple)
{
	ItemPointerData tid = w->found->tts_tid;
	TU_UpdateIndexes which = TU_None;
	TM_FailureData failure;
	LockTupleMode lockmode;
	TM_Result	result;
	TupleTableSlot *slot;
	bool		same = true;

	for (int i = 0; i < w->def->layout.desc->natts && same; i++)
	{
		Form_pg_attribute att = TupleDescAttr(w->def->layout.desc, i);
		Datum		was;
		Datum		is;
		bool		was_null;
		bool		is_null;

		/* The same as for entry_equal(). */
		if (i + 1 == w->def->layout.hint_attno)
			continue;
		was = slot_getattr(w->found, i + 1, &was_null);
		is = heap_getattr(tuple, i + 1, w->def->layout.desc, &is_null);
		same = was_null == is_null &&
			(is_null || datum_image_eq(was, is, att->attbyval, att->attlen));
	}
	ExecClearTuple(w->found);
	if (same)
		return true;

	slot = MakeSingleTupleTableSlot(RelationGetDescr(w->rel), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(heap_copytuple(tuple), slot, true);
	result = table_tuple_update_compat(w->rel, &tid, slot, command_id(w), true, &failure,
									   &lockmode, &which);
	if (result == TM_Ok && which != TU_None)
		insert_index_entries(w, slot, true, which, false);
	ExecDropSingleTupleTableSlot(slot);
	if (result != TM_Ok && result != TM_Updated && result != TM_Deleted)
		elog(ERROR, "unexpected result %d of updating an entry of index table \"%s\"",
			 (int) result, w->def->name);
	return result == TM_Ok;
}

/* set_search_keys: makes the search keys that find the entry in tuple by the primary key */
static void
set_search_keys(Writer *w, HeapTuple tuple, ScanKey keys)
{
	IndexDef   *def = w->def;

	memcpy(keys, def->layout.search_keys, sizeof(ScanKeyData) * def->layout.nsearch);
	for (int i = 0; i < def->layout.nsearch; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, def->layout.ident[i], def->layout.desc, &isnull);

		set_search_key(&keys[i], value, isnull);
	}
}

/*
 * same_row
 *		Returns whether two entries with the same key, in tuple and in slot, are of the same
 *		fact row.
 */
static bool
same_row(Writer *w, HeapTuple tuple, TupleTableSlot *slot)
{
	IndexDef   *def = w->def;
	bool		isnull;

	for (int i = def->layout.nsearch; i < def->layout.nident; i++)
		if (ApplySortComparator(heap_getattr(tuple, def->layout.ident[i], def->layout.desc, &isnull), false,
								slot_getattr(slot, def->layout.ident[i], &isnull), false,
								&def->layout.ident_sort[i]) != 0)
			return false;
	return true;
}
