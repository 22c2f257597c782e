/*-------------------------------------------------------------------------
 *
 * invalidation.h
 *	  Offers the news of changed relations, functions and domains to the caches of this backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_INVALIDATION_H
#define INDEXTABLE_INVALIDATION_H

#include "nodes/pg_list.h"

/* A function or a domain, as the server's invalidation messages name it. */
typedef struct CodeObject
{
	int			cache;			/* PROCOID or TYPEOID */
	uint32		hash;			/* of its key; 0: it may be any */
} CodeObject;

/* A set of functions and domains: each has a bit, which it may share with others. */
#define OBJECT_PLACES		8192

typedef uint8 ObjectSet[OBJECT_PLACES / 8];

/* A definition that is being loaded, and what has changed since the loading began. */
typedef struct Loading
{
	struct Loading *outer;		/* the definition during the loading of which
								 * this one is loaded, or NULL */
	bool		suspect;		/* something that it depends on may have
								 * changed */
	bool		changed;		/* a relation has that a definition depends on */
	bool		any_function;	/* some function has */
	ObjectSet	objects;		/* these functions and domains have */
} Loading;

/*
 * A cache that is told what has changed.  Its functions are called with InvalidOid, or a hash of 0,
 * if anything may have changed; a function that is NULL is not called.
 */
typedef struct ChangeListener
{
	void		(*any_relation) (Oid relid);	/* of every relation */
	void		(*watched_relation) (Oid relid);	/* of those that
													 * definitions depend on */
	void		(*watched_object) (int cache, uint32 hash); /* of functions and
															 * domains that they
															 * depend on */
	bool		listening;		/* the rest belongs to listen_to_changes() */
	struct ChangeListener *next;
} ChangeListener;

extern void listen_to_changes(ChangeListener *listener);
extern void watch_relation(Oid relid);
extern bool watch_objects(List *code, Loading *load);
extern void watch_begin_load(Loading *load);
extern void watch_end_load(Loading *load);

#endif							/* INDEXTABLE_INVALIDATION_H */
