/*-------------------------------------------------------------------------
 *
 * narrow_key.c
 *	  Takes the included fields out of an index table's primary key, where entries
 *	  are too wide for them.
 *
 * Called by apply.c before it writes wide entries, and by batch.c when the
 * transaction ends.
 *
 * The primary key covers the included fields for index-only scans, and a btree
 * takes entries up to MAX_INDEX_DATA bytes.  What is too wide is to be written all
 * the same, so the key is made anew without them, for which nobody else may use
 * the index table.  To wait for that in a writer's transaction would make two
 * writers, who both hold the index table, wait for each other, and others behind
 * them.  So it is never waited for in the queue of a lock:
 *
 * - Where the types of the columns keep every entry within the limit, nothing
 *   needs to be done, ever; see layout_max_covered_bytes().  Otherwise entries are measured when
 *   an index table is filled, and it covers only if all of them are at most half as
 *   wide as fits.
 * - A wider entry, that still fits, comes early.  It is only noted.  When its
 *   transaction is about to commit, and not in the middle of a statement, the key is
 *   made anew, if the index table is to be had at once and is so small that this
 *   takes a moment.  An error of that takes back nothing but that.  Else there is a
 *   warning, and the next such entry is another occasion.
 * - What does not fit is the last resort: the key is made anew before it is written,
 *   if the index table is to be had within a while.  Tries of a lock that are no
 *   waits for it come to an end by themselves, so nobody can be in a deadlock with
 *   us.  Of two who try, each holds the index table as a writer: the first to give
 *   up lets go of it when his transaction is undone, and the other has it then.  The
 *   transaction goes on with the lock, and may lock more rows.  Another writer, who
 *   has a row of the fact table locked first, and then waits for its index table, must
 *   not have one of these.  So the fact table is locked, too, in a mode that is not to
 *   be had while anybody has locked rows, and lets nobody do so until the end: who waits
 *   for us has no row of it that we might wait for.  He may have one of another table:
 *   from here on the transaction is like one after LOCK TABLE.
 *
 * Who has locked the index table against everybody has no other session writing or
 * reading it, whatever its isolation level; a snapshot that is older finds its
 * entries by the new key as by any index that was made meanwhile, or is kept from it
 * by indcheckxmin.  The lock and the new key go together in a rollback, also to a
 * savepoint, and in a crash; a definition that was cached before is stale, as
 * for any ALTER TABLE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "nodes/pg_list.h"
#include "storage/block.h"
#include "storage/bufmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "../catalog/usage.h"
#include "../definition/cache.h"
#include "../definition/layout.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/uncounted.h"
#include "diff.h"
#include "narrow_key.h"

/* So often an index table is tried to be had, every 10 ms, for an entry that does not fit. */
#define TRIES				100

/* An index table of so many pages, 32 MB, has its key made anew in a moment. */
#define EARLY_PAGES			4096

/* An index table to which a wide entry was written. */
typedef struct WideTable
{
	Oid			relid;
	SubTransactionId sub;		/* by this subtransaction */
} WideTable;

/* An attempt at it when the transaction commits. */
typedef struct Early
{
	Oid			relid;
	const char *why;			/* it was not made; NULL: it was, or is not
								 * needed any more */
} Early;

/* The primary key that covers. */
typedef struct CoveringKey
{
	char	   *constraint;
	char	   *tablespace;
	bool		clustered;		/* as its owner has set it */
	bool		identity;
} CoveringKey;

static List *wishes = NIL;		/* of Wish *, as long as the transaction */
static List *told = NIL;		/* of OIDs: index tables that this session has
								 * warned of */

static void note_wide_table(Oid relid);
static void narrow_key_now(IndexDef *def, OpList *list);
static bool lock_with_retries(IndexDef *def);
static void refuse_wide_entry(IndexDef *def, OpList *list, const char *constraint, bool used_here);
static void try_narrow_key(Oid relid);
static void narrow_key_in_subxact(void *arg);
static void narrow_pinned_key(IndexDef *def, FactDef *factdef);
static void warn(Oid relid, const char *why);
static BlockNumber count_pages(Oid relid);
static bool used_by_us(Oid relid);
static bool covering_key(IndexDef *def, CoveringKey *key);
static void narrow_primary_key(IndexDef *def);

/* narrow_key_for_ops: before entries are written to a covering index table, some of which are wide */
void
narrow_key_for_ops(IndexDef *def, OpList *list)
{
	if (list->widest > MAX_INDEX_DATA)
		narrow_key_now(def, list);
	else if (def->active || !def->async)
		note_wide_table(def->relid);

	/*
	 * While it is being built nobody reads it: the sooner, the less there is
	 * to make anew.
	 */
	else if (!used_by_us(def->relid) && lock_tree_now(def->relid, AccessExclusiveLock))
		narrow_primary_key(def);
}

