/*-------------------------------------------------------------------------
 *
 * lost_queue.c
 *	  Deals with queue tables that were dropped with changes which had not been applied.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "queue.h"

/*
 * queue_note_lost
 *		Marks the asynchronous index tables of a fact table as invalid, as they may lack
 *		changes that were in a queue table that does not exist any more.  They are still
 *		maintained with what is queued in the other one.
 *
 * One session at a time does this, as several would update the same rows; the others
 * leave it to that one.
 */
void
queue_note_lost(FactDef *def)
{
	if (ConditionalLockRelationOid(def->relid, ShareUpdateExclusiveLock))
		invalidate_definitions(catalog_queued_definitions(def->relid),
							   "A queue table of its fact table was dropped with changes that had not been applied.");
}

/* queue_lost_error: raises an error because there is no table to queue a change in */
void
queue_lost_error(FactDef *def)
{
	List	   *queued = catalog_queued_definitions(def->relid);
	Oid			index_table = queued == NIL ? InvalidOid : ((DefinitionRow *) linitial(queued))->index_table;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("queue of table \"%s\" does not exist", def->name),
			 errdetail("Changes cannot be queued for the asynchronous index tables of the table."),
			 !OidIsValid(index_table) ? 0 :
			 errhint("To create the queue again, run %s to drop the index table, run %s",
					 told_call("repair", index_table), told_select("drop", index_table, ""))));
}
