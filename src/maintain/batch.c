/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  Collects what a statement has to write to index tables, until its end.
 *
 * Called by trigger.c.  Written at once and sorted, a million entries cost a
 * fraction of a million entries written one by one.
 *
 * The AFTER STATEMENT trigger writes what the rows of a statement have brought.
 * A subscriber's apply worker fires none, and a statement on a partitioned table
 * fires none of its partitions': there each row is written at once.
 * Should anybody else leave it out, all is written before the transaction
 * commits.
 *
 * What was collected is a sequence: the last operation on an entry counts, and
 * writing the sequence late is the same as writing each operation when it was
 * collected.  A statement nested in a trigger of the same table therefore adds
 * to the same sequence, and its end writes all of it.  Nested in a
 * subtransaction that began later, it writes what was collected before and then
 * its own rows, each at once; should the subtransaction abort, what was
 * collected before is due again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "replication/logicalworker.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../definition/cache.h"
#include "../entry/apply.h"
#include "../entry/diff.h"
#include "../indextable.h"
#include "../util/subxact.h"
#include "batch.h"

/* A statement that collects more than this writes it before it goes on. */
#define MAX_BATCH_BYTES		(16 * 1024 * 1024)

typedef struct OpSet
{
	FactDef    *def;			/* pinned; NULL: nothing collected */
	OpList	   *lists;			/* one for each of its index tables, or NULL */
	SubTransactionId owner;		/* collected in this subtransaction */
	MemoryContext cxt;
} OpSet;

typedef struct Batch
{
	Oid			relid;			/* hash key: the fact table */
	struct Batch *next;			/* of those this transaction has touched */
	bool		touched;
	OpSet		pending;		/* collected by statements under way */
	SubTransactionId written_in;	/* pending is written, if this one commits */
	OpSet		now;			/* a row to be written at once */
	bool		writing;		/* a set is being written */
	bool		inserted;		/* rows were inserted, the last ... */
	CommandId	last_insert;	/* ... by this command */
	bool		foreign;		/* rows on other servers were changed, the
								 * last ... */
	CommandId	last_foreign;	/* ... by a statement that began with this
								 * command */
} Batch;

static HTAB *batches = NULL;
static Batch *touched = NULL;

static Batch *get_batch(Oid fact);
static void refuse_reentry(Batch *batch);
static void write_set(Batch *batch, OpSet *set, bool keep);
static void clear_set(Batch *batch, OpSet *set);

/* batch_init: called once, when the library is loaded */
void
batch_init(void)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(Batch);
	batches = hash_create("indextable batches", 16, &ctl, HASH_ELEM | HASH_BLOBS);
}

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
		/* There was no memory for them before, maybe. */
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
		batch->next = touched;
		touched = batch;
	}
	return batch;
}

/* collecting: whether a row is written at the end of its statement, or now */
static bool
collecting(Batch *batch, FactDef *fact)
{
	return !IsLogicalWorker() && !fact->is_partition &&
		(batch->pending.lists == NULL || batch->pending.owner == GetCurrentSubTransactionId());
}

/* batch_end_statement: the AFTER STATEMENT trigger fired */
void
batch_end_statement(Oid fact)
{
	Batch	   *batch = get_batch(fact);

	if (batch->pending.lists != NULL && batch->pending.owner == GetCurrentSubTransactionId())
		write_set(batch, &batch->pending, false);
}

/*
 * batch_lock
 *		Locks the index tables for the operations to come; false if they were
 *		altered before that, so that the definition has to be loaded again.
 */
bool
batch_lock(FactDef *fact)
{
	Batch	   *batch = get_batch(fact->relid);

	if (batch->pending.def == fact && collecting(batch, fact))
		return true;			/* the statement's first row did */
	return definition_settled(fact, definition_lock(fact, 0, fact->nsync));
}

/*
 * batch_get_op_lists
 *		The lists, one for each index table of fact, to which a row's operations
 *		are added, and the memory context of their tuples.
 */
OpList *
batch_get_op_lists(FactDef *fact, MemoryContext *cxt)
{
	Batch	   *batch = get_batch(fact->relid);
	OpSet	   *set = collecting(batch, fact) ? &batch->pending : &batch->now;

	refuse_reentry(batch);

	/*
	 * The definition has been loaded anew while a statement was collecting.
	 * What it collected goes by the old one.
	 */
	if (set->def != fact)
		write_set(batch, set, false);
	if (set->lists == NULL)
	{
		set->lists = MemoryContextAllocZero(set->cxt, sizeof(OpList) * fact->nsync);
		definition_pin(fact);
		set->def = fact;
		set->owner = GetCurrentSubTransactionId();
	}
	*cxt = set->cxt;
	return set->lists;
}

