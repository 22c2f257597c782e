/*-------------------------------------------------------------------------
 *
 * foreign_rows.c
 *	  The rows of foreign partitions, by key or all of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../../entry/fact_fetch.h"
#include "../../indextable.h"
#include "../place.h"
#include "foreign_rows.h"

static void expect_rows(LiveScan *scan, Datum **keys, int n);
static void find_rows(LiveScan *scan, Datum *key);
static void keep_row(TupleTableSlot *row, void *arg);

const RowSource foreign_rows = {
	.find = find_rows,
	.expect = expect_rows,
	.begin = foreign_scan_begin,
	.next = foreign_scan_next,
	.end = foreign_scan_end
};

/*
 * expect_rows
 *		Fetches in advance the rows with these keys that are on other servers.
 *
 * All partitions are asked at once.  Rows that were fetched before are forgotten: all
 * are as the other servers show them at this moment.
 */
static void
expect_rows(LiveScan *scan, Datum **keys, int n)
{
	RowRequest	request = {.def = scan->def,.relid = scan->def->relid,.as_owner = true};
	MemoryContext old;
	int			i;

	scan->fetched = NULL;
	if (scan->leaves == NULL)
		return;
	if (scan->fetched_cxt == NULL)
		scan->fetched_cxt = AllocSetContextCreate(scan->cxt, "indextable rows fetched", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(scan->fetched_cxt);
	old = MemoryContextSwitchTo(scan->fetched_cxt);
	for (i = 0; i < n; i++)
	{
		if (!live_scan_is_elsewhere(scan, keys[i]))
			continue;
		if (scan->fetched == NULL)
		{
			request.columns = bms_union(scan->def->used, scan->def->queued);
			scan->fetched = foreign_batch_begin(&request);
		}
		foreign_batch_add(scan->fetched, keys[i], RelationGetRelid(scan->current->rel));
	}
	if (scan->fetched != NULL)
		foreign_batch_run(scan->fetched);
	MemoryContextSwitchTo(old);
}

/*
 * find_rows
 *		Fetches the rows with a primary key from another server, in one round trip.
 *
 * That server shows what this transaction has written there only if it is asked as
 * the user who has written it.
 */
static void
find_rows(LiveScan *scan, Datum *key)
{
	LeafScan   *leaf = scan->current;
	List	   *fetched;
	ListCell   *cell;
	RowRequest	request = {.def = scan->def,.relid = scan->def->relid,.as_owner = !scan->as_writer};
	Oid			partition = RelationGetRelid(leaf->rel);

	request.columns = bms_union(scan->def->used, scan->def->queued);
	list_free_deep(leaf->rows);
	leaf->rows = NIL;
	if (scan->fetched != NULL && foreign_batch_find(scan->fetched, key, &fetched))
		foreach(cell, fetched)
			leaf->rows = lappend(leaf->rows, heap_copy_minimal_tuple_compat(lfirst(cell)));
	else
		foreign_by_key_fetch(&request, &partition, key, 1, keep_row, leaf);
}

/* keep_row: adds a row of another server to those of the key */
static void
keep_row(TupleTableSlot *row, void *arg)
{
	LeafScan   *leaf = arg;

	leaf->rows = lappend(leaf->rows, ExecCopySlotMinimalTuple(row));
}
