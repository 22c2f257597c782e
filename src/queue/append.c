/*-------------------------------------------------------------------------
 *
 * append.c
 *	  The writers' side of the queue: appends the primary keys of changed rows.
 *
 * Called by trigger.c for each row, and by drain.c, which must not miss what its
 * own transaction has changed.
 *
 * Keys are collected until the transaction commits, and written together then:
 * one insertion for each changed row, however many asynchronous index tables
 * there are.  Those of a subtransaction that aborts are forgotten with it.  A
 * change and its key become visible to everybody at the same moment, which is
 * all that the drain relies on.
 *
 * Nobody is waited for.  A fact table has two queue tables, of which writers use
 * one; if that is locked, to be emptied, they use the other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../catalog/fact_rows.h"
#include "../catalog/validity.h"
#include "../definition/cache.h"
#include "../definition/resolve.h"
#include "../indextable.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "append.h"
#include "backlog.h"
#include "lost.h"
#include "shared_memory.h"

/* A subtransaction that collects more than this writes it before it goes on. */
#define MAX_COLLECTED_BYTES	(1024 * 1024)

/* Rows handed to the table at a time. */
#define CHUNK				100

/* What one subtransaction has collected, under one definition of the primary key. */
typedef struct Level
{
	SubTransactionId sub;
	FactDef    *def;			/* pinned */
	struct Level *parent;		/* of a subtransaction further out, or
								 * collected before */
	HeapTuple  *tuples;
	int			n;
	int			max;
	int			written;		/* so many by a subtransaction further in; if
								 * that aborts, none */
	Size		bytes;
} Level;

typedef struct Collected
{
	Oid			relid;			/* hash key: the fact table */
	bool		touched;
	struct Collected *next;		/* of those this transaction has touched */
	Level	   *level;			/* the innermost */
} Collected;

static HTAB *collected = NULL;
static Collected *touched = NULL;
static MemoryContext queue_cxt = NULL;
static bool have_written = false;	/* in this transaction */
static bool committing = false; /* nothing is collected any more */

static Collected *get_collected(Oid fact);
static Level *get_level(Collected *c, FactDef *def);
static bool same_keys(TupleDesc a, TupleDesc b);
static void drop_level(Collected *c);
static void write_level(Level *level, bool keep);
static Relation open_queue(FactDef *def);
static void append(FactDef *def, Relation queue, HeapTuple *tuples, int n);
static void get_slots(FactDef *def, int n);
static void write_all(void);
static void at_xact_event(XactEvent event, void *arg);
static void at_subxact_event(SubXactEvent event, SubTransactionId sub,
							 SubTransactionId parent, void *arg);
static void merge_level(Collected *c);

/* queue_init: called once, when the library is loaded */
void
queue_init(void)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(Collected);
	collected = hash_create("indextable queues", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	queue_cxt = AllocSetContextCreate(TopMemoryContext, "indextable queue",
									  ALLOCSET_DEFAULT_SIZES);
	RegisterXactCallback(at_xact_event, NULL);
	RegisterSubXactCallback(at_subxact_event, NULL);
}

/* queue_collect: notes the primary key of a row that has changed */
void
queue_collect(FactDef *def, TupleTableSlot *row)
{
	Datum		key[INDEX_MAX_KEYS];
	int			i;

	slot_getsomeattrs(row, def->max_attno);
	for (i = 0; i < def->npk; i++)
		key[i] = row->tts_values[def->pk_attno[i] - 1];
	queue_collect_key(def, key);
}

