/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  What the catalog says of a fact table's index tables, resolved (resolve.c),
 *	  and cached in the backend.
 *
 * Called by trigger.c for every statement and row, by lookup.c, and by whoever
 * needs a definition.  A cached definition is made anew once the fact table, one
 * of its index tables, or what its expressions call has changed (watch.c); whoever
 * holds one across calls pins it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include <limits.h>
#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../catalog/trigger_names.h"
#include "../catalog/validity.h"
#include "../indextable.h"
#include "../util/dependencies.h"
#include "../util/lock.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "cache.h"
#include "columns.h"
#include "index_partition.h"
#include "invalidation.h"
#include "resolve.h"

typedef struct CacheEntry
{
	Oid			relid;			/* hash key: the fact table */
	FactDef    *def;			/* NULL: none loaded */
} CacheEntry;

static HTAB *cache = NULL;

/* A definition, and whether its index table could be what it says. */
typedef struct Candidate
{
	Relation	fact;
	StoredDefinition *stored;
	bool		fits;
} Candidate;

static void mark(FactDef *def, bool changed);
static void definitions_relation_changed(Oid relid);
static void definitions_object_changed(int id, uint32 hash);
static void release(CacheEntry *entry);
static Oid	cached_fact_of(Oid index_table);
static List *read_definitions(Oid fact);
static void refuse_unfinished(Relation fact);
static FactDef *load_fact_def(Relation fact);
static FactDef *build_fact_def(Relation fact, MemoryContext cxt);
static void add_definition(FactDef *factdef, IndexDef *def);
static bool same_primary_key(FactDef *factdef, Relation fact, StoredDefinition *stored,
							 const char **names);

static ChangeListener definitions_listener =
{
	.watched_relation = definitions_relation_changed,
	.watched_object = definitions_object_changed
};

/* mark: a definition may be in use; changed is whether it is certainly out of date */
static void
mark(FactDef *def, bool changed)
{
	def->stale = true;
	def->changed |= changed;
}

/* definitions_relation_changed: marks the definitions that depend on a relation; InvalidOid: on any */
static void
definitions_relation_changed(Oid relid)
{
	HASH_SEQ_STATUS seq;
	CacheEntry *entry;
	int			i;

	if (cache == NULL)
		return;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		FactDef    *def = entry->def;

		if (def == NULL)
			continue;
		if (!OidIsValid(relid))
			mark(def, false);
		else if (relid == def->relid || relid == def->queue || relid == def->spare ||
				 (def->partitioned && hash_search(def->leaves, &relid, HASH_FIND, NULL) != NULL))
			mark(def, true);
		else
			for (i = 0; i < def->ndefs && !def->changed; i++)
				if (def->defs[i]->relid == relid || def->defs[i]->primary_index == relid ||
					def->defs[i]->row_index == relid || is_partition_of_definition(def->defs[i], relid))
					mark(def, true);
	}
}

/*
 * definitions_object_changed
 *		A function or a domain: an expression may have been compiled with the old
 *		body, or the old constraints.
 */
static void
definitions_object_changed(int id, uint32 hash)
{
	HASH_SEQ_STATUS seq;
	CacheEntry *entry;
	ListCell   *cell;

	if (cache == NULL)
		return;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		if (entry->def == NULL)
			continue;
		foreach(cell, entry->def->code)
		{
			CodeObject *object = lfirst(cell);

			if (object->cache == id && (hash == 0 || object->hash == 0 || object->hash == hash))
				mark(entry->def, hash != 0);
		}
	}
}

/*
 * definition_lock
 *		Locks the index tables defs[from] to defs[to - 1] against DDL, as their
 *		writers do; whether one of the locks is new.
 */
bool
definition_lock(FactDef *fact, int from, int to)
{
	bool		more = false;
	int			i;

	for (i = from; i < to && !fact->changed; i++)
		more |= lock_newly(fact->defs[i]->relid, RowExclusiveLock);
	return more;
}

