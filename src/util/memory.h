/*-------------------------------------------------------------------------
 *
 * memory.h
 *	  Makes room in arrays, makes hash tables, and describes shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MEMORY_H
#define INDEXTABLE_MEMORY_H

#include "utils/hsearch.h"
#include "utils/palloc.h"

/*
 * grow_array
 *		Returns an array of elements of this size with twice the room, or as a first one, if it is
 *		NULL, a new one with room for "first" elements in a memory context; sets *room.
 */
static inline void *
grow_array(void *array, int *room, int first, Size size, MemoryContext cxt)
{
	int			more = array == NULL ? first : *room * 2;
	void	   *result = array == NULL ?
		MemoryContextAllocHuge(cxt, size * more) : repalloc_huge(array, size * more);

	*room = more;				/* only now: there may be no memory */
	return result;
}

/*
 * new_hash
 *		Makes a hash table of about n entries, which begin with their key, in a memory
 *		context; NULL: for good.
 */
static inline HTAB *
new_hash(const char *name, long n, Size key_size, Size entry_size, MemoryContext cxt)
{
	HASHCTL		ctl = {.keysize = key_size,.entrysize = entry_size,.hcxt = cxt};

	return hash_create(name, n, &ctl, HASH_ELEM | HASH_BLOBS | (cxt != NULL ? HASH_CONTEXT : 0));
}

/* A piece of shared memory, which begins with a pointer to its lock; see module.c. */
typedef struct SharedPart
{
	const char *name;			/* also of the lock */
	Size		size;
	void	   *pointer;		/* to the pointer to it, which is NULL without
								 * shared memory */
	void		(*init) (void); /* NULL, or fills it, when it is 0 but for the
								 * lock */
} SharedPart;

#endif							/* INDEXTABLE_MEMORY_H */
