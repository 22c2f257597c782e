/*-------------------------------------------------------------------------
 *
 * scan_node.c
 *	  Executes a scan of an index table: searches its entries, and returns what they have, or
 *	  the fact rows that it fetches by their primary keys.
 *
 * When a search starts, the query's snapshot has to see just the entries of the rows that it
 * sees; why_out_of_step() tells.  Otherwise the rows are read by a native plan of the same
 * query, with the same snapshot.  It is decided once for a search, because a snapshot does not
 * change, and neither does what it sees of entries.
 *
 * In a REPEATABLE READ transaction that has written the fact table, a snapshot may see two rows
 * of one primary key: one that another transaction has deleted since, and one that this
 * transaction has inserted then.  Entries tell both, but not which of them a fetch finds, nor that
 * they are two rows.
 *
 * An AND is a scan of entries whose rows other index tables find, too.  The other searches are
 * scans of their own below the scan, its parts, of which nothing but entries is wanted.  All come
 * in the same order; see and_path.c.  So each part goes on until it is at the row of the scan's
 * entry, or past it.  If one part cannot answer, the scan does without all index tables.
 *
 * An OR that entries alone answer is a scan without a search of its own, whose parts are read one
 * after the other.  Primary keys that were found are remembered, so that each row comes once.  If the
 * order is wanted, in which all parts come as those of an AND do, they are merged instead.
 *
 * Rows are kept for a cursor that goes back.  A native scan of a table or an index can be read in
 * both directions, and so can a cursor that says neither SCROLL nor NO SCROLL.  A materialize node
 * above the scan would do, but WHERE CURRENT OF does not look below it.  Of rows that are returned
 * as they are stored, only the places are kept: the cursor's snapshot keeps the rows there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "scan.h"

static void begin_scan(CustomScanState *node, EState *estate, int eflags);
static void open_index_table(IndexTableScan *scan);
static TupleTableSlot *exec_scan(CustomScanState *node);
static TupleTableSlot *next_tuple(ScanState *node);
static TupleTableSlot *find_row(IndexTableScan *scan);
static TupleTableSlot *next_counted(IndexTableScan *scan);
static TupleTableSlot *find_entry(IndexTableScan *scan);
static TupleTableSlot *find_in_parts(IndexTableScan *scan);
static TupleTableSlot *find_in_order(IndexTableScan *scan);
static TupleTableSlot *next_fetched(IndexTableScan *scan);
static bool passes_checks(IndexTableScan *scan, TupleTableSlot *entry);
static void start_scan(IndexTableScan *scan);
static void part_go_on(IndexTableScan *part);
static bool and_contains(IndexTableScan *scan, TupleTableSlot *entry);
static int	compare_rows(IndexTableScan *scan, TupleTableSlot *entry, IndexTableScan *part);
static void keep_begin(IndexTableScan *scan);
static TupleTableSlot *keep_next(IndexTableScan *scan);
static TupleTableSlot *keep_add(IndexTableScan *scan, TupleTableSlot *row);
static const char *start_entries(IndexTableScan *scan);
static const char *why_not_entries(IndexTableScan *scan);
static bool relies_on_keys(IndexTableScan *scan);
static TupleTableSlot *return_entry(IndexTableScan *scan, TupleTableSlot *entry, TupleTableSlot *slot);
static TupleTableSlot *return_fetched(IndexTableScan *scan, TupleTableSlot *row);
static void check_not_truncated(IndexTableScan *scan);
static void end_scan(CustomScanState *node);
static void rescan(CustomScanState *node);
static bool may_share(IndexTableScan *scan);
static Size estimate_shared(CustomScanState *node, ParallelContext *pcxt);
static void share(CustomScanState *node, ParallelContext *pcxt, void *shared);
static void take_part(CustomScanState *node, shm_toc *toc, void *shared);
static void shut_down(CustomScanState *node);

static const CustomExecMethods exec_methods = {
	.CustomName = SCAN_NAME,
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = share,
	.ReInitializeDSMCustomScan = share,
	.InitializeWorkerCustomScan = take_part,
	.ShutdownCustomScan = shut_down,
	.ExplainCustomScan = explain_scan
};

const ScanType index_table_scan = {{.CustomName = SCAN_NAME,.CreateCustomScanState = create_scan_state},
&exec_methods,
sizeof(IndexTableScan)};

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	IndexTableScan *scan = (IndexTableScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	scan->fact_table = node->ss.ss_currentRelation;
	read_scan_plan(plan, &scan->plan);
	require_execute(scan->plan.functions);
	scan->begun_at = GetCurrentCommandId(false);

	/*
	 * WHERE CURRENT OF looks for a scan of its table, to ask for the place of
	 * the row: a portal need not be a declared cursor for that.  It must not
	 * find one that does not know it.
	 */
	if (scan->plan.stored_rows)
		return_stored_rows(&node->ss);
	else
		node->ss.ss_currentRelation = NULL;
	if (eflags & EXEC_FLAG_BACKWARD)
		keep_begin(scan);
	scan->values = ExecInitExprList(list_truncate(list_copy(plan->custom_exprs),
												  list_length(plan->custom_exprs) - scan->plan.has_checks),
									&node->ss.ps);
	/* The columns are those of entries, of which the node knows nothing. */
	if (scan->plan.has_checks)
		scan->checks = ExecInitQual(llast(plan->custom_exprs), NULL);
	/* They are in order, and 0 stands for all. */
	if (!scan->plan.entries_only && scan->plan.columns != NIL)
		scan->last_column = linitial_int(scan->plan.columns) == 0 ?
			RelationGetNumberOfAttributes(scan->fact_table) : llast_int(scan->plan.columns);
	foreach_ptr(Plan, part, plan->custom_plans)
		node->custom_ps = lappend(node->custom_ps, ExecInitNode(part, estate, eflags & ~EXEC_FLAG_BACKWARD));
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY) && !IsParallelWorker())
		open_index_table(scan);
}