/*
 * definition_settled
 *		Whether a definition can be used as it is, now that the locks which it calls
 *		for are taken; if not, it is asked for and its locks are taken once more.
 *		more_locks tells whether one of them was not held when it was asked for.
 *
 * A definition has to be that of the tables as they are under the locks.  One that
 * nothing has been heard of, by the time the last lock was taken, is: whoever changes
 * what a lock guards sends the news before he releases his own, and taking a lock
 * is hearing them.  So is one that was loaded, or in the cache and fresh, when all
 * of the locks were held already: what they guard nobody else has changed since.
 * That it may have changed, as when the server has not kept all news for us, does
 * not count then; it is loaded anew the next time that it is asked for.  What this
 * transaction changes itself it hears of in any case, and so it does of what no
 * lock guards, as a function that is replaced.  A rollback to a savepoint that
 * releases locks does not matter: whoever uses a definition takes them again.
 *
 * This ends: either it is settled, or there was news of something that it depends on,
 * or it calls for more locks than before, which it does once, unless the index tables
 * of the fact table are others again.  With debug_discard_caches, too, where nothing
 * is fresh once it is loaded.
 */
bool
definition_settled(FactDef *fact, bool more_locks)
{
	return !fact->changed && !(fact->stale && more_locks);
}

void
definition_pin(FactDef *fact)
{
	fact->pins++;
}

void
definition_unpin(FactDef *fact)
{
	Assert(fact->pins > 0);
	if (--fact->pins == 0 && fact->replaced)
		MemoryContextDelete(fact->cxt);
}

/* release: takes a definition from the cache; who has pinned it keeps it */
static void
release(CacheEntry *entry)
{
	if (entry->def != NULL && entry->def->pins == 0)
		MemoryContextDelete(entry->def->cxt);
	else if (entry->def != NULL)
		entry->def->replaced = true;
	entry->def = NULL;
}

/*
 * definition_of_fact
 *		The definitions of a fact table that is open and locked.  root is the
 *		table they are registered under: fact may be a partition of it.  Valid
 *		until it is asked for again, be it by a statement or a function that is run
 *		meanwhile, unless pinned.  No index tables is no error.
 */
