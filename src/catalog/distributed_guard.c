/*-------------------------------------------------------------------------
 *
 * distributed_guard.c
 *	  Reads what the guard of a distributed index table says.
 *
 * Its arguments are the name of the queue table, the number under which the keys of all rows
 * were queued when the index table was created, and the definition as JSON.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "distributed_guard.h"
#include "trigger_names.h"

/*
 * guard_number
 *		Returns the number of the rows in the queue by which an index table is built, or 0 if
 *		there are none.
 */
int64
guard_number(Oid index_table)
{
	Relation	rel = try_relation_open(index_table, AccessShareLock);
	int64		number = 0;
	int			i;

	if (rel == NULL)
		return 0;
	for (i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, GUARD) == 0 && trigger->tgnargs == 3)
			number = strtoll(trigger->tgargs[1], NULL, 10);
	}
	relation_close(rel, AccessShareLock);
	return number;
}