/*
 * open_index_table
 *		Opens the index table, if there still is the definition that the plan was made for.
 *
 * A plan is kept, and executed by others, after the setting has changed: whether stale reads are
 * allowed is decided again, for the user who starts the query.  The role that fetches from a cursor
 * need not be the one that has opened it.
 */
static void
open_index_table(IndexTableScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;

	scan->cxt = AllocSetContextCreate(estate->es_query_cxt, "indextable search", ALLOCSET_SMALL_SIZES);
	if (!OidIsValid(scan->plan.index_table))
		return;
	scan->def = definition_of_scan(estate, scan->plan.fact, scan->plan.index_table, scan->plan.async, &scan->fact);
	if (scan->def == NULL)
		return;
	scan->locked = scan->fact->layout.partitioned && !scan->plan.async &&
		lock_changed_tree(scan->fact->relid, estate->es_snapshot);
	if (scan->plan.async)
		scan->refused = why_not_stale(scan->def, scan->plan.reader);
	scan->index_table = relation_open(scan->def->relid, AccessShareLock);
	make_keys(scan);
}

/*
 * exec_scan
 *		Returns the next row; how many were found that a policy hides, EXPLAIN ANALYZE is not
 *		to show.
 */
static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	TupleTableSlot *result = ExecScan(&node->ss, next_tuple, any_row_passes);

	if (((IndexTableScan *) node)->plan.secured && node->ss.ps.instrument != NULL)
		node->ss.ps.instrument->nfiltered1 = 0;
	return result;
}

static TupleTableSlot *
next_tuple(ScanState *node)
{
	IndexTableScan *scan = (IndexTableScan *) node;

	TupleTableSlot *row;

	if (scan->kept == NULL)
		return find_row(scan);
	row = keep_next(scan);
	return row != NULL ? row : keep_add(scan, find_row(scan));
}

/* find_row: returns the next row of the search, or an empty slot */
static TupleTableSlot *
find_row(IndexTableScan *scan)
{
	TupleTableSlot *entry;
	TupleTableSlot *row = NULL;

	if (!scan->started)
		start_scan(scan);
	if (scan->fallback != NULL)
		return next_of_fallback(scan);
	if (scan->plan.any_part)
		row = scan->plan.ordered ? find_in_order(scan) : find_in_parts(scan);
	else if (!scan->plan.entries_only)
		row = next_fetched(scan);
	else if ((entry = next_counted(scan)) != NULL)
		row = return_entry(scan, entry, scan->css.ss.ss_ScanTupleSlot);
	return row != NULL ? row : ExecClearTuple(scan->css.ss.ss_ScanTupleSlot);
}

/*
 * next_counted
 *		Returns the next entry of which something is to be returned, as often as there are elements that it
 *		stands for, if these are asked for; or NULL.
 */
