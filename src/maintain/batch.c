/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  Collects what a statement has to write to index tables, until its end.
 *
 * A million entries that are sorted and written together cost a fraction of a
 * million entries that are written one by one.
 *
 * The AFTER STATEMENT trigger writes what the rows of a statement have brought.
 * That trigger does not fire in the apply worker of a subscriber, and a statement
 * on a partitioned table does not fire the statement triggers of its partitions,
 * of which the fact table may be one.  In these cases each row is written
 * immediately.  If the trigger does not fire for any other reason, everything is
 * written before the transaction commits.
 *
 * What was collected is a sequence.  The last operation on an entry counts, and
 * writing the sequence late has the same effect as writing each operation when it
 * was collected.  A statement that is nested in a trigger of the same table
 * therefore adds to the same sequence, and its end writes all of it.  If the nested
 * statement runs in a subtransaction that began after the sequence did, it writes
 * what was collected before, and then each of its own rows immediately.  If that
 * subtransaction aborts, what was collected before has to be written again.
 *
 * What cannot be written yet, because an entry does not fit into an index that is in use
 * (entry/uncovered_key.c), is put off, with all that follows it in the sequence.  It is
 * written when a statement ends after which that is possible, in the subtransaction that
 * has collected it, and at the latest before the transaction commits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "replication/logicalworker.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../entry/writers.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "../util/while_set.h"
#include "maintain.h"

/* A statement that has collected more than this writes it before it goes on. */
#define MAX_BATCH_BYTES		(16 * 1024 * 1024)

/* What this transaction has collected and noted for one fact table. */
typedef struct Batch
{
	Oid			relid;			/* hash key: the fact table */
	struct Batch *next;			/* in the list touched_batches */
	bool		touched;		/* whether it is in that list */
	OpSet		pending;		/* collected by statements that are running */
	SubTransactionId written_in;	/* pending was written by this
									 * subtransaction, which may still abort;
									 * invalid: pending was not written */
	OpSet		now;			/* of one row, which is written immediately */
	List	   *put_off;		/* sets that could not be written yet, before
								 * all others in the sequence */
	bool		was_put_off;	/* a set was, in this transaction */
	bool		writing;		/* a set is being written */

	/* Of commands, one more than their id; 0: there is none. */
	uint64		last_version;	/* the last one that wrote versions of rows */
	uint64		last_foreign;	/* the one with which the last statement began
								 * that changed rows on other servers */
} Batch;

static HTAB *batches = NULL;
static Batch *touched_batches = NULL;	/* those that this transaction has
										 * used */

static Batch *get_batch(Oid fact);
static bool batch_any_foreign(Oid fact);
static bool collecting(Batch *batch, FactDef *fact);
static void refuse_reentry(Batch *batch);
static void write_collected(OpSet *set, bool keep);
static void write_set(Batch *batch, OpSet *set, bool keep);
static void clear_set(Batch *batch, OpSet *set);
static bool must_put_off(Batch *batch, OpSet *set);
static void put_off(Batch *batch, OpSet *set);
static bool write_put_off(Batch *batch, bool at_commit);
static bool make_room(OpSet *set);
static void forget_put_off(Batch *batch, SubTransactionId sub);
static void try_again(Batch *batch, bool at_commit);

/* batch_init: creates the hash table of batches, once, when the library is loaded */
void
batch_init(void)
{
	batches = hash_by_oid("indextable batches", 16, sizeof(Batch), NULL);
	has_changed_elsewhere = batch_any_foreign;
}

/* get_batch: returns the batch of a fact table, and notes that this transaction uses it */
static Batch *
get_batch(Oid fact)
{
	static Batch *last = NULL;
	Batch	   *batch = last;
	bool		found;

	if (batch == NULL || batch->relid != fact)
	{
		batch = hash_search(batches, &fact, HASH_ENTER, &found);
		if (!found)
		{
			memset(batch, 0, sizeof(Batch));
			batch->relid = fact;
		}
		last = batch;			/* entries are never removed */
	}
	/* An earlier call may have run out of memory, and a set that is put off takes its memory along. */
	if (batch->pending.cxt == NULL)
		batch->pending.cxt = GenerationContextCreate(TopMemoryContext, "indextable batch",
													 ALLOCSET_SMALL_SIZES);
	if (batch->now.cxt == NULL)
		batch->now.cxt = AllocSetContextCreate(TopMemoryContext, "indextable row",
											   ALLOCSET_SMALL_SIZES);
	if (!batch->touched)
	{
		batch->touched = true;
		batch->next = touched_batches;
		touched_batches = batch;
	}
	return batch;
}

