/*-------------------------------------------------------------------------
 *
 * restored.c
 *	  Warns of index tables that a dump brings without their definitions, and refuses to write
 *	  their fact tables.
 *
 * Users are given the statements that make such tables index tables again (catalog/comment_call.c):
 * at once, when the restore creates the guard, and whenever they write to one of the two tables.
 *
 * A fact table that was restored without its index tables lacks nothing: it is written as if it
 * had no triggers of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/comment_call.h"
#include "../definition/invalidation.h"
#include "restored.h"

/*
 * All tables without definitions, of whichever fact table.  If it is not known, or has changed
 * since it was begun to list them, some relation may be one or may not be one any more.
 */
static List *undefined = NIL;
static bool known = false;
static bool changed = false;

static void relation_changed(Oid relid);

static ChangeListener restored_listener = {.any_relation = relation_changed};

/* warn_undefined: warns of a table that has just got the guard of an index table, but has no definition */
void
warn_undefined(Oid index_table)
{
	if (is_undefined(index_table))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("table \"%s\" was an index table, but its definition has not been restored", get_rel_name(index_table)),
				 errdetail("Nothing keeps it in step, and it cannot be written by hand."),
				 errhint("When the tables are restored, run: %s", told_remaking(list_make1_oid(index_table)))));
}

/*
 * refuse_undefined
 *		Raises an error if there are tables that were index tables of a fact table without a
 *		definition.  written is the fact table, or the partition of it, that is written.
 *
 * This is called for each row, so the tables are listed only when any relation has changed:
 * also back, when a savepoint is rolled back to.  What their comments say is not news of a
 * relation, and is read each time.
 */
void
refuse_undefined(Oid fact_table, Oid written)
{
	List	   *of_fact;

	if (!known)
	{
		MemoryContext old;
		List	   *found;

		listen_to_changes(&restored_listener);
		changed = false;
		found = undefined_tables();
		old = MemoryContextSwitchTo(TopMemoryContext);
		found = list_copy(found);
		MemoryContextSwitchTo(old);
		list_free(undefined);
		undefined = found;
		known = !changed;
	}
	of_fact = undefined == NIL ? NIL : undefined_of(undefined, fact_table);
	if (of_fact != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has triggers of indextable but is not registered", get_rel_name(written)),
				 errdetail("Its index tables were restored without their definitions, and would not be maintained."),
				 errhint("Run: %s", told_remaking(of_fact))));
}

/* relation_changed: notes that the tables without definitions may be others now */
static void
relation_changed(Oid relid)
{
	known = false;
	changed = true;
}
