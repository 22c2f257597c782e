/*-------------------------------------------------------------------------
 *
 * scan_keys.c
 *	  Makes the search keys of a scan of an index table, sets their values, searches with them,
 *	  and shares them and the scan between a leader and parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../definition/definition.h"
#include "../place/place.h"
#include "scan.h"

/* What is in shared memory. */
typedef struct SharedScan
{
	Size		index_scan;		/* where the server's part of it begins */
	Oid			index;			/* of the entries */
	pg_atomic_uint64 entries;	/* that workers have read, ... */
	pg_atomic_uint64 heap_fetches;	/* ... and for how many the table */
	char		values[FLEXIBLE_ARRAY_MEMBER];	/* of the search keys */
} SharedScan;

static ParallelIndexScanDesc shared_index_scan(IndexTableScan *scan);
static bool next_search(IndexTableScan *scan);
static Taken set_array(IndexTableScan *scan, Datum array, Condition *condition);
static void type_of_value(Condition *condition, int16 *len, bool *byval);
static Size values_end(IndexTableScan *scan);

/* make_keys: makes the search keys, still without values */
void
make_keys(IndexTableScan *scan)
{
	scan->array_key = -1;
	scan->keys = palloc0(sizeof(ScanKeyData) * Max(nkeys_of_scan(scan), 1));
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		Oid			collation = TupleDescAttr(scan->def->desc, condition->attno - 1)->attcollation;

		ScanKeyEntryInitialize(&scan->keys[i], 0, condition->position + 1, condition->strategy,
							   condition->subtype, collation, get_opcode(condition->operator), (Datum) 0);
		if (condition->array)
			scan->array_key = i;
	}
}

/* set_keys: sets the values of the search keys; returns why nothing can be searched for by them, or NULL */
const char *
set_keys(IndexTableScan *scan)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	MemoryContext old;

	MemoryContextReset(scan->cxt);
	scan->nothing = false;
	scan->seen = scan->plan.distinct ? seen_rows_begin(scan->def, scan->cxt) : NULL;
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		bool		isnull;
		Datum		value = ExecEvalExprSwitchContext(list_nth(scan->values, i), econtext, &isnull);
		Taken		taken;
		int16		len;
		bool		byval;

		if (isnull)
		{
			scan->nothing = true;
			return NULL;
		}
		scan->keys[i].sk_flags = 0;
		old = MemoryContextSwitchTo(scan->cxt);
		if (condition->array)
			taken = set_array(scan, value, condition);
		else
			taken = take_value(&scan->def->fields[condition->position], condition, value, &scan->keys[i].sk_argument);
		if (taken == TAKEN && !condition->array)
		{
			value = scan->keys[i].sk_argument;
			get_typlenbyval(condition->subtype, &len, &byval);
			scan->keys[i].sk_argument = len == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
				datumCopy(value, byval, len);
		}
		MemoryContextSwitchTo(old);
		if (taken == TAKEN_UNKNOWN)
			return "the value names nothing to search for";
		scan->nothing = taken == TAKEN_NONE;
		if (scan->nothing)
			return NULL;
	}
	if (scan->plan.entries_only && scan->fact->partitioned && !scan->plan.async)
		note_read_by_entries(scan->fact->relid);
	return NULL;
}

/*
 * set_array
 *		Sets the values that a column is searched by one after the other: those of an array,
 *		without NULLs, each once, and in the order of the scan.
 */
static Taken
set_array(IndexTableScan *scan, Datum value, Condition *condition)
{
	Form_pg_attribute att = TupleDescAttr(scan->def->desc, condition->attno - 1);
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	SortSupportData sort = {0};
	Taken		taken = take_values(&scan->def->fields[condition->position], condition,
									PointerGetDatum(DatumGetArrayTypePCopy(value)), &scan->elements, &scan->nelements);

	if (taken != TAKEN)
		return taken;
	sort.ssup_cxt = CurrentMemoryContext;
	sort.ssup_collation = att->attcollation;
	PrepareSortSupportFromOrderingOp(get_opfamily_member(family, condition->subtype, condition->subtype,
														 BTLessStrategyNumber), &sort);
	sort.ssup_reverse = scan->plan.backward;
	scan->nelements = sort_key_values(scan->elements, scan->nelements, 1, &sort);
	scan->next_element = 0;
	return TAKEN;
}

