/*-------------------------------------------------------------------------
 *
 * filter_rename.c
 *	  Rewrites the filters of index tables, and fields that are expressions, when a function,
 *	  a type, a schema or an enum label that they use is renamed.
 *
 * These expressions are stored as text, which a dump carries to a database where OIDs are
 * others.  Before the command each of them is parsed, by the names that are valid
 * then; after it, it is written with the new names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/subxact.h"
#include "ddl.h"

/* The expressions of an index table, parsed before a command. */
typedef struct Filter
{
	Oid			index_table;
	List	   *expressions;	/* as parse_expressions() returns them */
} Filter;

static CommandNotes *filters = NULL;	/* lists of Filter * */

static void parse_filter(void *arg);
static List *rewritten_fields(Relation fact, List *texts, List *expressions, int first);

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

	begin_notes(&filters, command);
	foreach_oid(index_table, catalog_index_tables())
	{
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
parse_filter(void *arg)
{
	Oid			index_table = *(Oid *) arg;
	DefinitionRow *stored = stored_definition(index_table);
	Relation	fact;

	if (stored == NULL)
		return;
	fact = try_relation_open(stored->fact_table, AccessShareLock);
	if (fact == NULL)
		return;

	/*
	 * The filter can be parsed only if it has the names that columns have
	 * now.
	 */
	if (!same_strings(stored->columns, get_column_names_by_number(fact)))
	{
		update_definitions(RelationGetRelid(fact), false, true);
		stored = stored_definition(index_table);
		if (stored == NULL)
			return;
	}
	if (same_strings(stored->columns, get_column_names_by_number(fact)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
		Filter	   *filter = palloc(sizeof(Filter));

		filter->index_table = index_table;
		filter->expressions = parse_expressions(fact, stored, NULL);
		filters->notes = lappend(filters->notes, filter);
		MemoryContextSwitchTo(old);
	}
	relation_close(fact, AccessShareLock);
}

/* rewrite_filters_after_rename: writes the filters whose text has changed */
void
rewrite_filters_after_rename(Node *command)
{
	foreach_ptr(Filter, filter, take_notes(&filters, command))
	{
		DefinitionRow *row = stored_definition(filter->index_table);
		Relation	fact = row == NULL ? NULL : try_relation_open(row->fact_table, AccessShareLock);
		DefinitionRow old;

		if (fact == NULL)
			continue;
		old = *row;
		if (row->filter != NULL && linitial(filter->expressions) != NULL)
			row->filter = expression_text(fact, linitial(filter->expressions));
		row->key = rewritten_fields(fact, row->key, filter->expressions, 1);
		row->include = rewritten_fields(fact, row->include, filter->expressions, 1 + list_length(row->key));
		if (!same_strings(row->key, old.key) || !same_strings(row->include, old.include) ||
			(row->filter != NULL && strcmp(row->filter, old.filter) != 0))
		{
			catalog_update(row, fact);
			CacheInvalidateRelcache(fact);
			if (place_of(filter->index_table)->triggers->renew_guard != NULL)
				place_of(filter->index_table)->triggers->renew_guard(filter->index_table);
		}
		relation_close(fact, AccessShareLock);
	}
}

/* rewritten_fields: returns fields with their expressions, which are in a list from the first one on, as they are written now */
static List *
rewritten_fields(Relation fact, List *texts, List *expressions, int first)
{
	List	   *result = NIL;

	foreach_ptr(char, field, texts)
	{
		int			i = first + foreach_current_index(field);

		result = lappend(result, field_as_written(fact, parse_field_spec(field, false),
												  i < list_length(expressions) ? list_nth(expressions, i) : NULL));
	}
	return result;
}
