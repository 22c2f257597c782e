/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Loads what the catalog says of a fact table's index tables, has it resolved against
 *	  the tables (resolve.c), and caches the result in the backend.
 *
 * When the fact table, one of its index tables, or a function or domain that their
 * expressions use changes, invalidation.c tells this cache, which marks the definition
 * as stale.  It is loaded anew the next time that it is asked for.  A caller that keeps
 * a definition while other definitions may be asked for holds or pins it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/wait_point.h"
#include "../util/while_set.h"
#include "definition.h"

typedef struct CacheEntry
{
	Oid			relid;			/* hash key: the fact table */
	FactDef    *def;			/* NULL: none loaded */
	TimestampTz counted_in;		/* when the transaction of this began: */
	int			unsettled;		/* number of definitions that had changed
								 * before they could be used */
} CacheEntry;

/* The number of definitions that could not be used after which a transaction gives up. */
#define MAX_UNSETTLED		100

static HTAB *cache = NULL;
static CacheEntry *last = NULL; /* used last; entries are never removed */

static void definitions_relation_changed(Oid relid);
static void definitions_object_changed(int id, uint32 hash);
static void count_unsettled(FactDef *fact);
static void release(CacheEntry *entry);
static void release_definition(void *arg);
static Oid	cached_fact_of(Oid index_table);
static Oid	fact_of(Oid index_table);
static FactDef *find_definition(Oid root, bool writing);
static FactDef *get_definition_of(Relation fact, Oid root, bool writing);
static FactDef *load_to_cache(Relation fact, Oid root, bool writing);
static bool is_left_alone(DefinitionRow *stored, bool writing);
static List *read_definitions(Oid fact, bool writing);
static List *read_definitions_of_part(Oid part, Oid root);
static FactDef *load_fact_def(Relation fact, Oid root, bool writing);
static FactDef *build_as_owner(Relation fact, Oid root, bool writing, MemoryContext cxt);
static FactDef *build_fact_def(Relation fact, Oid root, bool writing, MemoryContext cxt);
static void distrust_without_triggers(FactDef *factdef, Relation fact);
static void add_definition(FactDef *factdef, IndexDef *def);

static ChangeListener definitions_listener =
{
	.watched_relation = definitions_relation_changed,
	.watched_object = definitions_object_changed
};

/*
 * definition_of_fact
 *		Returns the definition of a fact table, with those of its index tables, if any.
 *		fact is open and locked, and is the fact table or a partition of it; root is the
 *		fact table, under which the index tables are registered.
 *
 * Unless the result is pinned, it is valid only until the definition is asked for again,
 * which a statement or a function that is run meanwhile may do.
 */
FactDef *
definition_of_fact(Relation fact, Oid root)
{
	return get_definition_of(fact, root, false);
}

/*
 * definition_for_writer
 *		Returns the definition of a fact table, as definition_of_fact() does, for a writer of
 *		the fact table, which only queues what asynchronous index tables need: no lock of theirs
 *		is waited for, because writers wait for nobody. The columns and indexes of these tables
 *		may be missing in the result.
 *
 * What a writer needs of them is in the catalog: whether they are there, and which columns of
 * the fact table they depend on.  A command that changes that locks writers of the fact table
 * out until it commits.  So what is read under a writer's lock on the fact table, with the
 * newest snapshot, stays true while the lock is held.  The exception is DROP TABLE: keys that
 * are queued for a table that is gone do no harm.
 */
FactDef *
definition_for_writer(Relation fact, Oid root)
{
	return get_definition_of(fact, root, true);
}

/*
 * definition_for_writer_of_part
 *		Returns the definition of a fact table whose rows are in parts, as definition_for_writer() does, for a
 *		writer who queues what becomes of the rows of one, which is open and locked.  The fact table is not locked:
 *		a command on it may hold its lock already, and wait for this writer to release the part.
 *
 * So the columns, and the primary key, are read from the part, whatever part that is, and not from the table.
 */
FactDef *
definition_for_writer_of_part(Relation part, Oid root)
{
	FactDef    *def = find_definition(root, true);

	return def != NULL ? def : load_to_cache(part, root, true);
}

/* get_definition_of: does what one of the first two above does */
static FactDef *
get_definition_of(Relation fact, Oid root, bool writing)
{
	FactDef    *def = find_definition(root, writing);
	Relation	rel;

	if (def != NULL)
		return def;
	if (RelationGetRelid(fact) == root)
		return load_to_cache(fact, root, writing);
	rel = relation_open(root, AccessShareLock);
	def = load_to_cache(rel, root, writing);
	relation_close(rel, NoLock);
	return def;
}