static void
note_wide_table(Oid relid)
{
	MemoryContext old;
	WideTable  *wish;
	ListCell   *cell;

	foreach(cell, wishes)
	{
		/* Its own, or one that outlives it. */
		wish = lfirst(cell);
		if (wish->relid == relid && wish->sub <= GetCurrentSubTransactionId())
			return;
	}
	old = MemoryContextSwitchTo(TopTransactionContext);
	wish = palloc(sizeof(WideTable));
	wish->relid = relid;
	wish->sub = GetCurrentSubTransactionId();
	wishes = lappend(wishes, wish);
	MemoryContextSwitchTo(old);
}

/* narrow_keys_at_subxact_event: what was not written is no wish */
void
narrow_keys_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent)
{
	ListCell   *cell;

	foreach(cell, wishes)
	{
		WideTable  *wish = lfirst(cell);

		if (wish->sub != sub)
			continue;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			wishes = foreach_delete_current(wishes, cell);
		else
			wish->sub = parent;
	}
}

/* narrow_keys_at_xact_end: the wishes are gone with its memory */
void
narrow_keys_at_xact_end(void)
{
	wishes = NIL;
}

/*
 * narrow_key_now
 *		For entries that do not fit.  A drain does not even try for a while, as its
 *		caller tries again, row by row and later.
 */
static void
narrow_key_now(IndexDef *def, OpList *list)
{
	CoveringKey key;
	bool		used_here;

	/* An earlier part of the statement may have done it. */
	if (!covering_key(def, &key))
		return;
	used_here = used_by_us(def->relid);
	if (used_here || !lock_with_retries(def))
		refuse_wide_entry(def, list, key.constraint, used_here);
	narrow_primary_key(def);
}

/*
 * lock_with_retries
 *		Locks an index table against everybody, until the transaction ends, and so its
 *		fact table against whoever locks rows: see above.
 */
static bool
lock_with_retries(IndexDef *def)
{
	int			try;

	if (def->async)
		return lock_tree_now(def->relid, AccessExclusiveLock);
	for (try = 1;; try++)
	{
		if (lock_tree_now(def->fact->relid, ExclusiveLock))
		{
			if (lock_tree_now(def->relid, AccessExclusiveLock))
				return true;
			unlock_tree(def->fact->relid, ExclusiveLock);
		}
		if (try == TRIES)
			return false;
		sleep_interruptibly(10);
	}
}

/* refuse_wide_entry: the error for the widest of the entries */
static void
refuse_wide_entry(IndexDef *def, OpList *list, const char *constraint, bool used_here)
{
	HeapTuple	widest = NULL;
	const char *field = NULL;
	Size		field_size = 0;
	int			i;

	for (i = 0; i < list->n; i++)
		if (list->ops[i].kind != OP_DELETE && (widest == NULL || list->ops[i].tuple->t_len > widest->t_len))
			widest = list->ops[i].tuple;
	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
	{
		Field	   *f = &def->fields[i];
		bool		isnull;
		Datum		value = heap_getattr(widest, f->attno, def->desc, &isnull);
		Size		size = isnull ? 0 : f->typbyval ? sizeof(Datum) : datumGetSize(value, false, f->typlen);

		if (field == NULL || size > field_size)
		{
			field = NameStr(TupleDescAttr(def->desc, f->attno - 1)->attname);
			field_size = size;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("an entry is too long for the primary key of index table \"%s\" with its included fields",
					def->name),
			 used_here ?
			 errdetail("The entry has %zu bytes, %zu of them in field \"%s\"; at most %d are possible. The key cannot be rebuilt without the included fields while the statement or a cursor of this transaction uses the index table.",
					   list->widest, field_size, field, MAX_INDEX_DATA) :
			 errdetail("The entry has %zu bytes, %zu of them in field \"%s\"; at most %d are possible. The key cannot be rebuilt without the included fields while other transactions use the index table.",
					   list->widest, field_size, field, MAX_INDEX_DATA),
			 errhint("Before you repeat the transaction, run ALTER TABLE %s DROP CONSTRAINT %s, ADD %s;",
					 quoted_relation(def->relid), quote_identifier(constraint), layout_primary_key(def, false))));
}

/* narrow_keys_at_commit: for what was noted */
void
narrow_keys_at_commit(void)
{
	while (wishes != NIL)
	{
		Oid			relid = ((WideTable *) linitial(wishes))->relid;

		wishes = list_delete_first(wishes);
		try_narrow_key(relid);
	}
}

/*
 * try_narrow_key
 *		An error takes back what was attempted, in a subtransaction within another one:
 *		the server does not expect one to fail directly under a transaction that is
 *		about to commit, though it would bear it.
 */
