/*-------------------------------------------------------------------------
 *
 * leaving.c
 *	  Keeps rows out of partitions that a command is about to detach or drop.
 *
 * Their entries are deleted before the command, and other sessions are locked out.  But event
 * triggers of users may fire between the two, and the entries of rows that they wrote into such
 * a partition would stay.  So they get an error.  Nothing is wrong with deleting rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/definition_rows.h"
#include "../definition/roots.h"
#include "../util/inherit.h"
#include "leaving.h"

/* A partition that is about to leave its fact table. */
typedef struct LeavingPartition
{
	Oid			relid;
	SubTransactionId sub;		/* in which the command runs */
} LeavingPartition;

static List *leaving = NIL;		/* of LeavingPartition *, until the
								 * transaction ends */

/* note_leaving: notes that the entries of a partition, and of its own partitions, are deleted */
void
note_leaving(Oid partition)
{
	List	   *partitions = list_with_partitions(partition);
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ListCell   *cell;

	foreach(cell, partitions)
	{
		LeavingPartition *l = palloc(sizeof(LeavingPartition));

		l->relid = lfirst_oid(cell);
		l->sub = GetCurrentSubTransactionId();
		leaving = lappend(leaving, l);
	}
	MemoryContextSwitchTo(old);
}

/* is_leaving: returns whether that was noted of a partition */
bool
is_leaving(Oid partition)
{
	ListCell   *cell;

	foreach(cell, leaving)
	{
		if (((LeavingPartition *) lfirst(cell))->relid == partition)
			return true;
	}
	return false;
}

/* forget_leaving: forgets a partition, and its own, that has been detached, or attached since */
void
forget_leaving(Oid partition)
{
	List	   *partitions = leaving == NIL ? NIL : list_with_partitions(partition);
	ListCell   *cell;

	foreach(cell, leaving)
	{
		if (list_member_oid(partitions, ((LeavingPartition *) lfirst(cell))->relid))
			leaving = foreach_delete_current(leaving, cell);
	}
}

/* refuse_leaving: raises an error if a row is written to a partition whose entries are deleted already */
void
refuse_leaving(Relation written)
{
	if (is_leaving(RelationGetRelid(written)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot write to partition \"%s\" while it is being detached or dropped", RelationGetRelationName(written)),
				 errdetail("The entries of its rows are deleted already."),
				 errhint("Check the event triggers of the database.")));
}

/*
 * leaving_at_xact_event
 *		Forgets all when the transaction has ended; before that raises an error if a partition has
 *		stayed, because its name had another meaning by the time the command came to it.
 */
void
leaving_at_xact_event(XactEvent event)
{
	bool		commits = event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE;
	ListCell   *cell;

	/* DETACH CONCURRENTLY commits right after it has marked the partition. */
	if (commits && leaving != NIL)
		CommandCounterIncrement();
	foreach(cell, commits ? leaving : NIL)
	{
		Oid			relid = ((LeavingPartition *) lfirst(cell))->relid;
		Oid			root = registered_root(relid);

		if (root != relid && catalog_fact_in_use(root))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" was to be detached or dropped, and has stayed", get_rel_name(relid)),
					 errdetail("The entries of its rows are deleted already."),
					 errhint("The transaction might succeed if retried.")));
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		leaving = NIL;
}

/* leaving_at_subxact_event: forgets those whose command is undone */
void
leaving_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent)
{
	ListCell   *cell;

	foreach(cell, leaving)
	{
		LeavingPartition *l = lfirst(cell);

		if (l->sub != sub)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			l->sub = parent;
		else if (event == SUBXACT_EVENT_ABORT_SUB)
			leaving = foreach_delete_current(leaving, cell);
	}
}
