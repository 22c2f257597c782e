/*-------------------------------------------------------------------------
 *
 * event_trigger.c
 *	  Tells event triggers of the command that fired them, and what was noted before it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "commands/event_trigger.h"
#include "tcop/deparse_utility.h"
#include "tcop/utility.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "ddl.h"

static bool is_of_refresh(Node *command);

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
	List	   *result = NIL;

	/*
	 * The query has no operators, and qualified names only, because any user
	 * may have set search_path.
	 */
	Rows		rows = query_as(InvalidOid, "SELECT classid, objid, objsubid FROM %s", function);

	for (uint64 i = 0; i < rows.n; i++)
	{
		if (DatumGetObjectId(row_value(&rows, i, 1)) == RelationRelationId &&
			(with_columns || DatumGetInt32(row_value(&rows, i, 3)) == 0))
			result = list_append_unique_oid(result, DatumGetObjectId(row_value(&rows, i, 2)));
	}
	return result;
}

/*
 * collected_commands
 *		Returns what the server has collected of a command that has ended: a list of CollectedCommand *.
 *
 * They have the OIDs of what was created and altered.  The names in the command's parse tree may be those
 * of others by now, or may have been: another session may have renamed something while the command waited,
 * users' event triggers may have done so since, and functions that were called may have set search_path.
 */
List *
collected_commands(void)
{
	List	   *result = NIL;
	Rows		rows = query_as(InvalidOid, "SELECT command FROM pg_catalog.pg_event_trigger_ddl_commands()");

	for (uint64 i = 0; i < rows.n; i++)
		result = lappend(result, DatumGetPointer(row_value(&rows, i, 1)));
	return result;
}

/*
 * refuse_uncollected
 *		Raises an error if a command that has ended is none that the server collects, because it was run within
 *		another one, so that nobody can tell what it has changed.
 *
 * Within REFRESH MATERIALIZED VIEW, and commands of ours, the server collects nothing.  It does not say so; but
 * of what it collects as a command here, nothing is to be seen then.  No other event trigger gets to see it.
 * Tables that REFRESH MATERIALIZED VIEW CONCURRENTLY itself makes and alters are left alone.
 */
void
refuse_uncollected(Node *command)
{
	ObjectAddress schema;
	List	   *commands;

	if (IsA(command, GrantStmt) || IsA(command, CreateSubscriptionStmt) || IsA(command, AlterSubscriptionStmt) ||
		is_of_refresh(command) || (!IsA(command, CreateTrigStmt) && catalog_fact_tables() == NIL))
		return;
	ObjectAddressSet(schema, NamespaceRelationId, PG_CATALOG_NAMESPACE);
	EventTriggerCollectSimpleCommand(schema, InvalidObjectAddress, command);
	commands = collected_commands();
	if (commands == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot be run within another command here", GetCommandTagName(CreateCommandTag(command))),
				 errdetail("Within REFRESH MATERIALIZED VIEW, and commands that indextable runs, the server does not tell which tables a command changes."),
				 errhint("Run the command by itself, not in a function that a materialized view or an index calls.")));
	/* It tells of no object without an OID. */
	((CollectedCommand *) llast(commands))->d.simple.address.objectId = InvalidOid;
}

/*
 * is_of_refresh
 *		Returns whether a command is one that REFRESH MATERIALIZED VIEW CONCURRENTLY runs for
 *		itself.
 */
static bool
is_of_refresh(Node *command)
{
	RangeVar   *table = NULL;

	if (IsA(command, CreateStmt) && ((CreateStmt *) command)->inhRelations == NIL)
		table = ((CreateStmt *) command)->relation;
	else if (IsA(command, AlterTableStmt))
	{
		table = ((AlterTableStmt *) command)->relation;
		foreach_ptr(AlterTableCmd, cmd, ((AlterTableStmt *) command)->cmds)
		{
			if (cmd->subtype != AT_AddColumn)
				return false;
		}
	}
	/* Such a schema has a name that no other can be given. */
	return table != NULL && table->schemaname != NULL &&
		isTempNamespace(get_namespace_oid(table->schemaname, true));
}

/*
 * created_object
 *		Returns the object that a command has made, renamed or moved, by its class;
 *		InvalidOid: it has done nothing of that.
 */
Oid
created_object(CollectedCommand *command, Oid class)
{
	return command->type == SCT_Simple && command->d.simple.address.classId == class ?
		command->d.simple.address.objectId : InvalidOid;
}

/* altered_relation: returns the relation that ALTER TABLE has altered, or InvalidOid */
Oid
altered_relation(List *commands)
{
	foreach_ptr(CollectedCommand, command, commands)
	{
		if (command->type == SCT_AlterTable)
			return command->d.alterTable.objectId;
	}
	return InvalidOid;
}

/*
 * begin_notes
 *		Begins to note something in *innermost before a command, in TopTransactionContext.
 *
 * Event triggers of users fire before ours, or after them, and may run other commands, each of
 * which fires all event triggers.  So each command has its own notes.  It is known by its parse
 * tree, which stays where it is until the command has ended.  After that, that of another command
 * may be at the same place, and notes that nobody took are still there.  So a command may take
 * notes only if it has begun some: the newest are its own.
 */
void
begin_notes(CommandNotes **innermost, Node *command)
{
	CommandNotes *notes = MemoryContextAllocZero(TopTransactionContext, sizeof(CommandNotes));

	if (*innermost == NULL)
		forget_at_end(innermost);
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