/* collecting: returns whether a row is written when its statement ends, rather than immediately */
static bool
collecting(Batch *batch, FactDef *fact)
{
	return !IsLogicalWorker() && !fact->is_partition &&
		(batch->pending.lists == NULL || belongs_to(batch->pending.owner, GetCurrentSubTransactionId()));
}

/* batch_end_statement: writes what was collected, when the AFTER STATEMENT trigger has fired */
void
batch_end_statement(Oid fact)
{
	Batch	   *batch = get_batch(fact);

	if (batch->pending.lists != NULL && belongs_to(batch->pending.owner, GetCurrentSubTransactionId()))
		write_set(batch, &batch->pending, false);
}

/*
 * batch_lock
 *		Locks the index tables before operations are collected for them.  Returns false
 *		if they were altered before the locks were taken, so that the definition has to
 *		be loaded again.
 */
bool
batch_lock(FactDef *fact)
{
	Batch	   *batch = get_batch(fact->relid);

	if (batch->pending.def == fact && collecting(batch, fact))
		return true;			/* the statement's first row took the locks */
	return definition_settled(fact, definition_lock(fact, 0, fact->nsync));
}

/* batch_get_set: returns the set to which the operations of a row are added, which may be empty */
OpSet *
batch_get_set(FactDef *fact)
{
	Batch	   *batch = get_batch(fact->relid);
	OpSet	   *set = collecting(batch, fact) ? &batch->pending : &batch->now;

	refuse_reentry(batch);

	/*
	 * The definition may have been loaded anew while a statement was
	 * collecting.  What the statement has collected is written with the old
	 * one.
	 */
	if (set->def != fact)
		write_set(batch, set, false);
	if (set->lists == NULL)
	{
		OpList	   *lists = MemoryContextAllocZero(set->cxt, sizeof(OpList) * Max(fact->nsync, 1));

		set->deltas = MemoryContextAlloc(set->cxt, sizeof(Deltas *) * Max(fact->ntotals, 1));
		for (int i = 0; i < fact->ntotals; i++)
			set->deltas[i] = deltas_begin(fact->totals[i], set->cxt);
		set->lists = lists;
		definition_pin(fact);
		set->def = fact;
		set->owner = GetCurrentSubTransactionId();
	}
	return set;
}

/*
 * batch_row_done
 *		Writes the operations that were added for a row, if the row is to be written
 *		immediately, or if very much has been collected.
 */
void
batch_row_done(FactDef *fact)
{
	Batch	   *batch = get_batch(fact->relid);
	Size		bytes = 0;

	if (collecting(batch, fact))
	{
		for (int i = 0; i < fact->nsync; i++)
			bytes += batch->pending.lists[i].bytes;
		for (int i = 0; i < fact->ntotals; i++)
			bytes += batch->pending.deltas[i]->bytes;
		if (bytes > MAX_BATCH_BYTES)
			write_set(batch, &batch->pending, false);
		return;
	}
	if (batch->pending.lists != NULL && batch->written_in == InvalidSubTransactionId)
	{
		write_set(batch, &batch->pending, true);
		if (batch->pending.lists != NULL)
			batch->written_in = GetCurrentSubTransactionId();
	}
	write_set(batch, &batch->now, false);
}

/* batch_discard: forgets what was collected for a fact table, because it was truncated */
void
batch_discard(Oid fact)
{
	Batch	   *batch = get_batch(fact);

	clear_set(batch, &batch->pending);
	clear_set(batch, &batch->now);
	forget_put_off(batch, InvalidSubTransactionId);
}

/* batch_note_version: notes that a version of a row was written by command cid; maintain_pinned_row() says why */
void
batch_note_version(Oid fact, CommandId cid)
{
	Batch	   *batch = get_batch(fact);

	batch->last_version = Max(batch->last_version, (uint64) cid + 1);
}

/*
 * batch_note_foreign
 *		Notes that a row on another server was changed by a statement that began with
 *		command cid.  The file comment of fact_trigger.c says why.
 */
void
batch_note_foreign(Oid fact, CommandId cid)
{
	Batch	   *batch = get_batch(fact);

	batch->last_foreign = Max(batch->last_foreign, (uint64) cid + 1);
}

