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
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../queue/adopt_restored.h"
#include "../util/inherit.h"
#include "event_trigger.h"
#include "lost_partitions.h"

/* A partition of a fact table or an index table, noted before a command that may drop it. */
typedef struct Noted
{
	Oid			root;
	Oid			partition;
} Noted;

static CommandNotes *noted = NULL;	/* lists of Noted * */

static bool may_drop_unnamed(Node *command);
static void note_tree(CommandNotes *notes, Oid root, Oid partition);
static void forget_noted(void *arg);

/* may_drop_unnamed: returns whether a command may drop partitions that it does not name, as DROP SCHEMA and DROP OWNED may */
static bool
may_drop_unnamed(Node *command)
{
	if (IsA(command, DropStmt))
		return ((DropStmt *) command)->removeType != OBJECT_TABLE && ((DropStmt *) command)->removeType != OBJECT_FOREIGN_TABLE;
	return IsA(command, DropOwnedStmt);
}

/*
 * note_partitions
 *		Notes the partitions that there are, before a command that may drop some without naming
 *		them.
 *
 * When it is known that a partition was dropped, its rows cannot be read any more.
 */
void
note_partitions(Node *command)
{
	ListCell   *cell;

	if (!may_drop_unnamed(command))
		return;

	/*
	 * After a restore this records the dependencies by which the server drops
	 * what belongs together.
	 */
	adopt_all();
	begin_notes(&noted, command, forget_noted);
	foreach(cell, list_concat(catalog_fact_tables(), catalog_index_tables()))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			note_tree(noted, lfirst_oid(cell), lfirst_oid(cell));
	}
}

/*
 * note_new_partition
 *		Notes a partition, and its own, that an event trigger of a user has made or attached before
 *		a command that may drop it.
 *
 * One that such a trigger detaches stays noted.  If the command drops it, index tables become
 * invalid that would not have to: that is safe, even if the trigger is rolled back.
 */
void
note_new_partition(Oid root, Oid partition)
{
	CommandNotes *notes;

	for (notes = noted; notes != NULL; notes = notes->outer)
		note_tree(notes, root, partition);
}

/* note_tree: notes a partition and its own partitions */
static void
note_tree(CommandNotes *notes, Oid root, Oid partition)
{
	List	   *partitions = list_with_partitions(partition);
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ListCell   *cell;

	foreach(cell, partitions)
	{
		Noted	   *note = palloc(sizeof(Noted));

		note->root = root;
		note->partition = lfirst_oid(cell);
		notes->notes = lappend(notes->notes, note);
	}
	MemoryContextSwitchTo(old);
}

/*
 * lost_partitions
 *		Returns the fact tables and index tables that exist and have lost partitions, which are
 *		among the relations that a command has dropped.  What it forgets is only what was noted
 *		before this command.
 *
 * A partition that is gone without being among them was dropped by another command, which has
 * seen to its entries.
 */
List *
lost_partitions(Node *command, List *dropped)
{
	List	   *result = NIL;
	ListCell   *cell;

	/*
	 * A command that has failed, or has found nothing to drop, may have left
	 * its notes.  One that notes something itself finds its own before them;
	 * any other may have its parse tree in the same place.
	 */
	if (!may_drop_unnamed(command))
		return NIL;
	foreach(cell, take_notes(&noted, command))
	{
		Noted	   *note = lfirst(cell);

		if (get_rel_relkind(note->root) == RELKIND_PARTITIONED_TABLE && list_member_oid(dropped, note->partition))
			result = list_append_unique_oid(result, note->root);
	}
	return result;
}

/* forget_noted: forgets all when the transaction ends */
static void
forget_noted(void *arg)
{
	noted = NULL;
}
