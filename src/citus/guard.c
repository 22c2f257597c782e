/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Reads the guard of a distributed index table, which has the number of the rows in the queue by which
 *	  that is built.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"

#include "citus.h"

/* find_guard: returns the guard of a distributed index table, or NULL */
Trigger *
find_guard(Relation rel)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, GUARD) == 0 && trigger->tgnargs == 3)
			return trigger;
	}
	return NULL;
}

/*
 * guard_number
 *		Returns the number of the rows in the queue by which an index table is built, or 0 if
 *		there are none.
 */
int64
guard_number(Oid index_table)
{
	Relation	rel = try_relation_open(index_table, AccessShareLock);
	Trigger    *guard;
	int64		number;

	if (rel == NULL)
		return 0;
	guard = find_guard(rel);
	number = guard == NULL ? 0 : strtoll(guard->tgargs[1], NULL, 10);
	relation_close(rel, AccessShareLock);
	return number;
}
