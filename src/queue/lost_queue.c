/*-------------------------------------------------------------------------
 *
 * lost_queue.c
 *	  Reports that a queue table was lost: marks the index tables that lack its changes as
 *	  invalid, and refuses further changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"

#include "../catalog/definition_rows.h"
#include "../indextable.h"
#include "../util/sql.h"
#include "lost_queue.h"

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
	{
		List	   *queued = NIL;

		foreach_ptr(DefinitionRow, row, catalog_read_definitions(def->relid, InvalidOid))
		{
			if (is_queued(row))
				queued = lappend(queued, row);
		}
		invalidate_definitions(queued, def->relid, "A queue table of its fact table was dropped with changes that had not been applied.");
	}
}

/* queue_lost_error: raises an error because there is no table to queue a change in */
void
queue_lost_error(FactDef *def)
{
	char	   *index_table = NULL;

	foreach_ptr(DefinitionRow, row, catalog_read_definitions(def->relid, InvalidOid))
	{
		if (is_queued(row) && index_table == NULL)
			index_table = quote_literal_cstr(quoted_relation(row->index_table));
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("queue of table \"%s\" does not exist", def->name),
			 errdetail("Changes cannot be queued for the asynchronous index tables of the table."),
			 index_table == NULL ? 0 :
			 errhint("To create the queue again, run CALL indextable.repair(%s); to drop the index table, run SELECT indextable.drop(%s);",
					 index_table, index_table)));
}