static TupleTableSlot *
next_counted(IndexTableScan *scan)
{
	bool		isnull;

	if (scan->times > 0)
		scan->times--;
	else
	{
		scan->counted = find_entry(scan);
		if (scan->counted != NULL && scan->plan.elements != 0)
			scan->times = DatumGetInt32(slot_getattr(scan->counted, scan->plan.elements, &isnull)) - 1;
	}
	return scan->counted;
}

/* find_entry: returns the next entry whose row is to be returned, or NULL */
static TupleTableSlot *
find_entry(IndexTableScan *scan)
{
	TupleTableSlot *entry;

	while ((entry = next_entry(scan)) != NULL)
	{
		if ((scan->css.custom_ps == NIL || and_contains(scan, entry)) && passes_checks(scan, entry))
			return entry;
		CHECK_FOR_INTERRUPTS();
	}
	return NULL;
}

/*
 * find_in_parts
 *		Returns what the next entry of a part has whose row no entry before it was of, or
 *		NULL.
 */
static TupleTableSlot *
find_in_parts(IndexTableScan *scan)
{
	for (; scan->part < list_length(scan->css.custom_ps); scan->part++)
	{
		IndexTableScan *part = list_nth(scan->css.custom_ps, scan->part);

		while (part_go_on(part), part->entry != NULL)
		{
			ResetExprContext(part->css.ss.ps.ps_ExprContext);
			if (passes_checks(part, part->entry) && !seen_row(scan->seen, part->def, part->entry))
				return return_entry(part, part->entry, scan->css.ss.ss_ScanTupleSlot);
			CHECK_FOR_INTERRUPTS();
		}
	}
	return NULL;
}

/*
 * find_in_order
 *		Returns what the first entry of all that parts are at has, or NULL, and has all parts
 *		leave its row.
 */
static TupleTableSlot *
find_in_order(IndexTableScan *scan)
{
	if (scan->returned != NULL)
		part_go_on(scan->returned);
	for (;;)
	{
		IndexTableScan *first = NULL;
		bool		passes;

		CHECK_FOR_INTERRUPTS();
		foreach_ptr(IndexTableScan, part, scan->css.custom_ps)
		{
			if (part->entry != NULL && (first == NULL || compare_rows(first, first->entry, part) > 0))
				first = part;
		}
		if (first == NULL)
			return NULL;
		ResetExprContext(first->css.ss.ps.ps_ExprContext);
		passes = passes_checks(first, first->entry);
		foreach_ptr(IndexTableScan, part, passes ? scan->css.custom_ps : NIL)
		{
			if (part != first && part->entry != NULL && compare_rows(first, first->entry, part) == 0)
				part_go_on(part);
		}
		if (passes)
		{
			scan->returned = first;
			return return_entry(first, first->entry, scan->css.ss.ss_ScanTupleSlot);
		}
		part_go_on(first);
	}
}

/*
 * next_fetched
 *		Returns the next row that is fetched, or NULL.
 *
 * Rows are fetched in batches.  Entries are read ahead, and so are entries checked for rows that
 * nobody may come to ask for; an error in a check could be raised as early by a native plan that
 * reads all rows before it returns the first one.
 */
static TupleTableSlot *
next_fetched(IndexTableScan *scan)
{
	FactBatch  *batch = &scan->batch;
	TupleTableSlot *entry;
	TupleTableSlot *row;
	Datum		key[INDEX_MAX_KEYS];

	if (!scan->fetching)
		return NULL;
	while ((row = fact_batch_next(batch)) == NULL)
	{
		if (batch->nfound < batch->n)
			check_not_truncated(scan);
		fact_batch_clear(batch);
		while (!fact_batch_is_full(batch) && (entry = find_entry(scan)) != NULL)
		{
			key_of_entry(scan->def, entry, key);
			fact_batch_add(batch, key, place_of_row(scan->def, entry));
		}
		if (batch->n == 0)
			return NULL;
		fact_batch_find(batch);
	}
	return return_fetched(scan, row);
}

/*
 * passes_checks
 *		Returns whether an entry satisfies the conditions that are checked before its row is
 *		fetched.
 */
static bool
passes_checks(IndexTableScan *scan, TupleTableSlot *entry)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;

	if (scan->checks == NULL)
		return true;
	econtext->ecxt_scantuple = entry;
	if (ExecQual(scan->checks, econtext))
		return true;
	ResetExprContext(econtext);
	return false;
}