/* load_to_cache: loads the definition of a fact table, root, and caches it; see load_fact_def() */
static FactDef *
load_to_cache(Relation fact, Oid root, bool writing)
{
	CacheEntry *entry;
	FactDef    *def;
	bool		found;

	if (cache == NULL)
	{
		listen_to_changes(&definitions_listener);
		cache = hash_by_oid("indextable definitions", 32, sizeof(CacheEntry), NULL);
	}
	entry = hash_search(cache, &root, HASH_ENTER, &found);
	if (!found)
	{
		entry->def = NULL;
		entry->counted_in = 0;
	}
	def = load_fact_def(fact, root, writing);

	/* A function that the planner has called may have loaded it, too. */
	release(entry);
	return entry->def = def;
}

/*
 * fresh_definition
 *		Returns the cached definition, or NULL if there is none or it may be out of date.
 */
FactDef *
fresh_definition(Oid root)
{
	return find_definition(root, false);
}

/* fresh_definition_for_writer: returns the same for a writer, who does not need all of it */
FactDef *
fresh_definition_for_writer(Oid root)
{
	return find_definition(root, true);
}

/* find_definition: does what one of the two above does */
static FactDef *
find_definition(Oid root, bool writing)
{
	CacheEntry *entry = last;

	if (entry == NULL || entry->relid != root)
		entry = cache == NULL ? NULL : hash_search(cache, &root, HASH_FIND, NULL);
	if (entry == NULL || entry->def == NULL || entry->def->run.stale || (entry->def->for_writer && !writing))
		return NULL;
	last = entry;
	return entry->def;
}

/* find_index_def: returns the definition of an index table in that of its fact table, or NULL */
IndexDef *
find_index_def(FactDef *fact, Oid index_table)
{
	for (int i = 0; i < fact->nall; i++)
		if (fact->defs[i]->relid == index_table)
			return fact->defs[i];
	return NULL;
}

/*
 * definition_of_index_table
 *		Returns the definition of an index table, whose fact table it locks against DDL.
 *		Returns NULL if the table is no index table.
 */
IndexDef *
definition_of_index_table(Oid index_table)
{
	Oid			relid = cached_fact_of(index_table);

	/*
	 * The fact table that the cache names may be out of date.  Then the first
	 * attempt finds nothing, and the second asks the catalog.
	 */
	for (int attempt = 0; attempt < 2; attempt++)
	{
		Relation	fact;
		IndexDef   *def;

		if (!OidIsValid(relid))
			relid = fact_of(index_table);
		fact = OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
		if (fact != NULL)
		{
			def = find_index_def(definition_of_fact(fact, relid), index_table);
			relation_close(fact, NoLock);
			if (def != NULL)
				return def;
		}
		relid = InvalidOid;
	}
	return NULL;
}

/* fact_of: returns the fact table of an index table, or InvalidOid */
static Oid
fact_of(Oid index_table)
{
	const Place *place = place_of(index_table);

	return place->fact_of != NULL ? place->fact_of(index_table) : catalog_fact_of(index_table);
}

/*
 * definition_open
 *		Returns the definition of an index table like definition_of_index_table(), but held
 *		in the current memory context, and with both tables open and locked against DDL.  The
 *		fact table is locked first, as everywhere.
 */
IndexDef *
definition_open(Oid index_table, Relation *fact, Relation *rel)
{
	IndexDef   *def;

	do
	{
		def = definition_of_index_table(index_table);
		if (def == NULL)
			return NULL;
	} while (!definition_settled(def->fact, lock_newly(index_table, AccessShareLock)));
	*fact = relation_open(def->fact->relid, NoLock);
	*rel = relation_open(index_table, NoLock);
	definition_hold(def->fact, CurrentMemoryContext);
	return def;
}

/*
 * definition_lock
 *		Locks the index tables defs[from] to defs[to - 1] against DDL, as their writers do, those of
 *		totals together with the first, and returns whether one of the locks is new.  Stops early if
 *		the definition turns out to have changed.
 */
