/*-------------------------------------------------------------------------
 *
 * fold.c
 *	  Folds tables of totals: has a group have one entry again, where many statements have each
 *	  added one.  Why nobody notices is told in entry/deltas.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "../catalog/definition_rows.h"
#include "../definition/cache.h"
#include "../definition/totals.h"
#include "../entry/deltas.h"
#include "../indextable.h"
#include "../util/lock.h"
#include "fold.h"

/* tables_of_totals: returns the OIDs of the active tables of totals of a fact table, or of all */
List *
tables_of_totals(Oid fact_table)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, OidIsValid(fact_table) ? catalog_read_definitions(fact_table, InvalidOid) : catalog_definitions())
	{
		DefinitionRow *row = &((StoredDefinition *) lfirst(cell))->row;

		if (keeps_totals(row) && strcmp(row->state, "active") == 0)
			result = lappend_oid(result, row->index_table);
	}
	return result;
}

/*
 * fold_tables
 *		Folds the tables of totals of a fact table, or all of those that the current user owns;
 *		returns whether there are any.
 */
bool
fold_tables(Oid fact_table)
{
	List	   *tables = tables_of_totals(fact_table);
	ListCell   *cell;

	foreach(cell, tables)
	{
		if (get_rel_name(lfirst_oid(cell)) != NULL && owns_relation(lfirst_oid(cell), GetUserId()))
			(void) fold_if_free(lfirst_oid(cell), INT_MAX);
	}
	return tables != NIL;
}

/*
 * fold_if_free
 *		Folds a table of totals, unless somebody is at it; returns how many entries were replaced,
 *		of which there may be limit.
 *
 * A transaction that keeps its snapshot does not: it would then see the entries that it has
 * written, of changes that it does not see.
 */
int64
fold_if_free(Oid index_table, int64 limit)
{
	FactDef    *factdef;
	Relation	fact;
	Relation	rel;
	IndexDef   *def;
	int64		n = 0;

	if (IsolationUsesXactSnapshot())
		return 0;
	def = definition_open(index_table, &factdef, &fact, &rel);
	if (def == NULL)
		return 0;
	lock_once(index_table, RowExclusiveLock, &def->locked);
	if (is_totals(def) && lock_folding(index_table, false))
		n = fold_totals(def, rel, limit);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
	return n;
}
