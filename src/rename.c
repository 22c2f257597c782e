/*-------------------------------------------------------------------------
 *
 * rename.c
 *	  Filters follow when a function, a type, a schema or a label that they use is
 *	  renamed.
 *
 * Called by alter.c, before and after every command that may do so.  A filter is
 * kept as text, which dumps carry to where OIDs are others.  Before the command
 * each is parsed by the names it has; after it, written with the new ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "indextable.h"
#include "utils/inval.h"
#include "utils/memutils.h"

typedef struct Filter
{
	Oid			index_table;
	RowExpression *expr;
} Filter;

static List *filters = NIL;		/* of Filter *, as long as the transaction */

static void forget_filters(void *arg);
static void parse_filter(void *arg);

/* rename_begins: what is broken now stays so */
void
rename_begins(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ListCell   *cell;

	filters = NIL;
	callback->func = forget_filters;
	MemoryContextRegisterResetCallback(TopTransactionContext, callback);
	foreach(cell, catalog_index_tables())
	{
		Oid			index_table = lfirst_oid(cell);
		ErrorData  *error;

		/* Without a lock on the others. */
		if (!depends_on_objects(index_table))
			continue;
		error = attempt(parse_filter, &index_table);
		if (error != NULL)
			FreeErrorData(error);
	}
	MemoryContextSwitchTo(old);
}

static void
forget_filters(void *arg)
{
	filters = NIL;
}

static void
parse_filter(void *arg)
{
	Oid			index_table = *(Oid *) arg;
	List	   *rows = catalog_read(InvalidOid, index_table);
	StoredDefinition *stored = rows == NIL ? NULL : linitial(rows);
	Relation	fact;

	if (stored == NULL || stored->row.filter == NULL)
		return;
	fact = try_relation_open(stored->row.fact_table, AccessShareLock);
	if (fact == NULL)
		return;
	/* So that the names are those of now, all of them. */
	if (!same_strings(stored->columns, catalog_column_names(fact)))
	{
		follow_table(RelationGetRelid(fact), false, true);
		rows = catalog_read(InvalidOid, index_table);
		if (rows == NIL)
			return;
		stored = linitial(rows);
	}
	if (same_strings(stored->columns, catalog_column_names(fact)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
		Filter	   *filter = palloc(sizeof(Filter));

		filter->index_table = index_table;
		filter->expr = expression_parse(fact, stored->row.filter, BOOLOID, -1, NULL);
		filters = lappend(filters, filter);
		MemoryContextSwitchTo(old);
	}
	relation_close(fact, AccessShareLock);
}

/* rename_ends: writes the texts that are others now */
void
rename_ends(void)
{
	ListCell   *cell;

	foreach(cell, filters)
	{
		Filter	   *filter = lfirst(cell);
		List	   *rows = catalog_read(InvalidOid, filter->index_table);
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
		}
		relation_close(fact, AccessShareLock);
	}
	filters = NIL;
}