void
queue_collect_key(FactDef *def, Datum *key)
{
	MemoryContext old;
	Collected  *c;
	Level	   *level;
	Datum		values[INDEX_MAX_KEYS + 1];
	bool		isnull[INDEX_MAX_KEYS + 1] = {0};
	HeapTuple	tuple;
	int			i;

	/*
	 * An event trigger may write the fact table while its queue is being
	 * made.
	 */
	if (def->queue_desc == NULL)
		queue_lost_error(def);
	old = MemoryContextSwitchTo(queue_cxt);
	c = get_collected(def->relid);
	level = get_level(c, def);
	values[QUEUE_AT - 1] = TimestampTzGetDatum(GetCurrentStatementStartTimestamp());
	/* What is out of line may be gone when the key is read. */
	for (i = 0; i < def->npk; i++)
		values[QUEUE_KEY - 1 + i] =
			TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i)->attlen == -1 ?
			PointerGetDatum(PG_DETOAST_DATUM_PACKED(key[i])) : key[i];
	tuple = heap_form_tuple(def->queue_desc, values, isnull);
	for (i = 0; i < def->npk; i++)
		if (values[QUEUE_KEY - 1 + i] != key[i])
			pfree(DatumGetPointer(values[QUEUE_KEY - 1 + i]));

	if (level->n == level->max)
	{
		level->max = level->max == 0 ? 4 : level->max * 2;
		level->tuples = level->tuples == NULL ? palloc(sizeof(HeapTuple) * level->max) :
			repalloc_huge(level->tuples, sizeof(HeapTuple) * level->max);
	}
	level->tuples[level->n++] = tuple;
	level->bytes += HEAPTUPLESIZE + tuple->t_len;
	MemoryContextSwitchTo(old);
	if (level->bytes > MAX_COLLECTED_BYTES || committing)
		write_level(level, false);
}

static Collected *
get_collected(Oid fact)
{
	static Collected *last = NULL;
	Collected  *c = last;
	bool		found;

	if (c == NULL || c->relid != fact)
	{
		c = hash_search(collected, &fact, HASH_ENTER, &found);
		if (!found)
		{
			memset(c, 0, sizeof(Collected));
			c->relid = fact;
		}
		last = c;				/* entries are never removed */
	}
	if (!c->touched)
	{
		c->touched = true;
		c->next = touched;
		touched = c;
	}
	return c;
}

static Level *
get_level(Collected *c, FactDef *def)
{
	SubTransactionId sub = GetCurrentSubTransactionId();
	Level	   *level = c->level;

	if (level == NULL || level->sub != sub ||
		(level->def != def && !same_keys(level->def->queue_desc, def->queue_desc)))
	{
		level = palloc0(sizeof(Level));
		level->sub = sub;
		level->parent = c->level;
		c->level = level;
	}
	if (level->def != def)
	{
		definition_pin(def);
		if (level->def != NULL)
			definition_unpin(level->def);
		level->def = def;
	}
	return level;
}

/* same_keys: whether rows of one queue table could be of the other */
static bool
same_keys(TupleDesc a, TupleDesc b)
{
	int			i;

	if (a->natts != b->natts)
		return false;
	for (i = 0; i < a->natts; i++)
		if (TupleDescAttr(a, i)->atttypid != TupleDescAttr(b, i)->atttypid ||
			TupleDescAttr(a, i)->atttypmod != TupleDescAttr(b, i)->atttypmod)
			return false;
	return true;
}

/* drop_level: forgets the innermost level */
static void
drop_level(Collected *c)
{
	Level	   *level = c->level;
	int			i;

	for (i = 0; i < level->n; i++)
		heap_freetuple(level->tuples[i]);
	if (level->tuples != NULL)
		pfree(level->tuples);
	definition_unpin(level->def);
	c->level = level->parent;
	pfree(level);
}

/* write_level: writes what a level has collected, which then is empty, unless it is to keep it */
static void
write_level(Level *level, bool keep)
{
	Relation	queue;
	int			from = keep ? level->written : 0;
	int			i;

	if (level->n == from)
		return;
	queue = open_queue(level->def);
	if (queue != NULL)
	{
		/*
		 * A long key goes to a TOAST table, if the queue has one, and that
		 * takes a snapshot.
		 */
		bool		pushed = OidIsValid(queue->rd_rel->reltoastrelid) && push_missing_snapshot();

		append(level->def, queue, level->tuples + from, level->n - from);
		backlog_check(level->def, queue, level->tuples[level->n - 1]);
		if (pushed)
			PopActiveSnapshot();
		relation_close(queue, NoLock);
		have_written = true;
	}
	level->written = keep ? level->n : 0;
	if (keep)
		return;
	for (i = 0; i < level->n; i++)
		heap_freetuple(level->tuples[i]);
	level->n = 0;
	level->bytes = 0;
}