bool
definition_lock(FactDef *fact, int from, int to)
{
	bool		more = false;

	for (int i = from; i < to && !fact->run.changed; i++)
		more |= lock_once(fact->defs[i]->relid, RowExclusiveLock, &fact->defs[i]->run.locked);
	for (int i = 0; i < fact->ntotals && from == 0 && !fact->run.changed; i++)
		more |= lock_once(fact->totals[i]->relid, RowExclusiveLock, &fact->totals[i]->run.locked);
	return more;
}

/*
 * definition_settled
 *		Returns whether a definition can be used as it is, now that the locks which it calls
 *		for are taken.  If it cannot, the caller asks for the definition and takes its locks
 *		once more.  more_locks tells whether one of the locks was not held yet when the
 *		definition was asked for.
 *
 * A definition has to describe the tables as they are under the locks.  There are two
 * cases in which it does.  The first is that there has been no news of anything that it
 * depends on by the time the last lock was taken: another session that changes what a
 * lock guards sends the news before it releases its own lock, and to take a lock is to
 * hear the news that have been sent.  The second is that all of the locks were held
 * already when the definition was loaded, or was found in the cache and fresh: no other
 * session has changed since then what they guard.  It does not count in the second case
 * that the definition may have changed, as when the server has not kept all news for this
 * backend; then it is loaded anew the next time that it is asked for.
 *
 * What this transaction changes itself it hears of in any case.  So it does of changes
 * to what no lock guards, such as a function that is replaced.  A rollback to a savepoint
 * may release locks, which does not matter, because they are taken again before a definition
 * is used.
 *
 * The caller does not go on for ever.  A definition that is not settled has changed, or it
 * is stale and has called for a lock that was not held.  The latter happens only once,
 * unless the fact table has other index tables each time.  So the caller comes to an end
 * with debug_discard_caches, too, where every definition is stale as soon as it is loaded.
 * What changes a definition each time that it is read is code that it has called itself: then
 * this function raises an error in the end.
 */
bool
definition_settled(FactDef *fact, bool more_locks)
{
	if (!fact->run.changed && !(fact->run.stale && more_locks))
		return true;
	count_unsettled(fact);
	return false;
}

/*
 * count_unsettled
 *		Counts a definition that could not be used; raises an error if this transaction has
 *		met too many.
 */
static void
count_unsettled(FactDef *fact)
{
	CacheEntry *entry = hash_search(cache, &fact->relid, HASH_FIND, NULL);

	if (entry == NULL)
		return;
	if (entry->counted_in != GetCurrentTransactionStartTimestamp())
		entry->unsettled = 0;
	entry->counted_in = GetCurrentTransactionStartTimestamp();
	if (++entry->unsettled > MAX_UNSETTLED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("definition of the index tables of \"%s\" changes whenever it is read", fact->name),
				 errhint("A function that a filter or a field calls must not alter what they use.")));
}

/*
 * definition_pin
 *		Keeps a definition in memory until it is unpinned, even if it is replaced in the
 *		cache.
 */
void
definition_pin(FactDef *fact)
{
	fact->run.pins++;
}

/*
 * definition_unpin
 *		Undoes one definition_pin(); the last one frees a definition that has been replaced.
 */
void
definition_unpin(FactDef *fact)
{
	Assert(fact->run.pins > 0);
	if (--fact->run.pins == 0 && fact->run.replaced)
		MemoryContextDelete(fact->run.cxt);
}

/*
 * definition_hold
 *		Keeps a definition in memory as long as what is in cxt, which an error ends, too.
 */
void
definition_hold(FactDef *fact, MemoryContext cxt)
{
	MemoryContextCallback *callback = MemoryContextAlloc(cxt, sizeof(MemoryContextCallback));

	callback->func = release_definition;
	callback->arg = fact;
	definition_pin(fact);
	MemoryContextRegisterResetCallback(cxt, callback);
}

static void
release_definition(void *arg)
{
	definition_unpin(arg);
}

/*
 * definitions_relation_changed
 *		Marks the definitions that depend on a relation; InvalidOid: all of them.
 */
static void
definitions_relation_changed(Oid relid)
{
	HASH_SEQ_STATUS seq;
	CacheEntry *entry;
	bool		changed;

	if (cache == NULL)
		return;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		FactDef    *def = entry->def;

		if (def == NULL)
			continue;
		changed = OidIsValid(relid) &&
			(relid == def->relid || relid == def->part || relid == def->queue.current ||
			 relid == def->queue.spare || list_member_oid(def->missing, relid) ||
			 list_member_oid(def->wholes, relid) ||
			 (def->run.leaves != NULL && hash_search(def->run.leaves, &relid, HASH_FIND, NULL) != NULL));
		for (int i = 0; OidIsValid(relid) && i < def->nall && !changed; i++)
			changed = def->defs[i]->relid == relid || def->defs[i]->layout.primary_index == relid ||
				def->defs[i]->layout.row_index == relid || is_partition_of_definition(def->defs[i], relid);
		def->run.stale |= changed || !OidIsValid(relid);
		def->run.changed |= changed;
	}
}

