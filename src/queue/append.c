/*-------------------------------------------------------------------------
 *
 * append.c
 *	  Appends the primary keys of changed rows to a queue: the writers' side of it.
 *
 * Keys are collected until just before the transaction commits, and are written
 * together then, or earlier if they are many: one insertion for each changed row,
 * however many asynchronous index tables there are.  The keys of a subtransaction that
 * aborts are forgotten with it, or what it has written is rolled back.  A change and
 * its key become visible to other sessions at the same moment, and that is all that the
 * drain relies on.  drain() writes what its own transaction has collected before it
 * reads the queue, so that it does not miss these changes either.
 *
 * Writers wait for nobody.  A fact table has two queue tables, and writers append to
 * one of them; while that is locked because it is being emptied, they append to the
 * other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "queue.h"

/* A subtransaction that has collected more than this writes it before it goes on. */
#define MAX_COLLECTED_BYTES	(1024 * 1024)

/* The number of rows that are inserted at a time. */
#define CHUNK				100

/* What one subtransaction has collected, under one definition of the primary key. */
typedef struct Level
{
	SubTransactionId sub;
	FactDef    *def;			/* pinned */
	struct Level *parent;		/* what was collected before this, by an outer
								 * subtransaction, or by the same under
								 * another definition */
	Oid			queue;			/* of a leaf that has its own, or InvalidOid */
	HeapTuple  *tuples;			/* rows of the queue table */
	int			n;
	int			max;
	int			written;		/* how many an inner subtransaction has
								 * written already; 0 again if it aborts */
	Size		bytes;
} Level;

/* What this transaction has collected for one fact table, or a leaf of it. */
typedef struct Collected
{
	Oid			relid;			/* hash key: the fact table, or the leaf */
	bool		touched;		/* is in the list "touched" */
	struct Collected *next;		/* the next in that list */
	Level	   *level;			/* the innermost */
} Collected;

static HTAB *collected = NULL;	/* of Collected */
static Collected *touched = NULL;	/* those that this transaction has used */
static MemoryContext queue_cxt = NULL;	/* of levels and their tuples */
static bool have_written = false;	/* this transaction wakes workers when it
									 * commits */
static bool committing = false; /* what is collected now is written at once */

static Collected *get_collected(Oid fact);
static Level *get_level(Collected *c, FactDef *def);
static void drop_level(Collected *c);
static void write_level(Level *level, bool keep);
static Relation open_queue(FactDef *def);
static void append(FactDef *def, Relation queue, HeapTuple *tuples, int n);
static void get_slots(FactDef *def, int n);
static void merge_level(Collected *c);

/* queue_init: prepares this file's data; called once, when the library is loaded */
void
queue_init(void)
{
	collected = hash_by_oid("indextable queues", 16, sizeof(Collected), NULL);
	queue_cxt = AllocSetContextCreate(TopMemoryContext, "indextable queue",
									  ALLOCSET_DEFAULT_SIZES);
}

/*
 * queue_collect
 *		Collects the primary key of a row that has changed; leaf is NULL, or the one that it
 *		is in.
 */
void
queue_collect(FactDef *def, Leaf *leaf, TupleTableSlot *row)
{
	Datum		key[INDEX_MAX_KEYS];

	slot_getsomeattrs(row, def->layout.max_attno);
	for (int i = 0; i < def->layout.npk; i++)
		key[i] = row->tts_values[def->layout.pk_attno[i] - 1];
	queue_collect_key(def, leaf, key);
}

/*
 * queue_collect_key
 *		Collects a primary key, given as the values of its columns; NULL, in a feed, stands
 *		for all rows.
 */
void
queue_collect_key(FactDef *def, Leaf *leaf, Datum *key)
{
	MemoryContext old;
	Collected  *c;
	Level	   *level;
	Datum		values[INDEX_MAX_KEYS + 2];
	bool		isnull[INDEX_MAX_KEYS + 2] = {0};
	HeapTuple	tuple;

	/* An event trigger may write a fact table whose queue is being made. */
	if (def->queue.desc == NULL)
		queue_lost_error(def);
	old = MemoryContextSwitchTo(queue_cxt);
	c = get_collected(leaf != NULL && OidIsValid(leaf->queue) ? leaf->relid : def->relid);
	level = get_level(c, def);
	values[QUEUE_AT - 1] = TimestampTzGetDatum(GetCurrentStatementStartTimestamp());
	/* What is stored out of line may be deleted before the key is read. */
	for (int i = 0; i < def->layout.npk && key != NULL; i++)
		values[QUEUE_KEY - 1 + i] =
			TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i)->attlen == -1 ?
			PointerGetDatum(PG_DETOAST_DATUM_PACKED(key[i])) : key[i];
	if (leaf != NULL)
		level->queue = leaf->queue;
	if (OidIsValid(level->queue))
		values[QUEUE_KEY - 1 + def->layout.npk] = Int64GetDatum(def->place->changes->next_number());
	if (key == NULL)
		memset(&isnull[QUEUE_KEY - 1], true, def->layout.npk * sizeof(bool));
	tuple = heap_form_tuple(def->queue.desc, values, isnull);
	for (int i = 0; i < def->layout.npk && key != NULL; i++)
		if (values[QUEUE_KEY - 1 + i] != key[i])
			pfree(DatumGetPointer(values[QUEUE_KEY - 1 + i]));

	if (level->n == level->max)
		level->tuples = grow_array(level->tuples, &level->max, 4, sizeof(HeapTuple), queue_cxt);
	level->tuples[level->n++] = tuple;
	level->bytes += HEAPTUPLESIZE + tuple->t_len;
	MemoryContextSwitchTo(old);
	if (level->bytes > MAX_COLLECTED_BYTES || committing)
		write_level(level, false);
}

