/*-------------------------------------------------------------------------
 *
 * folding.c
 *	  Folds a table of totals: replaces the entries of a group, of which each statement has added one, by
 *	  their sum.  Why no reader notices is told in ../apply/deltas.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/lock.h"
#include "maintain.h"

/*
 * tables_of_totals
 *		Returns the OIDs of the active tables of totals of a fact table, or of all; of one that is in parts, those
 *		of its parts that are folded here.
 */
List *
tables_of_totals(Oid fact_table)
{
	List	   *result = NIL;

	foreach_ptr(DefinitionRow, row,
				OidIsValid(fact_table) ? catalog_read_definitions(fact_table, InvalidOid) :
				catalog_definitions())
	{
		const IndexTableMethods *methods;

		if (!keeps_totals(row) || row->state != STATE_ACTIVE)
			continue;
		methods = place_of(row->index_table)->index_tables;
		result = methods->folded_parts == NULL ? lappend_oid(result, row->index_table) :
			list_concat(result, methods->folded_parts(row->index_table));
	}
	return result;
}

/*
 * fold_if_free
 *		Folds a table of totals, unless another session does; returns how many entries were replaced,
 *		of which there may be limit.
 *
 * A transaction that keeps its snapshot does not: it would then see the entries that it has
 * written, of changes that it does not see.
 */
int64
fold_if_free(Oid index_table, int64 limit)
{
	Relation	fact;
	Relation	rel;
	IndexDef   *def;
	int64		n = 0;

	if (IsolationUsesXactSnapshot())
		return 0;
	def = definition_open(index_table, &fact, &rel);
	if (def == NULL)
		return 0;
	lock_once(index_table, RowExclusiveLock, &def->run.locked);
	if (is_totals(def) && lock_folding(index_table, false))
		n = fold_totals(def, rel, limit);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
	return n;
}