/*
 * definitions_object_changed
 *		Marks the definitions with an expression that uses a function or a domain: it may
 *		have been compiled with the old body of the function, or the old constraints of the
 *		domain.  hash is 0 if any of them may have changed.
 */
static void
definitions_object_changed(int id, uint32 hash)
{
	HASH_SEQ_STATUS seq;
	CacheEntry *entry;

	if (cache == NULL)
		return;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		if (entry->def == NULL)
			continue;
		foreach_ptr(CodeObject, object, entry->def->code)
		{
			if (object->cache == id && (hash == 0 || object->hash == 0 || object->hash == hash))
				entry->def->run.stale = true, entry->def->run.changed |= hash != 0;
		}
	}
}

/* release: takes a definition out of the cache, and frees it unless it is pinned */
static void
release(CacheEntry *entry)
{
	if (entry->def != NULL && entry->def->run.pins == 0)
		MemoryContextDelete(entry->def->run.cxt);
	else if (entry->def != NULL)
		entry->def->run.replaced = true;
	entry->def = NULL;
}

/*
 * cached_fact_of
 *		Returns the fact table of an index table as far as the cache knows it, or InvalidOid.
 */
static Oid
cached_fact_of(Oid index_table)
{
	HASH_SEQ_STATUS seq;
	CacheEntry *entry;

	if (cache == NULL)
		return InvalidOid;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		if (entry->def != NULL && find_index_def(entry->def, index_table) != NULL)
		{
			hash_seq_term(&seq);
			return entry->relid;
		}
	}
	return InvalidOid;
}

/*
 * load_fact_def
 *		Loads the definition of a fact table, root, from the catalog and the tables as they are.  fact is that
 *		table or, for a writer who queues, a part of it that has the columns.
 *		It is stale from the beginning if something that it depends on has changed, or may
 *		have changed, while it was loaded.
 *
 * It is loaded as the owner: the server calls functions when it looks at indexes and partition
 * keys for the first time, and a role that looks at the status of all index tables loads those
 * of others.
 */
static FactDef *
load_fact_def(Relation fact, Oid root, bool writing)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable definition",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FactDef    *volatile factdef = NULL;
	Loading		load;

	watch_begin_load(&load);
	DO_AND_UNDO(watch_end_load(&load), factdef = build_as_owner(fact, root, writing, cxt));
	factdef->run.changed = watch_objects(factdef->code, &load) || load.changed;
	factdef->run.stale = load.suspect || factdef->run.changed;
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(cxt, CacheMemoryContext);
	return factdef;
}

/* build_as_owner: makes the definition of a fact table, root, as its owner */
static FactDef *
build_as_owner(Relation fact, Oid root, bool writing, MemoryContext cxt)
{
	FactDef    *factdef;

	/* Functions whose results are constants are called now. */
	AS_OWNER(fact->rd_rel->relowner);
	{
		factdef = build_fact_def(fact, root, writing, cxt);
	}
	END_AS_OWNER();
	wait_point("a definition has been read");
	return factdef;
}

/*
 * build_fact_def
 *		Makes the definition of a fact table, root, in the memory context cxt, which is the current
 *		one.  For fact see load_fact_def().
 */
