/*-------------------------------------------------------------------------
 *
 * invalidation.h
 *	  Hears what has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_INVALIDATION_H
#define INDEXTABLE_INVALIDATION_H

#include "nodes/pg_list.h"

/* A function or a domain, as invalidations name it. */
typedef struct CodeObject
{
	int			cache;			/* PROCOID or TYPEOID */
	uint32		hash;			/* of its key; 0: it may be any */
} CodeObject;

/* Several of them: a bit each, which others may share. */
#define OBJECT_PLACES		8192

typedef uint8 ObjectSet[OBJECT_PLACES / 8];

/* A definition that is being loaded, and what has changed since that began. */
typedef struct Loading
{
	struct Loading *outer;
	bool		suspect;		/* maybe something it depends on, or
								 * certainly: */
	bool		changed;
	bool		any_function;
	ObjectSet	objects;
} Loading;

/* A cache that is told what has changed; watched: what some definition depends on. */
typedef struct ChangeListener
{
	void		(*any_relation) (Oid relid);
	void		(*watched_relation) (Oid relid);
	void		(*watched_object) (int cache, uint32 hash);
	bool		listening;
	struct ChangeListener *next;
} ChangeListener;

extern void listen_to_changes(ChangeListener *listener);
extern void watch_relation(Oid relid);
extern bool watch_objects(List *code, Loading *load);
extern void watch_begin_load(Loading *load);
extern void watch_end_load(Loading *load);

#endif							/* INDEXTABLE_INVALIDATION_H */