static void
start_scan(IndexTableScan *scan)
{
	const char *why;

	scan->started = true;
	scan->part = 0;
	scan->returned = NULL;
	scan->times = 0;
	if (scan->shared != NULL)
	{
		start_search(scan);
		return;
	}
	why = start_entries(scan);
	foreach_ptr(IndexTableScan, part, why == NULL ? scan->css.custom_ps : NIL)
	{
		why = start_entries(part);
		if (why != NULL)
			break;
		if (!scan->plan.any_part || scan->plan.ordered)
			part_go_on(part);
	}
	if (why == NULL)
		return;
	scan->why = why;
	check_not_truncated(scan);
	begin_fallback(scan);
}

/*
 * start_entries
 *		Starts to search entries; returns why they cannot answer exactly, or NULL if they can.
 */
static const char *
start_entries(IndexTableScan *scan)
{
	const char *why = why_not_entries(scan);

	if (why == NULL)
		why = set_keys(scan);
	if (why == NULL && !scan->nothing && !scan->plan.any_part)
		start_search(scan);
	return why;
}

/* why_not_entries: returns why entries cannot answer exactly, or NULL if they can */
static const char *
why_not_entries(IndexTableScan *scan)
{
	Snapshot	snapshot = scan->css.ss.ps.state->es_snapshot;
	const char *why;

	if (setting_planner == PLANNER_FALLBACK)
		return "indextable.planner is fallback";
	if (scan->def == NULL)
		return "no index table serves";
	if (scan->refused != NULL)
		return scan->refused;
	if (scan->def->fact->place->entries->not_now != NULL &&
		(why = scan->def->fact->place->entries->not_now()) != NULL)
		return why;
	if (snapshot_precedes_checks(snapshot))
		return "a constraint may be newer than the snapshot";
	if (!scan->def->spec.async && !scan->in_step && (why = why_out_of_step(scan->def, snapshot)) != NULL)
		return why;
	if (scan->def->spec.async && was_rewritten(scan->def->relid, scan->def->relid, snapshot))
		return "the index table is newer than the snapshot";

	/*
	 * Neither of these changes from search to search, since the snapshot is
	 * the same.  A statement that writes the rows that it has found here has
	 * entries pending, of which the snapshot is to see nothing.
	 */
	scan->in_step = true;
	scan->complete = scan->complete || index_table_complete(scan->def, scan->plan.excluded, snapshot);
	if (!scan->complete)
		return "some rows may have no entry";
	if (scan->plan.unless != 0 && !index_table_has_none(scan->def, scan->plan.unless, snapshot))
		return scan->plan.unless == ZONELESS_BIT ? "some rows may have a time without a zone" :
			scan->plan.unless & UNEVEN_BIT ? "entries may not tell the elements of some rows" :
			"some rows may have arrays or objects in place of a field";
	if (!scan->plan.entries_only && scan->fact->layout.pk_deferrable)
		return "the primary key is deferrable";
	if (relies_on_keys(scan) && IsolationUsesXactSnapshot() && written_by_us(scan->fact))
		return "this transaction has written the fact table";
	return NULL;
}

/* why_not_entries_below: returns why entries cannot answer the only scan of a plan, or NULL */
const char *
why_not_entries_below(PlanState *node)
{
	while (outerPlanState(node) != NULL)
		node = outerPlanState(node);
	return why_not_entries((IndexTableScan *) castNode(CustomScanState, node));
}

/*
 * relies_on_keys
 *		Returns whether a scan takes entries with one primary key for those of one row, or
 *		fetches rows by it.
 */
static bool
relies_on_keys(IndexTableScan *scan)
{
	return !scan->plan.entries_only || scan->plan.distinct || scan->css.custom_ps != NIL;
}

/*
 * return_entry
 *		Returns what an entry has, in the slot of the scan, or of the one that it is a part
 *		of.
 */
