/*-------------------------------------------------------------------------
 *
 * lost_partitions.c
 *	  Finds the partitions that a command has taken from fact tables without naming
 *	  them.
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

static List *noted = NIL;		/* of Noted *, as long as the transaction */

static void
forget_noted(void *arg)
{
	noted = NIL;
}

/*
 * note_partitions
 *		Before DROP SCHEMA and DROP OWNED, which may take partitions along: their rows
 *		cannot be read any more when that is known.
 */
void
note_partitions(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ListCell   *cell;
	ListCell   *inner;

	/* What goes with what is the server's business from then on. */
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
			Noted	   *n = palloc(sizeof(Noted));

			n->root = lfirst_oid(cell);
			n->partition = lfirst_oid(inner);
			noted = lappend(noted, n);
		}
	}
	MemoryContextSwitchTo(old);
}

/* lost_partitions: the fact tables and index tables that are still there, and have lost some; forgets what was noted */
List *
lost_partitions(void)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, noted)
	{
		Noted	   *n = lfirst(cell);

		if (get_rel_relkind(n->root) == RELKIND_PARTITIONED_TABLE && get_rel_name(n->partition) == NULL)
			result = list_append_unique_oid(result, n->root);
	}
	noted = NIL;
	return result;
}