static FactDef *
build_fact_def(Relation fact, Oid root, bool writing, MemoryContext cxt)
{
	FactTableRow tables = {0};
	bool		of_part = RelationGetRelid(fact) != root;
	Oid			whole = place_of(root)->definitions != NULL ? place_table_of_part(root) : InvalidOid;
	List	   *stored;
	List	   *hidden;
	DefinitionRow *first;
	FactDef    *factdef;

	watch_relation(root);
	watch_relation(RelationGetRelid(fact));
	if (OidIsValid(whole))
		watch_relation(whole);
	stored = of_part ? read_definitions_of_part(RelationGetRelid(fact), root) : read_definitions(root, writing);
	first = stored == NIL ? NULL : linitial(stored);
	factdef = first == NULL ? make_fact_def(fact, root, NIL, NULL, cxt) :
		make_fact_def(fact, root, first->primary_key, get_stored_column_names(fact, first), cxt);
	factdef->for_writer = of_part;
	if (OidIsValid(whole))
		factdef->wholes = list_make1_oid(whole);
	if (of_part)
		factdef->part = RelationGetRelid(fact);
	factdef->registered = catalog_read_fact(root, &tables) || stored != NIL;
	if (factdef->registered && OidIsValid(tables.queue))
	{
		/* A fact table that was moved later has left its queue behind. */
		if (place_of(tables.queue) != factdef->place)
			factdef->place = place_of_all_others();
		watch_relation(tables.queue);
		watch_relation(tables.spare);
		factdef->queue.desc = queue_columns(factdef, fact);
		factdef->queue.lost = !find_queue_tables(&tables, factdef->queue.desc) &&
			(factdef->place->changes->ntables > 1 || !OidIsValid(tables.queue));
		factdef->queue.current = tables.queue;
		factdef->queue.spare = tables.spare;
		note_feed(factdef, fact, tables.feed);
	}
	refuse_unfinished(fact);
	factdef->defs = palloc(sizeof(IndexDef *) * Max(list_length(stored), 1));
	factdef->totals = factdef->defs;
	hidden = catalog_hidden();
	foreach_ptr(DefinitionRow, s, stored)
	{
		const char **names;
		IndexDef   *def;
		bool		left_alone = of_part || is_left_alone(s, writing);
		Relation	rel = left_alone ? NULL : try_relation_open(s->index_table, NoLock);
		char	   *name = left_alone ? get_rel_name(s->index_table) : NULL;

		if (rel == NULL && name == NULL)
		{
			/*
			 * It was dropped while event triggers did not run, which may be
			 * rolled back.
			 */
			factdef->missing = lappend_oid(factdef->missing, s->index_table);
			if (!left_alone)
				UnlockRelationOid(s->index_table, AccessShareLock);
			continue;
		}

		names = get_stored_column_names(fact, s);
		def = make_index_def(factdef, fact, s, rel, INT_MAX, names);
		def->xmin = s->xmin;
		def->active &= !(def->spec.async && factdef->queue.lost);
		def->hidden = list_member_oid(hidden, s->index_table);
		if (OidIsValid(whole))
			factdef->wholes = lappend_oid(factdef->wholes, place_table_of_part(s->index_table));
		else
			factdef->restored |= s->fact_oid != RelationGetRelid(fact) || !is_adopted(s->index_table, root);
		if (!same_primary_key(factdef, fact, s, names))
			report_altered_index_table(s->index_table, fact, "The fact table has another primary key now.");
		if (left_alone)
		{
			def->name = name;
			factdef->for_writer = true;
		}
		else
		{
			if (!definition_complete(def, fact, rel) || !definition_complete_primary_key(def, rel))
				report_altered_index_table(s->index_table, fact,
										   "The columns or the primary key of the index table, or the types of the fact table's columns, were altered.");
			watch_relation(def->layout.primary_index);
			watch_relation(def->layout.row_index);
			relation_close(rel, AccessShareLock);
		}
		note_feeds(factdef, s);
		add_definition(factdef, def);
	}
	if (!of_part)
		distrust_without_triggers(factdef, fact);
	return factdef;
}

/*
 * definition_uncached
 *		Returns the definition of a fact table in the current memory context, for definition_suppose().  key as
 *		for make_fact_def(), if there are no index tables.
 */
FactDef *
definition_uncached(Relation fact, List *key)
{
	FactDef    *factdef = catalog_has_fact(RelationGetRelid(fact)) ?
		build_as_owner(fact, RelationGetRelid(fact), false, CurrentMemoryContext) :
		make_fact_def(fact, RelationGetRelid(fact), key, NULL, CurrentMemoryContext);

	if (factdef->defs == NULL)
		factdef->totals = factdef->defs = palloc(sizeof(IndexDef *));
	return factdef;
}

/*
 * definition_suppose
 *		Adds an index table that does not exist to a definition that is not cached, and returns its own.
 */
IndexDef *
definition_suppose(FactDef *factdef, Relation fact, DefinitionRow *row)
{
	IndexDef   *def = make_index_def(factdef, fact, row, NULL, 0, NULL);

	(void) definition_complete_columns(def, fact, layout_desc(def, fact));
	def->layout.nsearch = def->layout.nident;
	factdef->defs = repalloc(factdef->defs, sizeof(IndexDef *) * (factdef->nall + 1));
	add_definition(factdef, def);
	return def;
}

