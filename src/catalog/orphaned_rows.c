/*-------------------------------------------------------------------------
 *
 * orphaned_rows.c
 *	  Deletes the catalog's rows of tables that no longer exist.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "definition_rows.h"
#include "fact_rows.h"
#include "orphaned_rows.h"
#include "table_access.h"
#include "trigger_names.h"
#include "validity.h"

static bool forget_definition(StoredDefinition *stored, Oid named);
static bool forget_fact(FactTableRow *row);

/*
 * forget_orphaned_rows
 *		Forgets what the catalog says of tables that are gone.  Called when users
 *		create, drop, verify or repair.
 *
 * In the middle of a restore a table may be there whose triggers are not yet: what is
 * said of a table that exists is forgotten only if the user names it, to drop() it.
 *
 * One at a time, and not where somebody uses the tables for DDL: two that delete the
 * same row would wait for each other.  What nobody has got round to is found the next
 * time.
 */
void
forget_orphaned_rows(Oid named)
{
	Oid			catalog = catalog_relid("definition", false);
	bool		any = false;
	ListCell   *cell;

	if (RecoveryInProgress() || XactReadOnly || IsInParallelMode() ||
		!ConditionalLockRelationOid(catalog, ShareUpdateExclusiveLock))
		return;
	foreach(cell, catalog_definitions())
		any |= forget_definition(lfirst(cell), named);
	foreach(cell, catalog_fact_rows())
		any |= forget_fact(lfirst(cell));
	if (!any)
		UnlockRelationOid(catalog, ShareUpdateExclusiveLock);
}

static bool
forget_definition(StoredDefinition *stored, Oid named)
{
	Oid			index_table = stored->row.index_table;
	bool		exists = get_rel_relkind(index_table) != '\0';

	if ((exists && (index_table != named || definition_matches_tables(&stored->row))) ||
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

/* forget_fact: a fact table that is gone, or of which nothing is left but its own row */
static bool
forget_fact(FactTableRow *row)
{
	Oid			fact = row->fact_table;
	bool		exists = get_rel_relkind(fact) != '\0';

	if (exists && (has_triggers_of_ours(fact, false) || catalog_read_unchecked_definitions(fact, InvalidOid) != NIL))
		return false;
	(void) find_queue_tables(row, NULL);
	if (exists && (OidIsValid(row->queue) || OidIsValid(row->spare)))
		return false;
	if (!ConditionalLockRelationOid(fact, ShareUpdateExclusiveLock))
		return false;
	catalog_forget_fact(fact);
	queue_table_drop(row->queue);
	queue_table_drop(row->spare);
	return true;
}
