/*-------------------------------------------------------------------------
 *
 * lost_partitions.c
 *	  Finds the partitions of fact tables and index tables that a command has
 *	  dropped without naming them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../queue/adopt_restored.h"
#include "../util/inherit.h"
#include "lost_partitions.h"

/* A partition of a fact table or an index table, noted before a command that may drop it. */
typedef struct Noted
{
	Oid			root;
	Oid			partition;
} Noted;

static List *noted = NIL;		/* of Noted *, until the transaction ends */

static void forget_noted(void *arg);

/*
 * note_partitions
 *		Notes the partitions that there are, before DROP SCHEMA or DROP OWNED,
 *		which may drop some.
 *
 * When it is known that a partition was dropped, its rows cannot be read any more.
 */
void
note_partitions(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ListCell   *cell;
	ListCell   *inner;

	/*
	 * After a restore this records the dependencies by which the server drops
	 * what belongs together.
	 */
	adopt_all();
	noted = NIL;
	callback->func = forget_noted;
	MemoryContextRegisterResetCallback(TopTransactionContext, callback);
	foreach(cell, list_concat(catalog_fact_tables(), catalog_index_tables()))
	{
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			continue;
		foreach(inner, list_with_partitions(lfirst_oid(cell)))
		{
			Noted	   *note = palloc(sizeof(Noted));

			note->root = lfirst_oid(cell);
			note->partition = lfirst_oid(inner);
			noted = lappend(noted, note);
		}
	}
	MemoryContextSwitchTo(old);
}

/*
 * lost_partitions
 *		Returns the fact tables and index tables that exist and have lost
 *		partitions; forgets what was noted.
 */
List *
lost_partitions(void)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, noted)
	{
		Noted	   *note = lfirst(cell);

		if (get_rel_relkind(note->root) == RELKIND_PARTITIONED_TABLE && get_rel_name(note->partition) == NULL)
			result = list_append_unique_oid(result, note->root);
	}
	noted = NIL;
	return result;
}

static void
forget_noted(void *arg)
{
	noted = NIL;
}