/*
 * get_collected
 *		Returns the entry of a fact table, which is in the list "touched" then.
 */
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

/*
 * get_level
 *		Returns the level to which keys of the current subtransaction are added; it is a
 *		new one if there is none, or if the columns of the primary key have other types
 *		since.
 */
static Level *
get_level(Collected *c, FactDef *def)
{
	Level	   *level = c->level;

	if (level == NULL || !belongs_to(level->sub, GetCurrentSubTransactionId()) ||
		(level->def != def && !same_columns(level->def->queue.desc, def->queue.desc)))
	{
		level = palloc0(sizeof(Level));
		level->sub = GetCurrentSubTransactionId();
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

/* drop_level: forgets the innermost level, and what it has collected */
static void
drop_level(Collected *c)
{
	Level	   *level = c->level;

	for (int i = 0; i < level->n; i++)
		heap_freetuple(level->tuples[i]);
	if (level->tuples != NULL)
		pfree(level->tuples);
	definition_unpin(level->def);
	c->level = level->parent;
	pfree(level);
}

/*
 * write_level
 *		Writes the keys that a level has collected to the queue.  With keep the level keeps
 *		them, and counts them as written; otherwise it is empty afterwards.
 */
static void
write_level(Level *level, bool keep)
{
	FactDef    *def = level->def;
	int			from = keep ? level->written : 0;

	if (level->n == from)
		return;
	if (def->place->changes->append(def, level->queue, level->tuples + from, level->n - from))
		have_written |= !def->queue.feed;
	level->written = keep ? level->n : 0;
	if (keep)
		return;
	for (int i = 0; i < level->n; i++)
		heap_freetuple(level->tuples[i]);
	level->n = 0;
	level->bytes = 0;
}

/*
 * open_queue
 *		Opens and locks the queue table to append to, and returns it.  Returns NULL if there
 *		is no queue for such keys any more.
 *
 * Should one of the two tables not exist any more, the other one will do.  If there is
 * no queue, or its columns have other types, then the asynchronous index tables that
 * the keys were collected for have been dropped, and nobody needs the keys.
 */
static Relation
open_queue(FactDef *def)
{
	FactTableRow tables = {def->relid, def->queue.current, def->queue.spare, def->queue.feed};
	bool		stale = def->run.stale;
	Relation	rel = NULL;

	if (stale)
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

	/* They may have been dropped while they were waited for. */
	if (rel == NULL && !stale && def->run.stale)
		return open_queue(def);
	if (rel == NULL)
		queue_lost_error(def);
	if (!same_columns(RelationGetDescr(rel), def->queue.desc))
	{
		relation_close(rel, NoLock);
		return NULL;
	}
	return rel;
}

/*
 * queue_append
 *		Inserts rows into the queue table in use, and warns if there are too many; returns
 *		false if there is none.
 */
bool
queue_append(FactDef *def, Oid queue, HeapTuple *rows, int n)
{
	Relation	rel = open_queue(def);
	bool		pushed;

	if (rel == NULL)
		return false;
	/* A long key goes to a TOAST table, if there is one, with a snapshot. */
	pushed = OidIsValid(rel->rd_rel->reltoastrelid) && push_missing_snapshot();
	append(def, rel, rows, n);
	backlog_check(def, rel, rows[n - 1]);
	if (pushed)
		PopActiveSnapshot();
	relation_close(rel, NoLock);
	return true;
}

/*
 * append
 *		Inserts rows into a queue table, into its last block or new ones only.
 *
 * A session that reads the queue skips blocks that it has found to be closed, to which
 * nothing may be added any more; see queue_scan.c.
 */
static void
append(FactDef *def, Relation queue, HeapTuple *tuples, int n)
{
	CommandId	cid = GetCurrentCommandId(true);
	int			nslots = Min(n, CHUNK);

	/* The block where this backend has found room before may be closed now. */
	RelationSetTargetBlock(queue, InvalidBlockNumber);

	/*
	 * Rows of a queue are not sent to subscribers: a subscriber has queues of
	 * its own, or none.  The server has a flag for that when one row is
	 * inserted, but none when several are inserted at once.
	 */
	if (n == 1 || XLogLogicalInfoActive())
	{
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			heap_insert(queue, tuples[i], cid, HEAP_INSERT_SKIP_FSM | HEAP_INSERT_NO_LOGICAL, NULL);
		}
		return;
	}
	get_slots(def, nslots);
	for (int done = 0; done < n; done += nslots)
	{
		nslots = Min(nslots, n - done);
		for (int i = 0; i < nslots; i++)
			ExecStoreHeapTuple(tuples[done + i], def->queue.slots[i], false);
		heap_multi_insert(queue, def->queue.slots, nslots, cid, HEAP_INSERT_SKIP_FSM, NULL);
		tuples[done + nslots - 1]->t_self = def->queue.slots[nslots - 1]->tts_tid;
		for (int i = 0; i < nslots; i++)
			ExecClearTuple(def->queue.slots[i]);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * get_slots
 *		Creates slots for rows of the queue until the definition has at least n.  They are
 *		kept with the definition because creating them is expensive.
 */
static void
get_slots(FactDef *def, int n)
{
	MemoryContext old = MemoryContextSwitchTo(def->run.cxt);

	if (def->queue.slots == NULL)
		def->queue.slots = palloc(sizeof(TupleTableSlot *) * CHUNK);
	while (def->queue.nslots < n)
	{
		def->queue.slots[def->queue.nslots] = MakeSingleTupleTableSlot(def->queue.desc,
																	   &TTSOpsHeapTuple);
		def->queue.nslots++;
	}
	MemoryContextSwitchTo(old);
}

/*
 * queue_write
 *		Writes what this transaction has collected so far.
 *
 * Outer subtransactions keep what they have collected.  If this subtransaction aborts,
 * what it has written for them is lost, and they write it again; if it does not, a key
 * that is queued twice does no harm.
 */
void
queue_write(void)
{
	Collected  *c;
	Level	   *level;

	for (c = touched; c != NULL; c = c->next)
		for (level = c->level; level != NULL; level = level->parent)
			write_level(level, !belongs_to(level->sub, GetCurrentSubTransactionId()));
}

/*
 * queue_wake_at_commit
 *		Has workers woken when this transaction commits, although it may have queued
 *		nothing itself.
 */
void
queue_wake_at_commit(void)
{
	have_written = true;
}

/*
 * queue_pending
 *		Returns whether this transaction has collected changes of a fact table that it has
 *		not written yet.
 */
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

/*
 * queue_before_commit
 *		Writes what all subtransactions have collected before the transaction is committed or
 *		prepared.
 */
void
queue_before_commit(void)
{
	for (Collected *c = touched; c != NULL; c = c->next)
		for (Level *level = c->level; level != NULL; level = level->parent)
			write_level(level, false);
	committing = true;
	if (touched != NULL)
		wait_point("what is queued is written before the commit");
}

/* queue_at_end: wakes workers if the transaction has committed, and forgets everything */
void
queue_at_end(bool committed)
{
	Collected  *c;

	if (committed && have_written)
	{
		wait_point("a commit is visible but has sent no invalidations");

		/*
		 * The commit is visible, but its invalidations are not sent yet.  A
		 * worker that is faster than they are waits for those that it needs,
		 * see tree_snapshot().
		 */
		wake_workers();
	}
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
}

/*
 * queue_at_abort_of
 *		Forgets what a subtransaction that aborts has collected, and what it has written for
 *		outer levels.
 */
void
queue_at_abort_of(SubTransactionId sub)
{
	Collected  *c;
	Level	   *level;

	for (c = touched; c != NULL; c = c->next)
	{
		while (c->level != NULL && belongs_to(c->level->sub, sub))
			drop_level(c);
		for (level = c->level; level != NULL; level = level->parent)
			level->written = 0;
	}
}

/*
 * queue_before_subcommit
 *		Writes what a subtransaction has collected, so that a loop of them does not collect
 *		without a limit.
 */
void
queue_before_subcommit(void)
{
	Collected  *c;

	for (c = touched; c != NULL; c = c->next)
	{
		Level	   *level = c->level;

		if (level != NULL && belongs_to(level->sub, GetCurrentSubTransactionId()) && level->parent != NULL &&
			level->bytes + level->parent->bytes > MAX_COLLECTED_BYTES)
			write_level(level, false);
	}
}

/*
 * queue_at_commit_to
 *		Merges what a subtransaction has collected with what its parent has, to which it has committed.
 */
void
queue_at_commit_to(SubTransactionId parent)
{
	Collected  *c;

	for (c = touched; c != NULL; c = c->next)
		while (c->level != NULL && c->level->parent != NULL && belongs_to(c->level->parent->sub, parent) &&
			   same_columns(c->level->parent->def->queue.desc, c->level->def->queue.desc))
			merge_level(c);
}

/* merge_level: merges the innermost level into its parent */
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
	/* The younger definition is kept; drop_level() unpins the other. */
	level->def = outer->def;
	outer->def = def;
	drop_level(c);
}
