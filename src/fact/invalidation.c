/*-------------------------------------------------------------------------
 *
 * invalidation.c
 *	  Hears from the server what has changed, and tells the caches of this backend.
 *
 * The server has ten places for callbacks like ours, which all extensions share.  One
 * callback serves all of our caches, and is registered when the first of them is used, so
 * that a process that has only loaded the library takes no place.
 *
 * Other sessions create and drop tables all the time, temporary ones above all.  News of
 * tables that no definition depends on must cost next to nothing, and above all must not
 * have definitions loaded anew.  So there is a set of all relations that some definition
 * depends on, or may depend on, and for news of another relation a look into this set is all.
 *
 * No news is missed.  A relation is put into the set before anything is read of it, and is
 * taken out of it with the first news of it.  By then every definition that depends on it
 * has been marked, also one that is just being loaded, and any definition that is loaded
 * afterwards puts the relation into the set again.  So the set does not grow with every
 * table that is created and dropped.  Which functions and domains a definition depends on is
 * known only once it is loaded: all of them that change meanwhile are noted, and
 * watch_objects() looks whether the definition depends on one of these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"
#include "utils/syscache.h"

#include "../expression/expression.h"
#include "../util/compat.h"
#include "../util/relation.h"
#include "../util/role_caches.h"
#include "fact.h"

/* The bit of an object in an ObjectSet. */
#define OBJECT_PLACE(cache, hash)	(((hash) ^ (uint32) (cache) * 0x9E3779B9) % (OBJECT_PLACES))
#define OBJECT_ADD(set, place)		((set)[(place) / 8] |= 1 << (place) % 8)
#define OBJECT_IN(set, place)		(((set)[(place) / 8] & 1 << (place) % 8) != 0)

static bool watching = false;
static ChangeListener *listeners = NULL;
static HTAB *relations = NULL;	/* of Oid: what definitions depend on, and
								 * maybe more */
static ObjectSet objects;		/* the same for functions, domains and casts */
static Loading *loads = NULL;	/* those under way, the innermost first */

static void watch_changes(void);
static void relation_changed(Datum arg, Oid relid);
static void object_changed(Datum arg, int cache, uint32 hash);

/*
 * listen_to_changes
 *		Has a cache told what changes from now on.  Called before anything is put into the
 *		cache.
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
	if (watching)
		return;
	if (relations == NULL)
		relations = hash_by_oid("indextable dependencies", 256, sizeof(Oid), NULL);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, object_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, object_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(CASTSOURCETARGET, object_changed, (Datum) 0);
	watching = true;
}

/*
 * watch_relation
 *		Notes that a definition depends on a relation, or is about to.  Called before
 *		anything is read of the relation, or just before the relation is noted in the
 *		definition, if no news can be heard in between.
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
 *		Notes the functions and domains (CodeObject *) that a definition depends on, once it
 *		is loaded, and returns whether one of them has changed since the loading began, which
 *		no lock prevents.
 */
bool
watch_objects(List *code, Loading *load)
{
	bool		changed = false;

	foreach_ptr(CodeObject, object, code)
	{
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

/* watch_begin_load: begins to note in *load what changes while a definition is loaded */
void
watch_begin_load(Loading *load)
{
	watch_changes();
	memset(load, 0, sizeof(Loading));
	load->outer = loads;
	loads = load;
}

/* watch_end_load: ends that, once the definition is loaded or the loading has failed */
void
watch_end_load(Loading *load)
{
	Assert(loads == load);
	loads = load->outer;
}

/*
 * relation_changed
 *		Tells the definitions that are being loaded and the caches that a relation has
 *		changed.  The server calls it with InvalidOid if any relation may have changed: when
 *		this backend was too slow to be told of each, or with debug_discard_caches.
 *
 * It may be called whenever a lock is taken.  So nothing is freed here that may be in use.
 */
static void
relation_changed(Datum arg, Oid relid)
{
	Loading    *load;

	for (ChangeListener *listener = listeners; listener != NULL; listener = listener->next)
		if (listener->any_relation != NULL)
			listener->any_relation(relid);
	if (hash_forget(relations, relid) == NULL && OidIsValid(relid))
		return;
	for (load = loads; load != NULL; load = load->outer)
	{
		/*
		 * If only another definition depends on the relation, this one is
		 * loaded once more than needed, which does no harm.
		 */
		load->changed |= OidIsValid(relid);
		load->suspect = true;
	}
	for (ChangeListener *listener = listeners; listener != NULL; listener = listener->next)
		if (listener->watched_relation != NULL)
			listener->watched_relation(relid);
}

/*
 * object_changed
 *		Tells the definitions that are being loaded and the caches that a function or a type
 *		has changed, which cache says.  hash is that of its key; 0: any may have changed.
 */
static void
object_changed(Datum arg, int cache, uint32 hash)
{
	uint32		place = OBJECT_PLACE(cache, hash);
	Loading    *load;

	if (role_caches_forgets())
		return;
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
	for (ChangeListener *listener = listeners; listener != NULL; listener = listener->next)
		if (listener->watched_object != NULL)
			listener->watched_object(cache, hash);
}
