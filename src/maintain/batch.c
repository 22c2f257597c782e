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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "replication/logicalworker.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
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
		/* An earlier call may have made the batch and then run out of memory. */
		if (batch->pending.cxt == NULL)
			batch->pending.cxt = GenerationContextCreate(TopMemoryContext, "indextable batch",
														 ALLOCSET_SMALL_SIZES);
		if (batch->now.cxt == NULL)
			batch->now.cxt = AllocSetContextCreate(TopMemoryContext, "indextable row",
												   ALLOCSET_SMALL_SIZES);
		last = batch;			/* entries are never removed */
	}
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
	return !IsLogicalWorker() && !fact->layout.is_partition &&
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
 * batch_end_parts
 *		Writes what was collected for partitioned tables that are parts of others, when a statement ends: it may
 *		have named a partition, which has no AFTER STATEMENT trigger there.
 */
void
batch_end_parts(void)
{
	for (Batch *batch = touched_batches; batch != NULL; batch = batch->next)
		if (batch->pending.lists != NULL && !batch->writing && batch->pending.def->layout.partitioned &&
			batch->pending.def->place->definitions != NULL)
			batch_end_statement(batch->relid);
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
		batch->written_in = GetCurrentSubTransactionId();
	}
	write_set(batch, &batch->now, false);
}

/* batch_discard: forgets what was collected for a fact table, because it was truncated */
void
batch_discard(Oid fact)
{
	Batch	   *batch = get_batch(fact);

	refuse_reentry(batch);
	clear_set(batch, &batch->pending);
	clear_set(batch, &batch->now);
	put_off_discard(fact);
}

/*
 * batch_note_version
 *		Notes that a version of a row was written by command cid; maintain_pinned_row() says
 *		why.
 */
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

/*
 * batch_foreign_since
 *		Returns whether a statement that began after cid has changed rows on other servers.
 */
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

/*
 * batch_written_since
 *		Returns whether versions of rows were written by command cid or a later one.
 */
bool
batch_written_since(Oid fact, CommandId cid)
{
	return get_batch(fact)->last_version > cid;
}

/*
 * batches_pending
 *		Returns of how many fact tables, of this one or of any if it is InvalidOid, entries were
 *		collected and are not written yet.
 */
int
batches_pending(Oid fact)
{
	int			n = 0;

	for (Batch *batch = touched_batches; batch != NULL; batch = batch->next)
		if (batch->pending.lists != NULL && (!OidIsValid(fact) || batch->relid == fact))
			n++;
	return n;
}

/*
 * refuse_reentry
 *		Raises an error if a set is being written.  An index that a user has created on
 *		an index table may call functions, but they must not change the fact table.
 */
static void
refuse_reentry(Batch *batch)
{
	if (batch->writing || applying_put_off)
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

/* write_set: writes what a set has collected, and then forgets it unless keep is true */
static void
write_set(Batch *batch, OpSet *set, bool keep)
{
	if (set->lists == NULL)
		return;
	refuse_reentry(batch);
	WHILE_SET(batch->writing, true, write_collected(set, keep));
	if (!keep)
		clear_set(batch, set);
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
		if (!put_off_ops(def->defs[i], list) && !apply_ops(def->defs[i], list, keep))
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

		write_set(batch, &batch->pending, false);
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
		batch->last_version = batch->last_foreign = 0;
		batch->touched = false;
	}
	touched_batches = NULL;
}

/*
 * batch_at_abort_of
 *		Forgets what a subtransaction that aborts has collected, and what it has written.
 */
void
batch_at_abort_of(SubTransactionId sub)
{
	Batch	   *batch;

	for (batch = touched_batches; batch != NULL; batch = batch->next)
	{
		if (belongs_to(batch->now.owner, sub))
			clear_set(batch, &batch->now);
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
