/*-------------------------------------------------------------------------
 *
 * orphaned_rows.c
 *	  Deletes rows of the catalog that are about tables which no longer exist, and drops their queue tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "catalog.h"

static bool forget_definition(DefinitionRow *stored, Oid named);
static bool forget_fact(FactTableRow *row);

/*
 * forget_orphaned_rows
 *		Deletes the catalog's rows of tables that have been dropped.
 *
 * This is done when users create, drop, verify or repair index tables.
 *
 * While a restore is under way, a table may exist before its triggers do.  So the
 * definition of a table that exists is deleted only if the user has named that table,
 * to drop() it; named is InvalidOid if the user has not.
 *
 * Only one session does this at a time, and it leaves out tables that another session
 * has locked for DDL, because two sessions that delete the same rows would wait for each
 * other.  What is left out is found the next time.
 */
void
forget_orphaned_rows(Oid named)
{
	Oid			catalog = catalog_relid("definition", false);
	bool		any = false;

	if (RecoveryInProgress() || XactReadOnly || IsInParallelMode() ||
		!ConditionalLockRelationOid(catalog, ShareUpdateExclusiveLock))
		return;
	foreach_ptr(DefinitionRow, row, catalog_definitions())
		any |= forget_definition(row, named);
	foreach_ptr(FactTableRow, row, catalog_fact_rows())
		any |= forget_fact(row);
	if (!any)
		UnlockRelationOid(catalog, ShareUpdateExclusiveLock);
}

/*
 * forget_definition
 *		Deletes a definition whose index table does not exist, or is the table that the
 *		user has named and not an index table; returns whether it has.
 */
static bool
forget_definition(DefinitionRow *stored, Oid named)
{
	Oid			index_table = stored->index_table;
	bool		exists = get_rel_relkind(index_table) != '\0';

	if ((exists && (index_table != named || definition_matches_tables(stored))) ||
		!ConditionalLockRelationOid(index_table, ShareUpdateExclusiveLock))
		return false;
	if (exists)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("removed the definition of \"%s\", which is not an index table",
						get_rel_name(index_table)),
				 errdetail("The table has neither a dependency on a fact table nor triggers of indextable. Its definition was restored from a dump, and the index table that it describes did not exist any more."),
				 errhint("If it should be an index table, create it again with indextable.create().")));
	catalog_forget_definition(index_table);
	return true;
}

/*
 * forget_fact
 *		Deletes the row of a fact table that does not exist, or of which the catalog has
 *		nothing else; returns whether it has.
 */
static bool
forget_fact(FactTableRow *row)
{
	Oid			fact = row->fact_table;
	bool		exists = get_rel_relkind(fact) != '\0';

	if (exists &&
		(has_triggers_of_ours(fact, false) || catalog_read_unchecked_definitions(fact, InvalidOid) != NIL))
		return false;
	(void) find_queue_tables(row, NULL);
	if ((exists && (OidIsValid(row->queue) || OidIsValid(row->spare))) || queue_stays_for_now(row->queue))
		return false;
	if (!ConditionalLockRelationOid(fact, ShareUpdateExclusiveLock))
		return false;
	catalog_forget_fact(fact);
	queue_table_drop(row->queue);
	queue_table_drop(row->spare);
	return true;
}
