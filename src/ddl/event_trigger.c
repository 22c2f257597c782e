/*-------------------------------------------------------------------------
 *
 * event_trigger.c
 *	  Tells event triggers of the command that fired them, and what was noted before it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "../indextable.h"
#include "event_trigger.h"

/* require_event_trigger: refuses a call that does not come from the event trigger manager */
void
require_event_trigger(FunctionCallInfo fcinfo, const char *function)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s.%s\" was not called by the event trigger manager",
						IT_INTERNAL, function)));
}

/*
 * event_trigger_relations
 *		Returns the relations among the objects that one of the server's functions
 *		for event triggers returns; with_columns: also those of which it returns a
 *		column.
 */
List *
event_trigger_relations(const char *function, bool with_columns)
{
	MemoryContext cxt = CurrentMemoryContext;
	List	   *result = NIL;
	uint64		i;

	/*
	 * The query has no operators, and qualified names only, because any user
	 * may have set search_path.
	 */
	SPI_connect();
	if (SPI_execute(psprintf("SELECT classid, objid, objsubid FROM %s", function),
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the objects of the event");
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;
		Oid			class = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &isnull));
		Oid			object = DatumGetObjectId(SPI_getbinval(tuple, desc, 2, &isnull));
		int32		column = DatumGetInt32(SPI_getbinval(tuple, desc, 3, &isnull));
		MemoryContext old = MemoryContextSwitchTo(cxt);

		if (class == RelationRelationId && (with_columns || column == 0))
			result = list_append_unique_oid(result, object);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return result;
}

/*
 * begin_notes
 *		Begins to note something in *innermost before a command, in TopTransactionContext.
 *		forget() is called when the transaction ends, and has to set *innermost to NULL.
 *
 * Event triggers of users fire before ours, or after them, and may run other commands, each of
 * which fires all event triggers.  So each command has its own notes.  It is known by its parse
 * tree, which stays where it is until the command has ended.  After that, that of another command
 * may be at the same place, and notes that nobody took are still there.  So a command may take
 * notes only if it has begun some: the newest are its own.
 */
void
begin_notes(CommandNotes **innermost, Node *command, void (*forget) (void *arg))
{
	CommandNotes *notes = MemoryContextAllocZero(TopTransactionContext, sizeof(CommandNotes));

	if (*innermost == NULL)
	{
		MemoryContextCallback *callback = MemoryContextAllocZero(TopTransactionContext, sizeof(MemoryContextCallback));

		callback->func = forget;
		MemoryContextRegisterResetCallback(TopTransactionContext, callback);
	}
	notes->command = command;
	notes->outer = *innermost;
	*innermost = notes;
}

/*
 * take_notes
 *		Returns what was noted before a command, and forgets it, and what was noted before
 *		commands within that one, which have ended.
 */
List *
take_notes(CommandNotes **innermost, Node *command)
{
	CommandNotes *notes = *innermost;

	while (notes != NULL && notes->command != command)
		notes = notes->outer;
	if (notes == NULL)
		return NIL;
	*innermost = notes->outer;
	return notes->notes;
}