static void
try_narrow_key(Oid relid)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	Early		early = {.relid = relid};
	ErrorData  *error;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	error = run_catching_errors(narrow_key_in_subxact, &early);
	ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	if (error != NULL)
	{
		/* Who cancels means the whole. */
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
			ReThrowError(error);
		warn(relid, psprintf("The key could not be rebuilt without them: %s.", error->message));
		FreeErrorData(error);
	}
	else if (early.why != NULL)
		warn(relid, early.why);
}

/* narrow_key_in_subxact: see run_catching_errors() */
static void
narrow_key_in_subxact(void *arg)
{
	Early	   *early = arg;
	FactDef    *factdef;
	IndexDef   *def;

	PushActiveSnapshot(GetTransactionSnapshot());
	def = definition_of_index_table(early->relid, &factdef);
	if (def != NULL && def->covering)
	{
		if (count_pages(early->relid) > EARLY_PAGES)
			early->why = "The key was not rebuilt without them because the index table is large.";
		else if (used_by_us(early->relid) || !lock_tree_now(early->relid, AccessExclusiveLock))
			early->why = "The key was not rebuilt without them because the index table is in use.";
		else
			narrow_pinned_key(def, factdef);
	}
	PopActiveSnapshot();
}

/* narrow_pinned_key: event triggers may have the definition loaded anew */
static void
narrow_pinned_key(IndexDef *def, FactDef *factdef)
{
	definition_pin(factdef);
	PG_TRY();
	{
		narrow_primary_key(def);
	}
	PG_FINALLY();
	{
		definition_unpin(factdef);
	}
	PG_END_TRY();
}

/* warn: once in a session, or it would be for every row */
static void
warn(Oid relid, const char *why)
{
	MemoryContext old;

	if (list_member_oid(told, relid))
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	told = lappend_oid(told, relid);
	MemoryContextSwitchTo(old);
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("entries are becoming too long for the primary key of index table \"%s\" with its included fields",
					get_rel_name(relid)),
			 errdetail("%s", why),
			 errhint("Entries of more than %d bytes will lock the index table for the rebuild, or be refused. To avoid that, run CALL " IT_SCHEMA ".rebuild(%s);",
					 MAX_INDEX_DATA, quote_literal_cstr(quoted_relation(relid)))));
}

static BlockNumber
count_pages(Oid relid)
{
	BlockNumber pages = 0;
	ListCell   *cell;

	foreach(cell, lock_leaves(relid, NULL, AccessShareLock))
	{
		Relation	rel = relation_open(lfirst_oid(cell), AccessShareLock);

		pages += RelationGetNumberOfBlocks(rel);
		relation_close(rel, NoLock);
	}
	return pages;
}

/*
 * used_by_us
 *		Whether this session is in the middle of reading an index table: the statement
 *		that writes does, or another one, or a cursor.  ALTER TABLE refuses that.
 */
static bool
used_by_us(Oid relid)
{
	bool		used = false;
	ListCell   *cell;

	foreach(cell, list_with_partitions(relid))
	{
		Relation	rel = relation_open(lfirst_oid(cell), AccessShareLock);

		used |= rel->rd_refcnt > 1 || AfterTriggerPendingOnRel(RelationGetRelid(rel));
		relation_close(rel, NoLock);
	}
	return used;
}

/* covering_key: false if there is none, any more */
static bool
covering_key(IndexDef *def, CoveringKey *key)
{
	Relation	rel = table_open(def->relid, AccessShareLock);
	Relation	index = open_primary_key(rel, AccessShareLock);
	bool		covers = index != NULL && layout_covers(def, index);

	if (covers)
	{
		key->constraint = pstrdup(RelationGetRelationName(index));
		key->tablespace = tablespace_of(index);
		key->clustered = index->rd_index->indisclustered;
		key->identity = index->rd_index->indisreplident;
	}
	if (index != NULL)
		index_close(index, NoLock);
	table_close(rel, NoLock);
	return covers;
}

/*
 * narrow_primary_key
 *		Makes the primary key anew without the included fields, in the old one's place.
 *		The index table is locked against everybody.
 */
static void
narrow_primary_key(IndexDef *def)
{
	CoveringKey key;
	List	   *old_keys;
	int			uncounted;

	if (!covering_key(def, &key))
		return;
	old_keys = usage_keys(def->relid);
	ereport(LOG,
			(errmsg("rebuilding the primary key of index table \"%s\" without its included fields",
					get_rel_name(def->relid)),
			 errdetail("Entries are too long, or are becoming too long, for an index that holds them as a whole. Index-only scans cannot return included fields any more.")));
	uncounted = begin_uncounted();
	layout_add_primary_key(def, false, key.tablespace, key.constraint);
	layout_mark_key(def->relid, key.constraint, key.clustered, key.identity);
	end_uncounted(uncounted);
	usage_follows(def->relid, old_keys);
}
