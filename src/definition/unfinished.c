/*-------------------------------------------------------------------------
 *
 * unfinished.c
 *	  Refuses to load the definition of a fact table while a restore has not completed it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "definition.h"

/*
 * A definition in the catalog, and whether the table that it names has the columns that it
 * asks for.
 */
typedef struct StoredTable
{
	Relation	fact;
	DefinitionRow *stored;
	bool		fits;
} StoredTable;

static void try_definition(void *arg);

/* try_definition: sets whether a candidate fits; run by run_catching_row_errors() */
static void
try_definition(void *arg)
{
	StoredTable *c = arg;
	DefinitionRow *row = c->stored;
	const char **names = get_stored_column_names(c->fact, c->stored);
	Relation	rel = try_relation_open(row->index_table, NoLock);

	c->fits = rel != NULL &&
		definition_complete(make_index_def(make_fact_def(c->fact, row->fact_table, row->primary_key, names,
														 CurrentMemoryContext),
										   c->fact, row, rel, INT_MAX, names), c->fact, rel);
	if (rel != NULL)
		relation_close(rel, NoLock);
}

/*
 * refuse_unfinished
 *		Raises an error if a definition that is not believed may belong to an index table
 *		whose triggers a restore has yet to create.  To go on without such a definition
 *		would be to lose entries of its index table.  One that names a table with other
 *		columns than it asks for belongs to no index table, and is passed over.
 */
void
refuse_unfinished(Relation fact)
{
	foreach_ptr(DefinitionRow, s, catalog_read_unchecked_definitions(RelationGetRelid(fact), InvalidOid))
	{
		StoredTable candidate = {fact, s, true};
		ErrorData  *error;

		if (definition_matches_tables(s) || s->state == STATE_INVALID ||
			!has_triggers_of_ours(RelationGetRelid(fact), false) ||
			(get_rel_relkind(s->index_table) != RELKIND_RELATION &&
			 get_rel_relkind(s->index_table) != RELKIND_PARTITIONED_TABLE))
			continue;
		/* It may be any user's table, so do not wait for its lock. */
		if (ConditionalLockRelationOid(s->index_table, AccessShareLock))
		{
			error = run_catching_row_errors(try_definition, &candidate);
			if (error != NULL)
			{
				/* The fact table lacks columns that the definition names. */
				FreeErrorData(error);
				candidate.fits = false;
			}
			UnlockRelationOid(s->index_table, AccessShareLock);
		}
		if (candidate.fits)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" of table \"%s\" is not completely restored",
							get_rel_name(s->index_table), RelationGetRelationName(fact)),
					 errdetail("It lacks the triggers by which an index table is recognized after a restore."),
					 errhint("Wait until the restore has finished. To remove only the definition and to keep the table, run %s",
							 told_select("drop", s->index_table, ""))));
	}
}