/*
 * open_queue
 *		The table to append to: one of the two will do, should the other be gone.  NULL
 *		if there is no queue for such keys any more: then there are no asynchronous
 *		index tables from before.
 */
static Relation
open_queue(FactDef *def)
{
	FactTableRow tables = {def->relid, def->queue, def->spare};
	Relation	rel = NULL;

	if (def->stale)
	{
		if (!catalog_read_fact(def->relid, &tables) || !OidIsValid(tables.queue))
			return NULL;
		(void) find_queue_tables(&tables, NULL);
	}
	if (OidIsValid(tables.queue) &&
		(!OidIsValid(tables.spare) || ConditionalLockRelationOid(tables.queue, RowExclusiveLock)))
		rel = try_relation_open(tables.queue, OidIsValid(tables.spare) ? NoLock : RowExclusiveLock);
	if (rel == NULL && OidIsValid(tables.spare))
		rel = try_relation_open(tables.spare, RowExclusiveLock);
	if (rel == NULL)
		queue_lost_error(def);
	if (!same_keys(RelationGetDescr(rel), def->queue_desc))
	{
		relation_close(rel, NoLock);
		return NULL;
	}
	return rel;
}

/*
 * append
 *		To the last block, or a new one: whoever reads the queue goes on where he
 *		stopped; see segment.c.
 */
static void
append(FactDef *def, Relation queue, HeapTuple *tuples, int n)
{
	CommandId	cid = GetCurrentCommandId(true);
	int			nslots = Min(n, CHUNK);
	int			done;
	int			i;

	/* not to where this backend has found room some time ago */
	RelationSetTargetBlock(queue, InvalidBlockNumber);

	/*
	 * Nobody subscribes to a queue: a subscriber has queues of its own, or
	 * none. Several rows cannot be kept from subscribers at once.
	 */
	if (n == 1 || XLogLogicalInfoActive())
	{
		for (i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			heap_insert(queue, tuples[i], cid, HEAP_INSERT_SKIP_FSM | HEAP_INSERT_NO_LOGICAL, NULL);
		}
		return;
	}
	get_slots(def, nslots);
	for (done = 0; done < n; done += nslots)
	{
		nslots = Min(nslots, n - done);
		for (i = 0; i < nslots; i++)
			ExecStoreHeapTuple(tuples[done + i], def->queue_slots[i], false);
		heap_multi_insert(queue, def->queue_slots, nslots, cid, HEAP_INSERT_SKIP_FSM, NULL);
		tuples[done + nslots - 1]->t_self = def->queue_slots[nslots - 1]->tts_tid;
		for (i = 0; i < nslots; i++)
			ExecClearTuple(def->queue_slots[i]);
		CHECK_FOR_INTERRUPTS();
	}
}

/* get_slots: at least so many; they are kept with the definition, being dear to make */
static void
get_slots(FactDef *def, int n)
{
	MemoryContext old = MemoryContextSwitchTo(def->cxt);

	if (def->queue_slots == NULL)
		def->queue_slots = palloc(sizeof(TupleTableSlot *) * CHUNK);
	while (def->nqueue_slots < n)
	{
		def->queue_slots[def->nqueue_slots] = MakeSingleTupleTableSlot(def->queue_desc,
																	   &TTSOpsHeapTuple);
		def->nqueue_slots++;
	}
	MemoryContextSwitchTo(old);
}