/* batch_row_done: a row's operations have been added */
void
batch_row_done(FactDef *fact)
{
	Batch	   *batch = get_batch(fact->relid);
	Size		bytes = 0;
	int			i;

	if (collecting(batch, fact))
	{
		for (i = 0; i < fact->nsync; i++)
			bytes += batch->pending.lists[i].bytes;
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

/* batch_discard: the fact table was truncated */
void
batch_discard(Oid fact)
{
	Batch	   *batch = get_batch(fact);

	clear_set(batch, &batch->pending);
	clear_set(batch, &batch->now);
}

/* batch_note_insert: rows inserted by command cid have been seen; see trigger.c */
void
batch_note_insert(Oid fact, CommandId cid)
{
	Batch	   *batch = get_batch(fact);

	if (!batch->inserted || batch->last_insert < cid)
		batch->last_insert = cid;
	batch->inserted = true;
}

/* batch_note_foreign: a row on another server was changed by a statement; see trigger.c */
void
batch_note_foreign(Oid fact, CommandId cid)
{
	Batch	   *batch = get_batch(fact);

	if (!batch->foreign || batch->last_foreign < cid)
		batch->last_foreign = cid;
	batch->foreign = true;
}

/* batch_foreign_since: whether a statement that began after cid has changed such rows */
bool
batch_foreign_since(Oid fact, CommandId cid)
{
	Batch	   *batch = get_batch(fact);

	return batch->foreign && batch->last_foreign > cid;
}

/* batch_any_foreign: whether any statement of this transaction has */
bool
batch_any_foreign(Oid fact)
{
	return get_batch(fact)->foreign;
}

/* batch_inserted_since: whether rows were inserted by command cid or a later one */
bool
batch_inserted_since(Oid fact, CommandId cid)
{
	Batch	   *batch = get_batch(fact);

	return batch->inserted && batch->last_insert >= cid;
}

/*
 * refuse_reentry
 *		An index that a user has put on an index table may call functions, but they
 *		must not come back here.
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

/* write_set: writes what a set has collected; with keep it stays */
static void
write_set(Batch *batch, OpSet *set, bool keep)
{
	if (set->lists == NULL)
		return;
	refuse_reentry(batch);
	batch->writing = true;
	PG_TRY();
	{
		batch_write_lists(set->def, set->lists, keep);
	}
	PG_CATCH();
	{
		batch->writing = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	batch->writing = false;
	if (!keep)
		clear_set(batch, set);
}

/* batch_write_lists: writes what was collected, one list for each transactional index table */
void
batch_write_lists(FactDef *def, OpList *lists, bool keep)
{
	int			i;

	for (i = 0; i < def->nsync; i++)
	{
		OpList	   *list = &lists[i];

		if (list->n == 0 && list->skipped == 0)
			continue;
		if (apply_ops(def->defs[i], list, keep) && list->skipped > 0)
			catalog_count_skipped(def->defs[i]->relid, list->skipped);
	}
}

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
 *		Writes what is still collected before the transaction ends.  There is nothing
 *		unless the statement trigger of some statement did not fire.
 */
void
batch_write_all(void)
{
	Batch	   *batch;

	for (batch = touched; batch != NULL; batch = batch->next)
	{
		bool		pushed = batch->pending.lists != NULL && push_missing_snapshot();

		write_set(batch, &batch->pending, false);
		if (pushed)
			PopActiveSnapshot();
	}
}

/* batch_at_end_of_transaction: forgets all that the transaction has collected and noted */
void
batch_at_end_of_transaction(void)
{
	Batch	   *batch;

	for (batch = touched; batch != NULL; batch = batch->next)
	{
		clear_set(batch, &batch->now);
		clear_set(batch, &batch->pending);
		batch->inserted = false;
		batch->foreign = false;
		batch->touched = false;
	}
	touched = NULL;
}

/* batch_at_subxact_event: gives what a subtransaction has collected to its parent, or forgets it */
void
batch_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent)
{
	Batch	   *batch;

	for (batch = touched; batch != NULL; batch = batch->next)
	{
		if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			if (batch->now.lists != NULL && batch->now.owner == sub)
				clear_set(batch, &batch->now);
			if (batch->pending.lists != NULL && batch->pending.owner == sub)
				clear_set(batch, &batch->pending);
			else if (batch->written_in == sub)
				batch->written_in = InvalidSubTransactionId;
		}
		else
		{
			if (batch->pending.owner == sub)
				batch->pending.owner = parent;
			if (batch->written_in == sub)
			{
				batch->written_in = parent;
				if (batch->pending.owner == parent)
					clear_set(batch, &batch->pending);
			}
		}
	}
}