/* search_whole_array: has the server search for several values by itself, as it can with workers; until the keys are set again */
void
search_whole_array(IndexTableScan *scan)
{
	ScanKey		key;
	Oid			type;
	int16		len;
	bool		byval;
	char		align;

	if (scan->array_key < 0)
		return;
	key = &scan->keys[scan->array_key];
	type = scan->plan.conditions[scan->array_key].subtype;
	get_typlenbyvalalign(type, &len, &byval, &align);
	key->sk_flags = SK_SEARCHARRAY;
	key->sk_argument = PointerGetDatum(construct_array(scan->elements, scan->nelements, type, len, byval, align));
}

/*-------------------------------------------------------------------------
 * Shares a scan between a leader and parallel workers.
 *
 * The server's own parallel scan of a btree hands out the leaf pages.  Everything else is
 * decided by the leader, before there are workers: whether entries can answer, which depends on
 * what only its own process knows, and the values to search for.  Workers get the values, and
 * the name of the index.  They read entries, and neither our catalog nor the fact table.
 *
 * If entries cannot answer, the leader has no workers be launched, as if there were none to be
 * had.  So it executes all of the plan below the Gather by itself, with its fallback.  A plan
 * may have several scans below a Gather: if one of them cannot be shared, the others are read by
 * the leader alone, too.
 *-------------------------------------------------------------------------
 */

/* type_of_value: tells how a value is stored that workers search for, or several as an array */
static void
type_of_value(Condition *condition, int16 *len, bool *byval)
{
	*len = -1;
	*byval = false;
	if (!condition->array)
		get_typlenbyval(condition->subtype, len, byval);
}

/* values_end: returns where the server's part of the shared memory begins: after the values that are searched for now */
static Size
values_end(IndexTableScan *scan)
{
	Size		size = offsetof(SharedScan, values);

	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		int16		len;
		bool		byval;

		type_of_value(&scan->plan.conditions[i], &len, &byval);
		size += datumEstimateSpace(scan->keys[i].sk_argument, false, byval, len);
	}
	return MAXALIGN(size);
}

/* shared_scan_size: returns how much shared memory is needed for a scan with the values that are set, if it is to be shared */
Size
shared_scan_size(IndexTableScan *scan, bool shared)
{
	Relation	index;
	Size		size;

	scan->shared_size = 0;
	if (!shared)
		return sizeof(SharedScan);
	index = relation_open(scan->def->primary_index, AccessShareLock);
	size = values_end(scan) + index_parallelscan_estimate_compat(index, scan->plan.nconditions, scan->css.ss.ps.state->es_snapshot);
	relation_close(index, NoLock);
	scan->shared_size = size;
	return size;
}

/*
 * share_scan
 *		Writes into shared memory what workers need to know, which may be there from before.
 *		Returns false if the memory was not meant for that, or the values do not fit any more.
 */
bool
share_scan(IndexTableScan *scan, SharedScan *shared)
{
	Size		available = scan->shared_size;
	Size		needed = shared_scan_size(scan, true);
	char	   *value = shared->values;
	Relation	index;

	scan->shared_size = available;

	/*
	 * The leader's scan of the index, once begun, has the place of the
	 * server's part.
	 */
	if (needed > available || (scan->shared != NULL && values_end(scan) > shared->index_scan))
		return false;
	if (scan->shared == NULL)
	{
		pg_atomic_init_u64(&shared->entries, 0);
		pg_atomic_init_u64(&shared->heap_fetches, 0);
		shared->index_scan = values_end(scan);
	}
	shared->index = scan->def->primary_index;
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		int16		len;
		bool		byval;

		type_of_value(&scan->plan.conditions[i], &len, &byval);
		datumSerialize(scan->keys[i].sk_argument, false, byval, len, &value);
	}
	scan->shared = shared;
	index = relation_open(shared->index, NoLock);
	index_parallelscan_initialize_compat(scan->index_table, index, scan->css.ss.ps.state->es_snapshot, shared_index_scan(scan));
	relation_close(index, NoLock);
	return true;
}

/*
 * join_scan
 *		Has a worker take part in a scan, with search keys that have the leader's values.  What it
 *		has for a definition says where entries are, and no more.
 */
void
join_scan(IndexTableScan *scan, SharedScan *shared)
{
	static const EntryStore tables = {0};
	static const Place here = {.entries = &tables};
	FactDef    *fact = palloc0(sizeof(FactDef));
	char	   *value = shared->values;
	bool		isnull;

	fact->place = &here;
	scan->index_table = relation_open(scan->plan.index_table, AccessShareLock);
	scan->def = palloc0(sizeof(IndexDef));
	scan->def->fact = fact;
	scan->def->relid = scan->plan.index_table;
	scan->def->desc = RelationGetDescr(scan->index_table);
	scan->def->primary_index = shared->index;
	scan->shared = shared;
	make_keys(scan);
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		scan->keys[i].sk_argument = datumRestore(&value, &isnull);
		if (scan->plan.conditions[i].array)
			scan->keys[i].sk_flags = SK_SEARCHARRAY;
	}
}

