/*-------------------------------------------------------------------------
 *
 * compare_totals.c
 *	  Compares a table of totals with its fact table, and mends it.
 *
 * A snapshot sees both tables as they are at one moment, and so what the totals lack.  A session
 * that writes meanwhile adds to both, so the difference stays what it is, and is added: only
 * sessions that fold or mend are kept out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "verify.h"

static void report_group(Deltas *difference, Deltas *has, Datum *values, bool *isnull,
						 discrepancy_handler handler, void *arg);

/*
 * verify_totals
 *		Calls the handler for each group of which the totals are wrong; returns what is to be
 *		recorded of the rows.
 */
uint64
verify_totals(IndexDef *def, Relation fact, Relation index_table, Snapshot snapshot,
			  discrepancy_handler handler, void *arg)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable totals", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Deltas	   *has = deltas_begin(def, cxt);
	Deltas	   *difference = deltas_of_difference(def, fact, index_table, snapshot, false, has);
	uint64		lacking = difference->lacking;
	Datum	   *values;
	bool	   *isnull;

	MemoryContextSwitchTo(old);
	for (deltas_rewind(difference); deltas_next_group(difference, &values, &isnull);)
		report_group(difference, has, values, isnull, handler, arg);
	MemoryContextDelete(cxt);
	return lacking;
}

/* report_group: reports a group, as it should be and as it is in what the table of totals has */
static void
report_group(Deltas *difference, Deltas *has, Datum *values, bool *isnull, discrepancy_handler handler, void *arg)
{
	IndexDef   *def = difference->def;
	Discrepancy d = {.kind = KIND_STALE,.def = def};
	TupleTableSlot *expected = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	TupleTableSlot *found = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	Datum	   *there;
	bool		any = deltas_find(has, values, isnull, &there);

	store_entry(expected, values, isnull);
	store_entry(found, any ? there : values, isnull);
	for (int i = 0; any && i < difference->nadded; i++)
	{
		int			at = difference->added[i] - 1;

		expected->tts_values[at] = DirectFunctionCall2(TupleDescAttr(def->layout.desc, at)->atttypid == INT8OID ?
													   int8pl :
													   numeric_add,
													   there[at], values[at]);
	}
	/* A group without rows may have sums. */
	if (DatumGetInt64(expected->tts_values[def->layout.rows_attno - 1]) == 0)
		d.kind = KIND_DANGLING;
	else if (!any || DatumGetInt64(there[def->layout.rows_attno - 1]) == 0)
		d.kind = KIND_MISSING;
	d.expected = d.kind == KIND_DANGLING ? NULL : expected;
	d.found = d.kind == KIND_MISSING ? NULL : found;
	handler(&d, arg);
	ExecDropSingleTupleTableSlot(expected);
	ExecDropSingleTupleTableSlot(found);
}

/*
 * repair_if_totals
 *		Mends a table of totals, and adds the number of groups that were wrong; returns false
 *		for other index tables.
 */
bool
repair_if_totals(Oid index_table, int64 *wrong)
{
	DefinitionRow *stored = stored_definition(index_table);

	if (stored == NULL || !keeps_totals(stored))
		return false;
	*wrong += add_missing_totals(index_table, false);
	return true;
}

/*
 * add_missing_totals
 *		Adds to a table of totals what it lacks; returns the number of groups that were wrong.
 *		Only with report do values that cannot be in an entry raise an error, or count as
 *		skipped, which they did before unless the definition is new.
 */
int64
add_missing_totals(Oid index_table, bool report)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable totals", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Relation	fact;
	Relation	rel;
	IndexDef   *def = definition_open(index_table, &fact, &rel);
	Snapshot	snapshot;
	Deltas	   *difference;
	int64		n;

	if (def == NULL)
		report_not_index_table(index_table);
	if (batches_pending(def->fact->relid) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot mend totals while a statement writes their fact table")));
	LockRelationOid(index_table, RowExclusiveLock);
	(void) lock_folding(index_table, true);
	require_owner(index_table);
	snapshot = tree_snapshot(fact);
	difference = deltas_of_difference(def, fact, rel, snapshot, report, NULL);
	n = deltas_write(difference);
	UnregisterSnapshot(snapshot);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return n;
}
