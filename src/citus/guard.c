/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Reads the guard of a distributed index table: whether writes by hand are refused, and the number of the
 *	  rows in the queue by which it is built.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"

#include "../place/place.h"
#include "../util/relation.h"
#include "citus.h"

/* The number of arguments of the guard; that of an index table which is not distributed has none. */
#define GUARD_ARGUMENTS	3

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

	if (rel == NULL)
		return 0;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, GUARD) == 0 && trigger->tgnargs == GUARD_ARGUMENTS)
			number = strtoll(trigger->tgargs[1], NULL, 10);
	}
	relation_close(rel, AccessShareLock);
	return number;
}

/*
 * is_guarded
 *		Returns whether a table is a distributed index table, or a shard of one, whose guard
 *		is not disabled.
 *
 * Locks nothing: a command on the table may hold its lock, and wait for the shard, which is locked here.
 */
bool
is_guarded(Oid relid)
{
	Oid			table = place_table_of_part(relid);
	CatalogScan scan = catalog_scan_begin(TriggerRelationId, TriggerRelidNameIndexId, Anum_pg_trigger_tgrelid,
										  OidIsValid(table) ? table : relid, NULL);
	HeapTuple	tuple;
	bool		result = false;

	while (!result && HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		result = strcmp(NameStr(form->tgname), GUARD) == 0 && form->tgnargs == GUARD_ARGUMENTS &&
			form->tgenabled != TRIGGER_DISABLED;
	}
	catalog_scan_end(&scan);
	return result;
}