/* shared_index_scan: returns what the server shares of the scan of the index, or NULL if the scan is not shared */
static ParallelIndexScanDesc
shared_index_scan(IndexTableScan *scan)
{
	return scan->shared == NULL ? NULL : (ParallelIndexScanDesc) ((char *) scan->shared + scan->shared->index_scan);
}

/*
 * stop_sharing
 *		Ends the part that this process has in a scan, before the shared memory goes.
 *
 * What workers have read the leader is told when they have ended.  A Gather that is left early,
 * because of LIMIT, may not wait for that.
 */
void
stop_sharing(IndexTableScan *scan)
{
	SharedScan *shared = scan->shared;

	if (shared == NULL)
		return;
	ExecClearTuple(scan->css.ss.ss_ScanTupleSlot);
	if (scan->begun && IsParallelWorker())
	{
		pg_atomic_fetch_add_u64(&shared->entries, scan->entries.entries);
		pg_atomic_fetch_add_u64(&shared->heap_fetches, scan->entries.heap_fetches);
	}
	else if (scan->begun)
	{
		scan->ended_entries += scan->entries.entries;
		scan->ended_heap_fetches += scan->entries.heap_fetches;
	}
	if (!IsParallelWorker())
	{
		scan->ended_entries += pg_atomic_exchange_u64(&shared->entries, 0);
		scan->ended_heap_fetches += pg_atomic_exchange_u64(&shared->heap_fetches, 0);
	}
	if (scan->begun)
		entry_scan_end(&scan->entries);
	scan->begun = false;
	scan->started = scan->nothing = true;
	scan->shared = NULL;
}

/* start_search: starts a search with the values that are set */
void
start_search(IndexTableScan *scan)
{
	EState	   *estate = scan->css.ss.ps.state;

	scan->nothing = false;
	if (!scan->begun)
	{
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
		Bitmapset  *wanted = NULL;

		entry_scan_begin(&scan->entries, scan->def, scan->index_table, estate->es_snapshot, false,
						 nkeys_of_scan(scan));
		scan->begun = true;
		scan->entries.counted = true;
		scan->entries.backward = scan->plan.backward;
		scan->entries.parallel = shared_index_scan(scan);
		if (scan->plan.entries_only)
		{
			foreach_int(attno, scan->plan.columns)
				wanted = bms_add_member(wanted, attno);
			if (scan->plan.partial_rows)
				scan->partial = partial_row_begin(scan->def, scan->plan.columns);
		}
		else
			wanted = columns_to_fetch_by(scan->def);
		foreach_int(attno, scan->plan.groups)
			wanted = bms_add_member(wanted, attno);
		entry_scan_want(&scan->entries, wanted);
		if (!scan->plan.entries_only)
		{
			live_scan_begin(&scan->rows, scan->fact, scan->fact_table, estate->es_snapshot);
			scan->rows.columns = scan->last_column;
			scan->fetching = true;
		}
		MemoryContextSwitchTo(old);
	}
	if (scan->plan.groups != NIL)
		loose_start(scan);
	if (scan->array_key < 0 || scan->shared != NULL)
	{
		entry_scan_start(&scan->entries, scan->keys);
		scan->searches++;
	}
	else
		scan->nothing = !next_search(scan);
}

/* next_search: starts the search for the next of several values; returns false if there is none */
static bool
next_search(IndexTableScan *scan)
{
	if (scan->next_element == scan->nelements)
		return false;
	scan->keys[scan->array_key].sk_argument = scan->elements[scan->next_element++];
	entry_scan_start(&scan->entries, scan->keys);
	scan->searches++;
	return true;
}

/* next_entry: returns the next entry, or NULL if there is none */
TupleTableSlot *
next_entry(IndexTableScan *scan)
{
	TupleTableSlot *entry;

	if (scan->nothing)
		return NULL;
	for (;;)
	{
		entry = scan->loose != NULL ? loose_next(scan) : entry_scan_next(&scan->entries);
		if (entry == NULL && (scan->array_key < 0 || scan->shared != NULL || !next_search(scan)))
		{
			scan->nothing = true;
			return NULL;
		}
		if (entry != NULL && (scan->seen == NULL || !seen_row(scan->seen, entry)))
			return entry;
		CHECK_FOR_INTERRUPTS();
	}
}
