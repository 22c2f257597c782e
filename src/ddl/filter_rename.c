/*-------------------------------------------------------------------------
 *
 * filter_rename.c
 *	  Rewrites the filters of index tables when a function, a type, a schema or an
 *	  enum label that they use is renamed.
 *
 * A filter is stored as text, which a dump carries to a database where OIDs are
 * others.  Before the command each filter is parsed, by the names that are valid
 * then; after it, the filter is written with the new names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../commands/replace.h"
#include "../definition/expression.h"
#include "../indextable.h"
#include "../maintain/distributed_triggers.h"
#include "../maintain/follow_ddl.h"
#include "../util/arguments.h"
#include "../util/subxact.h"
#include "event_trigger.h"
#include "filter_rename.h"

/* A filter, parsed before a command. */
typedef struct Filter
{
	Oid			index_table;
	RowExpression *expr;
} Filter;

static CommandNotes *filters = NULL;	/* lists of Filter * */

static void forget_filters(void *arg);
static void parse_filter(void *arg);

/*
 * may_affect_filters
 *		Returns whether a command is about an object that an index table may
 *		depend on by way of its filter or of a type.
 */
bool
may_affect_filters(Node *command)
{
	ObjectType	type;

	switch (nodeTag(command))
	{
		case T_RenameStmt:
			type = ((RenameStmt *) command)->renameType;
			return type != OBJECT_COLUMN && type != OBJECT_TABLE && type != OBJECT_TRIGGER &&
				type != OBJECT_INDEX && type != OBJECT_TABCONSTRAINT;
		case T_AlterObjectSchemaStmt:
			return ((AlterObjectSchemaStmt *) command)->objectType != OBJECT_TABLE;
		case T_AlterEnumStmt:
			return true;
		case T_AlterTableStmt:
			return ((AlterTableStmt *) command)->objtype == OBJECT_TYPE;
		default:
			return false;
	}
}

/*
 * parse_filters_before_rename
 *		Parses all filters that use something that can be renamed; one that is
 *		broken already is left out, and stays as it is.
 */
void
parse_filters_before_rename(Node *command)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ListCell   *cell;

	begin_notes(&filters, command, forget_filters);
	foreach(cell, catalog_index_tables())
	{
		Oid			index_table = lfirst_oid(cell);
		ErrorData  *error;

		/* Fact tables whose filters cannot change are not locked. */
		if (!has_filter_dependencies(index_table))
			continue;
		error = run_catching_row_errors(parse_filter, &index_table);
		if (error != NULL)
			FreeErrorData(error);
	}
	MemoryContextSwitchTo(old);
}

static void
forget_filters(void *arg)
{
	filters = NULL;
}

static void
parse_filter(void *arg)
{
	Oid			index_table = *(Oid *) arg;
	List	   *rows = catalog_read_definitions(InvalidOid, index_table);
	StoredDefinition *stored = rows == NIL ? NULL : linitial(rows);
	Relation	fact;

	if (stored == NULL || stored->row.filter == NULL)
		return;
	fact = try_relation_open(stored->row.fact_table, AccessShareLock);
	if (fact == NULL)
		return;

	/*
	 * The filter can be parsed only if it has the names that columns have
	 * now.
	 */
	if (!same_strings(stored->columns, get_column_names_by_number(fact)))
	{
		update_definitions(RelationGetRelid(fact), false, true);
		rows = catalog_read_definitions(InvalidOid, index_table);
		if (rows == NIL)
			return;
		stored = linitial(rows);
	}
	if (same_strings(stored->columns, get_column_names_by_number(fact)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
		Filter	   *filter = palloc(sizeof(Filter));

		filter->index_table = index_table;
		filter->expr = expression_parse(fact, stored->row.filter, BOOLOID, -1, NULL);
		filters->notes = lappend(filters->notes, filter);
		MemoryContextSwitchTo(old);
	}
	relation_close(fact, AccessShareLock);
}

/* rewrite_filters_after_rename: writes the filters whose text has changed */
void
rewrite_filters_after_rename(Node *command)
{
	ListCell   *cell;

	foreach(cell, take_notes(&filters, command))
	{
		Filter	   *filter = lfirst(cell);
		List	   *rows = catalog_read_definitions(InvalidOid, filter->index_table);
		DefinitionRow *row = rows == NIL ? NULL : &((StoredDefinition *) linitial(rows))->row;
		Relation	fact = row == NULL ? NULL : try_relation_open(row->fact_table, AccessShareLock);
		char	   *text;

		if (fact == NULL)
			continue;
		text = expression_text(fact, filter->expr);

		if (row->filter != NULL && strcmp(text, row->filter) != 0)
		{
			row->filter = text;

			catalog_update(row, fact);
			CacheInvalidateRelcache(fact);
			distributed_renew_guard(filter->index_table);
		}
		relation_close(fact, AccessShareLock);
	}
}