/*
 * queue_write
 *		Writes what this transaction has collected so far.  What is not of this
 *		subtransaction is written again later: if this one aborts, that counts, and
 *		if not, a key too many does no harm.
 */
void
queue_write(void)
{
	SubTransactionId sub = GetCurrentSubTransactionId();
	Collected  *c;
	Level	   *level;

	for (c = touched; c != NULL; c = c->next)
		for (level = c->level; level != NULL; level = level->parent)
			write_level(level, level->sub != sub);
}

/* queue_wake_at_commit: there are changes in a queue that this transaction has not queued */
void
queue_wake_at_commit(void)
{
	have_written = true;
}

/* queue_pending: whether this transaction has collected changes that it has not written */
bool
queue_pending(Oid fact)
{
	Collected  *c;
	Level	   *level;

	for (c = touched; c != NULL; c = c->next)
		if (c->relid == fact)
			for (level = c->level; level != NULL; level = level->parent)
				if (level->n > level->written)
					return true;
	return false;
}

static void
write_all(void)
{
	Collected  *c;
	Level	   *level;

	for (c = touched; c != NULL; c = c->next)
		for (level = c->level; level != NULL; level = level->parent)
			write_level(level, false);
}

static void
at_xact_event(XactEvent event, void *arg)
{
	Collected  *c;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			write_all();
			committing = true;
			break;
		case XACT_EVENT_COMMIT:
			if (have_written)
			{
				wait_point("a commit is visible but has sent no invalidations");

				/*
				 * A worker that is faster than our invalidations waits for
				 * what it needs of them.
				 */
				wake_workers();
			}
			pg_fallthrough;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			if (touched != NULL)
			{
				for (c = touched; c != NULL; c = c->next)
				{
					for (; c->level != NULL; c->level = c->level->parent)
						definition_unpin(c->level->def);
					c->touched = false;
				}
				touched = NULL;
				MemoryContextReset(queue_cxt);
			}
			have_written = false;
			committing = false;
			break;
		default:
			break;
	}
}

static void
at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	Collected  *c;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB &&
		event != SUBXACT_EVENT_PRE_COMMIT_SUB)
		return;
	for (c = touched; c != NULL; c = c->next)
	{
		Level	   *level;

		if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		{
			/* A loop of subtransactions must not collect without end. */
			level = c->level;
			if (level != NULL && level->sub == sub && level->parent != NULL &&
				level->bytes + level->parent->bytes > MAX_COLLECTED_BYTES)
				write_level(level, false);
			continue;
		}
		if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			while (c->level != NULL && c->level->sub == sub)
				drop_level(c);
			for (level = c->level; level != NULL; level = level->parent)
				level->written = 0;
			continue;
		}
		for (level = c->level; level != NULL && level->sub == sub; level = level->parent)
			level->sub = parent;
		while (c->level != NULL && c->level->parent != NULL &&
			   c->level->parent->sub == c->level->sub &&
			   same_keys(c->level->parent->def->queue_desc, c->level->def->queue_desc))
			merge_level(c);
	}
}

/* merge_level: the innermost level into the one before */
static void
merge_level(Collected *c)
{
	Level	   *level = c->level;
	Level	   *outer = level->parent;
	FactDef    *def = level->def;

	if (outer->n + level->n > outer->max)
	{
		MemoryContext old = MemoryContextSwitchTo(queue_cxt);

		outer->max = (outer->n + level->n) * 2;
		outer->tuples = outer->tuples == NULL ? palloc(sizeof(HeapTuple) * outer->max) :
			repalloc_huge(outer->tuples, sizeof(HeapTuple) * outer->max);
		MemoryContextSwitchTo(old);
	}
	if (level->n > 0)
		memcpy(outer->tuples + outer->n, level->tuples, sizeof(HeapTuple) * level->n);
	outer->n += level->n;
	outer->bytes += level->bytes;
	outer->written = 0;
	level->n = 0;
	level->def = outer->def;	/* the younger one is kept */
	outer->def = def;
	drop_level(c);
}