FactDef *
definition_of_fact(Relation fact, Oid root)
{
	static CacheEntry *last = NULL;
	CacheEntry *entry;
	bool		found;

	if (last != NULL && last->relid == root && last->def != NULL && !last->def->stale)
		return last->def;

	if (cache == NULL)
	{
		HASHCTL		ctl;

		listen_to_changes(&definitions_listener);
		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(CacheEntry);
		cache = hash_create("indextable definitions", 32, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(cache, &root, HASH_ENTER, &found);
	if (!found)
		entry->def = NULL;
	last = NULL;
	if (entry->def == NULL || entry->def->stale)
	{
		FactDef    *def;

		if (RelationGetRelid(fact) == root)
			def = load_fact_def(fact);
		else
		{
			Relation	rel = relation_open(root, AccessShareLock);

			def = load_fact_def(rel);
			relation_close(rel, NoLock);
		}

		/*
		 * What was loaded meanwhile, by functions that are called of
		 * constants, goes, too.
		 */
		release(entry);
		entry->def = def;
	}
	last = entry;				/* entries are never removed */
	return entry->def;
}

/* cached_fact_of: the fact table of an index table, by the cache alone */
static Oid
cached_fact_of(Oid index_table)
{
	HASH_SEQ_STATUS seq;
	CacheEntry *entry;
	int			i;

	if (cache == NULL)
		return InvalidOid;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		for (i = 0; entry->def != NULL && i < entry->def->ndefs; i++)
		{
			if (entry->def->defs[i]->relid == index_table)
			{
				hash_seq_term(&seq);
				return entry->relid;
			}
		}
	}
	return InvalidOid;
}

/*
 * definition_of_index_table
 *		The definition of an index table and that of its fact table, which it
 *		locks against DDL; NULL if it is no index table.
 */
IndexDef *
definition_of_index_table(Oid index_table, FactDef **factdef)
{
	Oid			relid = cached_fact_of(index_table);
	int			attempt;

	/*
	 * What is cached may be out of date: then the first attempt finds
	 * nothing.
	 */
	for (attempt = 0; attempt < 2; attempt++)
	{
		Relation	fact;
		int			i;

		if (!OidIsValid(relid))
			relid = catalog_fact_of(index_table);
		fact = OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
		if (fact != NULL)
		{
			*factdef = definition_of_fact(fact, relid);
			relation_close(fact, NoLock);
			for (i = 0; i < (*factdef)->ndefs; i++)
				if ((*factdef)->defs[i]->relid == index_table)
					return (*factdef)->defs[i];
		}
		relid = InvalidOid;
	}
	return NULL;
}

/*
 * definition_open
 *		The same with both tables open and locked against DDL, the fact table first,
 *		as everybody does; pinned.  NULL if it is no index table.
 */
IndexDef *
definition_open(Oid index_table, FactDef **factdef, Relation *fact, Relation *rel)
{
	IndexDef   *def;

	do
	{
		def = definition_of_index_table(index_table, factdef);
		if (def == NULL)
			return NULL;
	} while (!definition_settled(*factdef, lock_newly(index_table, AccessShareLock)));
	*fact = relation_open((*factdef)->relid, NoLock);
	*rel = relation_open(index_table, NoLock);
	definition_pin(*factdef);
	return def;
}

/*
 * read_definitions
 *		Those of a fact table, and its index tables locked: whoever gives an index
 *		table another definition holds a lock that keeps us from seeing one half of
 *		it.
 */
static List *
read_definitions(Oid fact)
{
	List	   *stored = catalog_read_definitions(fact, InvalidOid);
	List	   *again;
	ListCell   *a;
	ListCell   *b;
	bool		same;

	do
	{
		foreach(a, stored)
		{
			LockRelationOid(((StoredDefinition *) lfirst(a))->row.index_table, AccessShareLock);
			watch_relation(((StoredDefinition *) lfirst(a))->row.index_table);
		}
		again = catalog_read_definitions(fact, InvalidOid);
		same = list_length(stored) == list_length(again);
		if (same)
			forboth(a, stored, b, again)
				same &= ItemPointerEquals(&((StoredDefinition *) lfirst(a))->tid, &((StoredDefinition *) lfirst(b))->tid);
		foreach(a, stored)
		{
			if (!same)
				UnlockRelationOid(((StoredDefinition *) lfirst(a))->row.index_table, AccessShareLock);
		}
		stored = again;
	} while (!same);
	return stored;
}

static void
try_definition(void *arg)
{
	Candidate  *c = arg;
	DefinitionRow *row = &c->stored->row;
	const char **names = get_stored_column_names(c->fact, c->stored);
	Relation	rel = try_relation_open(row->index_table, NoLock);

	c->fits = rel != NULL &&
		definition_complete(make_index_def(make_fact_def(c->fact, row->primary_key, names, CurrentMemoryContext),
										   c->fact, row, rel, INT_MAX, names), c->fact, rel);
	if (rel != NULL)
		relation_close(rel, NoLock);
}

/*
 * refuse_unfinished
 *		A definition that is not believed may be of a table that a restore has not come
 *		to the triggers of yet: then to go on without it would lose its entries.  One of
 *		a table with other columns is of nothing, and is passed over.
 */
static void
refuse_unfinished(Relation fact)
{
	ListCell   *cell;

	foreach(cell, catalog_read_unchecked_definitions(RelationGetRelid(fact), InvalidOid))
	{
		StoredDefinition *s = lfirst(cell);
		Candidate	candidate = {fact, s, true};
		ErrorData  *error;

		if (definition_matches_tables(&s->row) || strcmp(s->row.state, "invalid") == 0 ||
			!has_triggers_of_ours(RelationGetRelid(fact), false) ||
			(get_rel_relkind(s->row.index_table) != RELKIND_RELATION &&
			 get_rel_relkind(s->row.index_table) != RELKIND_PARTITIONED_TABLE))
			continue;
		/* Somebody's table, maybe, and not to be waited for. */
		if (ConditionalLockRelationOid(s->row.index_table, AccessShareLock))
		{
			error = run_catching_row_errors(try_definition, &candidate);
			if (error != NULL)
			{
				/*
				 * The columns that it is of are not those of the fact table
				 * any more.
				 */
				FreeErrorData(error);
				candidate.fits = false;
			}
			UnlockRelationOid(s->row.index_table, AccessShareLock);
		}
		if (candidate.fits)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" of table \"%s\" is not completely restored",
							get_rel_name(s->row.index_table), RelationGetRelationName(fact)),
					 errdetail("It lacks the triggers by which an index table is recognized after a restore."),
					 errhint("Wait until the restore has finished. To remove only the definition and to keep the table, run SELECT indextable.drop(%s);",
							 quote_literal_cstr(quoted_relation(s->row.index_table)))));
	}
}