/*
 * distrust_without_triggers
 *		Marks the index tables of a fact table as not active, as if their state was invalid, where
 *		its writers would not maintain them.
 *
 * Usually event triggers have set the state, and this finds nothing.  They do not fire under
 * session_replication_role = replica, or without event_triggers, and then a reader is the
 * first to notice.
 */
static void
distrust_without_triggers(FactDef *factdef, Relation fact)
{
	const TriggerMethods *methods = factdef->place->triggers;
	bool		writers = factdef->nsync > 0 || factdef->ntotals > 0;

	if (methods->as_made != NULL ? methods->as_made(fact) :
		fact_triggers_as_made(fact, writers, methods->definition != NULL))
		return;
	for (int i = 0; i < factdef->nall; i++)
		factdef->defs[i]->active = false;
}

/*
 * is_left_alone
 *		Returns whether an index table is neither locked nor opened: the definition is for a
 *		writer, who queues its changes.
 */
static bool
is_left_alone(DefinitionRow *stored, bool writing)
{
	return writing && is_queued(stored);
}

/*
 * definition_rows
 *		Lists the definitions in the catalog (DefinitionRow *) of a fact table, or of the table that it is a
 *		part of, as if they were its own.
 */
List *
definition_rows(Oid fact)
{
	const Place *place = place_of(fact);

	return place->definitions != NULL ? place->definitions(fact) : catalog_read_definitions(fact, InvalidOid);
}

/*
 * read_definitions_of_part
 *		Returns the definitions in the catalog of the index tables of a fact table, root, with the columns of a
 *		part of it.  Index tables are not locked: see definition_for_writer().
 */
static List *
read_definitions_of_part(Oid part, Oid root)
{
	List	   *stored = catalog_read_definitions(root, InvalidOid);

	foreach_ptr(DefinitionRow, row, stored)
	{
		watch_relation(row->index_table);
		place_of(part)->number_columns(row, part, root);
	}
	return stored;
}

/*
 * read_definitions
 *		Returns the definitions in the catalog of a fact table's index tables
 *		(DefinitionRow *), and locks the index tables, but for those that are left alone.
 *
 * A command that gives an index table another definition keeps a lock until it commits
 * that conflicts with ours.  So once we have our locks, the catalog and the index table
 * are both as before such a command, or both as after it.  What was read before may be
 * older, so the catalog is read once more, until it has the same rows as the time before.
 */
static List *
read_definitions(Oid fact, bool writing)
{
	List	   *stored = definition_rows(fact);
	List	   *again;
	ListCell   *a;
	ListCell   *b;
	bool		same;

	do
	{
		foreach_ptr(DefinitionRow, row, stored)
		{
			if (!is_left_alone(row, writing))
				LockRelationOid(row->index_table, AccessShareLock);
			watch_relation(row->index_table);
		}
		again = definition_rows(fact);
		same = list_length(stored) == list_length(again);
		if (same)
			forboth(a, stored, b, again) same &= ItemPointerEquals(&((DefinitionRow *) lfirst(a))->tid,
																   &((DefinitionRow *) lfirst(b))->tid);
		foreach_ptr(DefinitionRow, row, stored)
		{
			if (!same && !is_left_alone(row, writing))
				UnlockRelationOid(row->index_table, AccessShareLock);
		}
		stored = again;
	} while (!same);
	return stored;
}

/*
 * add_definition
 *		Adds the definition of an index table to that of its fact table: behind others of its kind.
 */
static void
add_definition(FactDef *factdef, IndexDef *def)
{
	int			at;

	factdef->users_code |= index_calls_users_code(def);
	factdef->code = list_concat(factdef->code, definition_code(def));
	at = is_totals(def) ? factdef->nall : def->spec.async ? factdef->ndefs : factdef->nsync;
	memmove(&factdef->defs[at + 1], &factdef->defs[at], sizeof(IndexDef *) * (factdef->nall - at));
	factdef->defs[at] = def;
	factdef->nall++;
	if (is_totals(def))
		factdef->ntotals++;
	else
		factdef->ndefs++;
	if (!is_totals(def) && !def->spec.async)
		factdef->nsync++;
	factdef->totals = factdef->defs + factdef->ndefs;
}