static TupleTableSlot *
return_entry(IndexTableScan *scan, TupleTableSlot *entry, TupleTableSlot *slot)
{
	if (scan->partial != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(scan->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

		partial_row_store(scan->partial, entry, slot);
		MemoryContextSwitchTo(old);
		return slot;
	}
	ExecClearTuple(slot);
	foreach_int(attno, scan->plan.columns)
	{
		int			i = foreach_current_index(attno);
		int			part = scan->plan.sources == NIL ? 0 : list_nth_int(scan->plan.sources, i);
		TupleTableSlot *source = part == 0 ? entry :
			((IndexTableScan *) list_nth(scan->css.custom_ps, part - 1))->entry;

		slot->tts_values[i] = slot_getattr(source, abs(attno), &slot->tts_isnull[i]);
		if (attno < 0)
		{
			slot->tts_values[i] = BoolGetDatum(!slot->tts_isnull[i]);
			slot->tts_isnull[i] = false;
		}
	}
	return ExecStoreVirtualTuple(slot);
}

/* return_fetched: returns the columns of a fact row that are needed */
static TupleTableSlot *
return_fetched(IndexTableScan *scan, TupleTableSlot *row)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;
	int			i;

	scan->rows_fetched++;
	if (scan->plan.stored_rows)
	{
		ExecCopySlot(slot, row);
		slot->tts_tableOid = row->tts_tableOid;
		return slot;
	}
	slot_getsomeattrs(row, scan->last_column);
	ExecClearTuple(slot);
	for (i = 0; i < scan->last_column; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
	for (; i < slot->tts_tupleDescriptor->natts; i++)
		slot->tts_isnull[i] = true;
	return ExecStoreVirtualTuple(slot);
}

/*
 * check_not_truncated
 *		Raises an error if a partition was truncated since the query's snapshot was taken.
 *
 * A native plan has locked the partitions before that, and TRUNCATE waits for its end.  Here
 * they are not locked, if the fact table was not expanded, until they are read: by a fetch, or by
 * a fallback.  Then the snapshot would see neither the old rows nor what the same transaction
 * has put into other partitions.
 */
static void
check_not_truncated(IndexTableScan *scan)
{
	if (scan->fact != NULL && scan->fact->layout.partitioned && !scan->plan.async)
		refuse_truncated(scan->fact->relid, scan->css.ss.ps.state->es_snapshot, scan->begun_at, scan->locked);
}

/*
 * part_go_on
 *		Moves a part to its next entry, which EXPLAIN ANALYZE counts unless a policy may hide
 *		its row.
 */
static void
part_go_on(IndexTableScan *part)
{
	PlanState  *node = &part->css.ss.ps;

	if (node->instrument != NULL)
		InstrStartNode(node->instrument);
	part->entry = next_entry(part);
	if (node->instrument != NULL)
		InstrStopNode(node->instrument, part->entry == NULL || part->plan.secured ? 0 : 1);
}

/* and_contains: returns whether all parts have an entry for the row of this one */
static bool
and_contains(IndexTableScan *scan, TupleTableSlot *entry)
{
	foreach_ptr(IndexTableScan, part, scan->css.custom_ps)
	{
		int			order = 1;

		while (part->entry != NULL && (order = compare_rows(scan, entry, part)) > 0)
		{
			part_go_on(part);
			CHECK_FOR_INTERRUPTS();
		}
		/* No later entry is in this part, either. */
		scan->nothing = part->entry == NULL;
		if (order != 0 || scan->nothing)
			return false;
	}
	return true;
}

/*
 * compare_rows
 *		Returns where the row of an entry is in the order of the scan, relative to the one
 *		that a part is at.
 */
static int
compare_rows(IndexTableScan *scan, TupleTableSlot *entry, IndexTableScan *part)
{
	int			other = part->plan.nequal;

	for (int own = scan->plan.nequal; own < scan->def->layout.nident; own++, other++)
	{
		bool		isnull;
		bool		other_isnull;
		Datum		value = slot_getattr(entry, scan->def->layout.ident[own], &isnull);
		Datum		other_value = slot_getattr(part->entry, part->def->layout.ident[other], &other_isnull);
		int			order = ApplySortComparator(value, isnull, other_value, other_isnull,
												&scan->def->layout.ident_sort[own]);

		if (order != 0)
			return scan->plan.backward ? -order : order;
	}
	return 0;
}

/* keep_begin: has a scan keep its rows */
static void
keep_begin(IndexTableScan *scan)
{
	TupleDesc	desc = scan->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;

	if (scan->plan.stored_rows)
	{
		desc = CreateTemplateTupleDesc(1);
		TupleDescInitEntry(desc, 1, "ctid", TIDOID, -1, 0);
		TupleDescFinalize(desc);
	}
	scan->kept = tuplestore_begin_heap(true, false, work_mem);
	scan->kept_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

/*
 * keep_next
 *		Returns the next row in the direction in which the plan is read if it is kept, an empty
 *		slot if there is none, or NULL if the next one has to be found.
 *
 * What was added last is before the position, so to go back from there is to leave out the row
 * that was returned last.  When all are kept, the last of them is the one before the end.
 */
static TupleTableSlot *
keep_next(IndexTableScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;
	bool		forward = ScanDirectionIsForward(estate->es_direction);
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;

	if (!forward && tuplestore_ateof(scan->kept) && !scan->all_kept &&
		!tuplestore_advance(scan->kept, false))
		return ExecClearTuple(slot);
	if ((forward && tuplestore_ateof(scan->kept)) ||
		!tuplestore_gettupleslot(scan->kept, forward, false, scan->kept_slot))
		return forward && !scan->all_kept ? NULL : ExecClearTuple(slot);
	ExecClearTuple(slot);
	if (!scan->plan.stored_rows)
		return return_columns(slot, scan->kept_slot);
	slot_getallattrs(scan->kept_slot);
	table_tuple_fetch_row_version(scan->fact_table, (ItemPointer) DatumGetPointer(scan->kept_slot->tts_values[0]),
								  estate->es_snapshot, slot);
	return slot;
}

/* keep_add: keeps a row that was found, and returns it; none is left if the slot is empty */
static TupleTableSlot *
keep_add(IndexTableScan *scan, TupleTableSlot *row)
{
	if (TupIsNull(row))
		scan->all_kept = true;
	else if (scan->plan.stored_rows)
	{
		ExecClearTuple(scan->kept_slot);
		scan->kept_slot->tts_values[0] = PointerGetDatum(&row->tts_tid);
		scan->kept_slot->tts_isnull[0] = false;
		tuplestore_putvalues(scan->kept, scan->kept_slot->tts_tupleDescriptor, scan->kept_slot->tts_values,
							 scan->kept_slot->tts_isnull);
	}
	else
		tuplestore_puttupleslot(scan->kept, row);
	return row;
}

static void
rescan(CustomScanState *node)
{
	IndexTableScan *scan = (IndexTableScan *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	ExecScanReScan(&node->ss);
	end_fallback(scan);
	end_query_of_scan(&scan->query);
	if (scan->kept != NULL)
	{
		ExecClearTuple(scan->kept_slot);
		tuplestore_clear(scan->kept);
		scan->all_kept = false;
	}
	foreach_ptr(PlanState, part, node->custom_ps)
		ExecReScan(part);
	if (scan->fetching)
		fact_batch_reset(&scan->batch);
	scan->started = false;
}

static void
end_scan(CustomScanState *node)
{
	IndexTableScan *scan = (IndexTableScan *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	end_fallback(scan);
	if (scan->kept != NULL)
	{
		ExecDropSingleTupleTableSlot(scan->kept_slot);
		tuplestore_end(scan->kept);
	}
	foreach_ptr(PlanState, part, node->custom_ps)
		ExecEndNode(part);
	if (scan->fetching)
		live_scan_end(&scan->rows);
	end_query_of_scan(&scan->query);
	if (scan->begun && scan->plan.query == NULL)
		entry_scan_end(&scan->entries);
	if (scan->index_table != NULL)
		relation_close(scan->index_table, NoLock);
}

/*
 * may_share
 *		Returns whether entries can answer, so that workers can help, and sets the keys then.  The
 *		leader asks itself when it is about to launch workers, for the first time or again.
 */
static bool
may_share(IndexTableScan *scan)
{
	MemoryContext old;

	if ((scan->begun && scan->shared == NULL) || why_not_entries(scan) != NULL || set_keys(scan) != NULL ||
		scan->nothing)
		return false;
	old = MemoryContextSwitchTo(scan->cxt);
	search_whole_array(scan);
	MemoryContextSwitchTo(old);
	return true;
}

/* estimate_shared: returns how much shared memory a scan needs that is to have workers */
static Size
estimate_shared(CustomScanState *node, ParallelContext *pcxt)
{
	IndexTableScan *scan = (IndexTableScan *) node;

	return shared_scan_size(scan, may_share(scan));
}

/*
 * share
 *		Shares a scan with the workers that are about to be launched, or prevents their
 *		launch: see scan_keys.c.
 */
static void
share(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	IndexTableScan *scan = (IndexTableScan *) node;

	if (may_share(scan) && share_scan(scan, shared))
		return;
	stop_sharing(scan);
	scan->started = false;
	ReinitializeParallelWorkers(pcxt, 0);
}

/* take_part: prepares a worker to execute its part of a scan */
static void
take_part(CustomScanState *node, shm_toc *toc, void *shared)
{
	IndexTableScan *scan = (IndexTableScan *) node;
	MemoryContext old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

	join_scan(scan, shared);
	MemoryContextSwitchTo(old);
}

/* shut_down: ends what is shared, as the leader may not have it any longer */
static void
shut_down(CustomScanState *node)
{
	stop_sharing((IndexTableScan *) node);
}