/* batch_foreign_since: returns whether a statement that began after cid has changed rows on other servers */
bool
batch_foreign_since(Oid fact, CommandId cid)
{
	return get_batch(fact)->last_foreign > (uint64) cid + 1;
}

/* batch_any_foreign: returns whether this transaction has changed rows on other servers */
static bool
batch_any_foreign(Oid fact)
{
	return get_batch(fact)->last_foreign > 0;
}

/* batch_written_since: returns whether versions of rows were written by command cid or a later one */
bool
batch_written_since(Oid fact, CommandId cid)
{
	return get_batch(fact)->last_version > cid;
}

/*
 * batch_is_pending
 *		Returns whether entries of a fact table, or of any if it is InvalidOid, were collected and
 *		are not written yet, or were written later than their statement.
 */
bool
batch_is_pending(Oid fact)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
		if ((batch->pending.lists != NULL || batch->was_put_off) && (!OidIsValid(fact) || batch->relid == fact))
			return true;
	return false;
}

/*
 * refuse_reentry
 *		Raises an error if a set is being written.  An index that a user has created on
 *		an index table may call functions, but they must not change the fact table.
 */
static void
refuse_reentry(Batch *batch)
{
	if (batch->writing)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot change a fact table while its index tables are being written"),
				 errhint("An index on an index table must not call functions that change the fact table.")));
}

/* write_collected: writes the entries that a set has collected, and what is added to totals */
static void
write_collected(OpSet *set, bool keep)
{
	batch_write_lists(set->def, set->lists, keep);
	for (int i = 0; i < set->def->ntotals; i++)
		deltas_write(set->deltas[i]);
}

/* write_set: writes what a set has collected, and then forgets it unless keep is true; or puts it off */
static void
write_set(Batch *batch, OpSet *set, bool keep)
{
	bool		later;

	if (set->lists == NULL)
		return;
	refuse_reentry(batch);
	WHILE_SET(batch->writing, true,
			  later = must_put_off(batch, set);
			  if (!later)
			  write_collected(set, keep));
	if (later)
		put_off(batch, set);
	else if (!keep)
		clear_set(batch, set);
}

/* must_put_off: returns whether a set cannot be written yet, or one before it in the sequence */
static bool
must_put_off(Batch *batch, OpSet *set)
{
	return !write_put_off(batch, false) || !make_room(set);
}

/* put_off: has a set be written later, after those that were put off before */
static void
put_off(Batch *batch, OpSet *set)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	OpSet	   *later = palloc(sizeof(OpSet));

	*later = *set;
	batch->put_off = lappend(batch->put_off, later);
	MemoryContextSwitchTo(old);
	batch->was_put_off = true;
	memset(set, 0, sizeof(OpSet));
	(void) get_batch(batch->relid); /* makes a memory context for what follows */
}

/*
 * write_put_off
 *		Writes the sets of a fact table that were put off, in sequence; returns false if one of
 *		them still has to wait.
 *
 * A subtransaction that may abort does not write what an outer one has collected.
 */
static bool
write_put_off(Batch *batch, bool at_commit)
{
	while (batch->put_off != NIL)
	{
		OpSet	   *set = linitial(batch->put_off);

		if (!at_commit && (!belongs_to(set->owner, GetCurrentSubTransactionId()) || !make_room(set)))
			return false;
		write_collected(set, false);
		batch->put_off = list_delete_first(batch->put_off);
		definition_unpin(set->def);
		MemoryContextDelete(set->cxt);
		pfree(set);
	}
	return true;
}

/* make_room: makes room in the indexes for the entries of a set; returns false if that cannot be done at once */
static bool
make_room(OpSet *set)
{
	for (int i = 0; i < set->def->nsync; i++)
		if (!make_room_for_ops(set->def->defs[i], &set->lists[i]))
			return false;
	return true;
}

/* forget_put_off: forgets the sets that were put off in a subtransaction, or all if it is invalid */
static void
forget_put_off(Batch *batch, SubTransactionId sub)
{
	foreach_ptr(OpSet, set, batch->put_off)
	{
		if (sub != InvalidSubTransactionId && !belongs_to(set->owner, sub))
			continue;
		batch->put_off = foreach_delete_current(batch->put_off, set);
		definition_unpin(set->def);
		MemoryContextDelete(set->cxt);
		pfree(set);
	}
}