/*
 * load_fact_def
 *		The definition as the tables are, stale if one that it depends on has changed
 *		meanwhile, or may have.
 */
static FactDef *
load_fact_def(Relation fact)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable definition",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FactDef    *volatile factdef = NULL;
	Loading		load;

	watch_begin_load(&load);
	PG_TRY();
	{
		factdef = build_fact_def(fact, cxt);
		wait_point("a definition has been read");
	}
	PG_FINALLY();
	{
		watch_end_load(&load);
	}
	PG_END_TRY();
	factdef->changed = load.changed;
	if (watch_objects(factdef->code, &load))
		factdef->changed = true;
	factdef->stale = load.suspect || factdef->changed;
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(cxt, CacheMemoryContext);
	return factdef;
}

static FactDef *
build_fact_def(Relation fact, MemoryContext cxt)
{
	FactTableRow tables = {0};
	List	   *stored;
	StoredDefinition *first;
	FactDef    *factdef;
	ListCell   *cell;

	watch_relation(RelationGetRelid(fact));
	stored = read_definitions(RelationGetRelid(fact));
	first = stored == NIL ? NULL : linitial(stored);
	factdef = first == NULL ? make_fact_def(fact, NIL, NULL, cxt) :
		make_fact_def(fact, first->row.primary_key, get_stored_column_names(fact, first), cxt);
	factdef->registered = catalog_read_fact(RelationGetRelid(fact), &tables) || stored != NIL;
	if (factdef->registered && OidIsValid(tables.queue))
	{
		watch_relation(tables.queue);
		watch_relation(tables.spare);
		factdef->queue_desc = queue_columns(factdef, fact);
		factdef->queue_lost = !find_queue_tables(&tables, factdef->queue_desc);
		factdef->queue = tables.queue;
		factdef->spare = tables.spare;
	}
	refuse_unfinished(fact);
	factdef->defs = palloc(sizeof(IndexDef *) * Max(list_length(stored), 1));
	foreach(cell, stored)
	{
		StoredDefinition *s = lfirst(cell);
		const char **names;
		IndexDef   *def;
		Relation	rel;

		rel = try_relation_open(s->row.index_table, NoLock);
		if (rel == NULL)
		{
			/* Dropped where no event trigger saw it. */
			UnlockRelationOid(s->row.index_table, AccessShareLock);
			continue;
		}

		names = get_stored_column_names(fact, s);
		def = make_index_def(factdef, fact, &s->row, rel, INT_MAX, names);
		def->xmin = s->xmin;
		def->active &= !(def->async && factdef->queue_lost);
		factdef->restored |= s->fact_oid != RelationGetRelid(fact) ||
			!has_table_dependency(s->row.index_table, RelationGetRelid(fact));
		if (!same_primary_key(factdef, fact, s, names))
			report_altered_index_table(s->row.index_table, fact, "The fact table has another primary key now.");
		if (!definition_complete(def, fact, rel) || !definition_complete_primary_key(def, rel))
			report_altered_index_table(s->row.index_table, fact,
									   "The columns or the primary key of the index table, or the types of the fact table's columns, were altered.");
		watch_relation(def->primary_index);
		watch_relation(def->row_index);
		relation_close(rel, AccessShareLock);
		add_definition(factdef, def);
	}
	return factdef;
}

/* add_definition: those that the writer's transaction keeps in step come first */
static void
add_definition(FactDef *factdef, IndexDef *def)
{
	int			at = def->async ? factdef->ndefs : factdef->nsync++;

	memmove(&factdef->defs[at + 1], &factdef->defs[at], sizeof(IndexDef *) * (factdef->ndefs - at));
	factdef->defs[at] = def;
	factdef->ndefs++;
	factdef->users_code |= index_calls_users_code(def);
	factdef->code = list_concat(factdef->code, definition_code(def));
}

/* same_primary_key: whether the fact table has the primary key it had */
static bool
same_primary_key(FactDef *factdef, Relation fact, StoredDefinition *stored, const char **names)
{
	ListCell   *cell;
	int			i = 0;

	if (list_length(stored->row.primary_key) != factdef->npk)
		return false;
	foreach(cell, stored->row.primary_key)
	{
		if (named_column(fact, lfirst(cell), names) != factdef->pk_attno[i++])
			return false;
	}
	return true;
}
