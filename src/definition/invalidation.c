/*-------------------------------------------------------------------------
 *
 * invalidation.c
 *	  Hears from the server what has changed, for the caches of this backend.
 *
 * Called by definition.c, by part.c and partition.c, which add to definitions, and by
 * the server.  The server has ten places for callbacks like ours, which all
 * extensions share: one serves all of our caches, from their first use on, so that
 * a process that only has the library loaded takes none.
 *
 * Others create and drop tables all the time, temporary ones above all.  What no
 * definition depends on must cost next to nothing, and least of all a definition: so
 * there is a set of all relations that some definition depends on, or may, and for
 * an object that is not in it one look is all.
 *
 * A relation enters the set before it is read, and leaves it with the first news of
 * it: by then every definition that depends on it is marked, the one that is being
 * loaded included, and whichever is loaded after that lets it enter again.  So the
 * set does not grow with the tables that come and go.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "invalidation.h"

static bool watching = false;
static ChangeListener *listeners = NULL;
static HTAB *relations = NULL;	/* of Oid: what definitions depend on, and
								 * maybe more */
static ObjectSet objects;		/* the same for functions and domains */
static Loading *loads = NULL;	/* those under way, the innermost first */

/* A place of an ObjectSet; two objects may share one. */
#define OBJECT_PLACE(cache, hash)	(((hash) ^ (uint32) (cache) * 0x9E3779B9) % (OBJECT_PLACES))
#define OBJECT_ADD(set, place)		((set)[(place) / 8] |= 1 << (place) % 8)
#define OBJECT_IN(set, place)		(((set)[(place) / 8] & 1 << (place) % 8) != 0)

static void watch_changes(void);
static void relation_changed(Datum arg, Oid relid);
static void object_changed(Datum arg, int cache, uint32 hash);

/*
 * listen_to_changes
 *		Tells a cache what has changed, from now on.  Called before anything enters
 *		the cache.
 */
void
listen_to_changes(ChangeListener *listener)
{
	if (listener->listening)
		return;
	watch_changes();
	listener->listening = true;
	listener->next = listeners;
	listeners = listener;
}

/* watch_changes: has the server tell this backend what changes, once and for all caches */
static void
watch_changes(void)
{
	HASHCTL		ctl;

	if (watching)
		return;
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(Oid);
	if (relations == NULL)
		relations = hash_create("indextable dependencies", 256, &ctl, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, object_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, object_changed, (Datum) 0);
	watching = true;
}

/*
 * watch_relation
 *		A definition depends on it, or is about to: called before anything is read of
 *		it, or just before it is noted in the definition, with no news heard in between.
 */
void
watch_relation(Oid relid)
{
	if (!OidIsValid(relid))
		return;
	watch_changes();
	(void) hash_search(relations, &relid, HASH_ENTER, NULL);
}

/*
 * watch_objects
 *		The functions and domains that a definition depends on, once it is loaded: no
 *		lock guards them.  Whether one has changed meanwhile.
 */
bool
watch_objects(List *code, Loading *load)
{
	bool		changed = false;
	ListCell   *cell;

	foreach(cell, code)
	{
		CodeObject *object = lfirst(cell);
		uint32		place = OBJECT_PLACE(object->cache, object->hash);

		if (object->hash != 0)
		{
			OBJECT_ADD(objects, place);
			changed |= OBJECT_IN(load->objects, place);
			continue;
		}
		memset(objects, 0xff, sizeof(objects));
		changed |= load->any_function;
	}
	return changed;
}

/* watch_begin_load: a definition is about to be loaded */
void
watch_begin_load(Loading *load)
{
	watch_changes();
	memset(load, 0, sizeof(Loading));
	load->outer = loads;
	loads = load;
}

/* watch_end_load: it is, or has failed */
void
watch_end_load(Loading *load)
{
	Assert(loads == load);
	loads = load->outer;
}

/*
 * relation_changed
 *		Only marks: what is marked may be in use.  InvalidOid stands for any: this
 *		backend was too slow to be told each, or is tested with debug_discard_caches.
 */
static void
relation_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS seq;
	Loading    *load;
	Oid		   *entry;
	ChangeListener *listener;

	for (listener = listeners; listener != NULL; listener = listener->next)
		if (listener->any_relation != NULL)
			listener->any_relation(relid);
	if (OidIsValid(relid) && hash_search(relations, &relid, HASH_REMOVE, NULL) == NULL)
		return;
	for (load = loads; load != NULL; load = load->outer)
	{
		/* If it is another definition's, one load more does no harm. */
		load->changed |= OidIsValid(relid);
		load->suspect = true;
	}
	if (!OidIsValid(relid) && hash_get_num_entries(relations) > 0)
	{
		hash_seq_init(&seq, relations);
		while ((entry = hash_seq_search(&seq)) != NULL)
			hash_search(relations, entry, HASH_REMOVE, NULL);
	}
	for (listener = listeners; listener != NULL; listener = listener->next)
		if (listener->watched_relation != NULL)
			listener->watched_relation(relid);
}

/* object_changed: a function or a type, that has this hash value, or any of them */
static void
object_changed(Datum arg, int cache, uint32 hash)
{
	uint32		place = OBJECT_PLACE(cache, hash);
	Loading    *load;
	ChangeListener *listener;

	for (load = loads; load != NULL; load = load->outer)
	{
		if (hash == 0)
			load->suspect = true;
		else
			OBJECT_ADD(load->objects, place);
		load->any_function |= cache == PROCOID;
	}
	if (hash != 0 && !OBJECT_IN(objects, place))
		return;
	for (listener = listeners; listener != NULL; listener = listener->next)
		if (listener->watched_object != NULL)
			listener->watched_object(cache, hash);
}