/* try_again: writes what was put off for a fact table, as far as that is possible; all of it, or raises an error, at commit */
static void
try_again(Batch *batch, bool at_commit)
{
	bool		pushed = push_missing_snapshot();

	WHILE_SET(batch->writing, true, (void) write_put_off(batch, at_commit));
	if (pushed)
		PopActiveSnapshot();
}

/* batch_try_again: writes what was put off, as far as that is possible now that a statement has ended */
void
batch_try_again(void)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
		if (batch->put_off != NIL && !batch->writing)
			try_again(batch, false);
}

/*
 * batch_add_row
 *		Adds to the lists, one for each transactional index table, the operations that
 *		insert all entries of a row, or that delete them if insert is false.
 *
 * Only with report do values that cannot be in an entry raise an error or count as
 * skipped, and is it noted what entries the row lacks: see extract_entries().  Tuples are
 * allocated in cxt.
 */
void
batch_add_row(FactDef *def, TupleTableSlot *row, bool insert, bool report, OpList *lists, MemoryContext cxt)
{
	FactRow		factrow;

	factrow_init(&factrow, def, row);
	for (int i = 0; i < def->nsync; i++)
	{
		Entries		none;
		Entries		entries;

		entries_init(&none, def->defs[i]);
		entries_init(&entries, def->defs[i]);
		lists[i].skipped += extract_entries(def->defs[i], &factrow, report, &entries);
		if (report)
			lists[i].lacking |= entries.lacking;
		diff_entries(def->defs[i], insert ? &none : &entries, insert ? &entries : &none, &lists[i], cxt);
	}
}

/*
 * batch_write_lists
 *		Writes the operations of the lists, one list for each transactional index table.
 *		The lists can be used again only if keep is true.
 */
void
batch_write_lists(FactDef *def, OpList *lists, bool keep)
{
	for (int i = 0; i < def->nsync; i++)
	{
		OpList	   *list = &lists[i];

		if (list->n == 0 && list->skipped == 0 && !lacking_is_news(def->defs[i], list->lacking))
			continue;
		if (!apply_ops(def->defs[i], list, keep))
			continue;
		if (list->skipped > 0)
			catalog_count_skipped(def->defs[i]->relid, list->skipped);
		record_lacking(def->defs[i], list->lacking);
	}
}

/* clear_set: forgets what a set has collected */
static void
clear_set(Batch *batch, OpSet *set)
{
	if (set->lists != NULL)
	{
		definition_unpin(set->def);
		set->def = NULL;
		set->lists = NULL;
		MemoryContextReset(set->cxt);
	}
	if (batch->pending.lists == NULL)
		batch->written_in = InvalidSubTransactionId;
}

/*
 * batch_write_all
 *		Writes what is still collected, before the transaction ends.  There is nothing
 *		left unless the statement trigger of some statement did not fire.
 */
void
batch_write_all(void)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
	{
		bool		pushed = batch->pending.lists != NULL && push_missing_snapshot();

		if (batch->put_off != NIL)
			try_again(batch, true);
		write_set(batch, &batch->pending, false);
		if (batch->put_off != NIL)
			try_again(batch, true);
		if (pushed)
			PopActiveSnapshot();
	}
}

/* batch_at_end_of_transaction: forgets everything that the transaction has collected and noted */
void
batch_at_end_of_transaction(void)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
	{
		clear_set(batch, &batch->now);
		clear_set(batch, &batch->pending);
		forget_put_off(batch, InvalidSubTransactionId);
		batch->last_version = batch->last_foreign = 0;
		batch->touched = batch->was_put_off = false;
	}
	touched_batches = NULL;
}

/* batch_at_abort_of: forgets what a subtransaction that aborts has collected, and what it has written */
void
batch_at_abort_of(SubTransactionId sub)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
	{
		if (belongs_to(batch->now.owner, sub))
			clear_set(batch, &batch->now);
		forget_put_off(batch, sub);
		if (belongs_to(batch->pending.owner, sub))
			clear_set(batch, &batch->pending);
		else if (belongs_to(batch->written_in, sub))
			batch->written_in = InvalidSubTransactionId;
	}
}

/*
 * batch_at_commit_to
 *		Forgets, when a subtransaction has committed to its parent, what the latter has collected
 *		and the former has written.
 */
void
batch_at_commit_to(SubTransactionId parent)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
		if (belongs_to(batch->written_in, parent) && belongs_to(batch->pending.owner, parent))
			clear_set(batch, &batch->pending);
}
