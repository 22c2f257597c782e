/*-------------------------------------------------------------------------
 *
 * scan_keys.c
 *	  Makes the search keys of a scan of an index table, sets their values, searches with them,
 *	  and shares them and the scan between a leader and parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "port/atomics.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "../fact/fact.h"
#include "../place/place.h"
#include "scan.h"

/* The bytes, at most, that values have together which are searched for, if no key with them is too long. */
#define MAX_SHORT			2000

/* What is in shared memory. */
typedef struct SharedScan
{
	Size		index_scan;		/* where the server's part of it begins */
	Oid			index;			/* of the entries */
	pg_atomic_uint64 entries;	/* that workers have read, ... */
	pg_atomic_uint64 heap_fetches;	/* ... and for how many the table */
	char		values[FLEXIBLE_ARRAY_MEMBER];	/* of the search keys */
} SharedScan;

/* The group that a scan is at. */
typedef struct LooseScan
{
	int			ngroups;		/* number of columns that tell groups */
	bool		in_group;		/* the scan is at a group */
	bool		last_is_next;	/* of which the last entry is to be returned */
	MemoryContext cxt;			/* of ... */
	Datum		values[INDEX_MAX_KEYS]; /* what the columns are */
	bool		isnull[INDEX_MAX_KEYS];
	RowComparison after;		/* comes after the group */
} LooseScan;

static bool set_null_flags(ScanKey key, Condition *condition);
static ParallelIndexScanDesc shared_index_scan(IndexTableScan *scan);
static bool next_search(IndexTableScan *scan);
static bool has_long_value(IndexTableScan *scan, int i);
static Taken set_array(IndexTableScan *scan, Datum array, Condition *condition);
static void type_of_value(Condition *condition, int16 *len, bool *byval);
static Size values_end(IndexTableScan *scan);
static int	nkeys_of_scan(IndexTableScan *scan);
static void loose_start(IndexTableScan *scan);
static TupleTableSlot *loose_next(IndexTableScan *scan);
static TupleTableSlot *end_of_group(IndexTableScan *scan, bool backward);
static TupleTableSlot *search(IndexTableScan *scan, bool backward);
static TupleTableSlot *search_after_group(IndexTableScan *scan);
static TupleTableSlot *search_after_prefix(IndexTableScan *scan, int column);
static void set_group_keys(IndexTableScan *scan, int n);
static Bitmapset *add_checked_columns(IndexTableScan *scan, Bitmapset *wanted);
static void search_all(IndexTableScan *scan, int from);
static void note_group(IndexTableScan *scan, TupleTableSlot *entry);

/*
 * set_null_flags
 *		Has a search key find NULL, or all else, if that is what its condition says; returns
 *		whether it is.
 */
static bool
set_null_flags(ScanKey key, Condition *condition)
{
	if (condition->taking != TAKE_NULL && condition->taking != TAKE_NOT_NULL)
		return false;
	key->sk_flags = SK_ISNULL | (condition->taking == TAKE_NULL ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
	return true;
}

/* make_keys: makes the search keys, still without values */
void
make_keys(IndexTableScan *scan)
{
	scan->array_key = -1;
	scan->keys = palloc0(sizeof(ScanKeyData) * Max(nkeys_of_scan(scan), 1));
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		Oid			collation = TupleDescAttr(scan->def->layout.desc, condition->attno - 1)->attcollation;

		ScanKeyEntryInitialize(&scan->keys[i], 0, condition->position + 1, condition->strategy,
							   condition->subtype, collation, get_opcode(condition->operator), (Datum) 0);
		set_null_flags(&scan->keys[i], condition);
		if (condition->array)
			scan->array_key = i;
	}
}

/*
 * set_keys
 *		Sets the values of the search keys; returns why nothing can be searched for by them,
 *		or NULL.
 */
const char *
set_keys(IndexTableScan *scan)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	MemoryContext old;

	MemoryContextReset(scan->cxt);
	scan->nothing = false;
	scan->seen = scan->plan.distinct || scan->plan.any_part ? seen_rows_begin(scan->def, scan->cxt) : NULL;
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		bool		isnull;
		Datum		value;
		Taken		taken;
		int16		len;
		bool		byval;

		if (set_null_flags(&scan->keys[i], condition))
			continue;
		value = ExecEvalExprSwitchContext(list_nth(scan->values, i), econtext, &isnull);
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
			taken = take_value(&scan->def->spec.fields[condition->position], condition, value,
							   &scan->keys[i].sk_argument);
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
		if (taken == TAKEN && scan->def->fact->place->in_parts && has_long_value(scan, i))
			return "rows with a key as long as the value may be rejected";
		scan->nothing = taken == TAKEN_NONE;
		if (scan->nothing)
			return NULL;
	}
	if (scan->plan.entries_only && scan->fact->layout.partitioned && !scan->plan.async)
		note_read_by_entries(scan->fact->relid);
	return NULL;
}

/*
 * has_long_value
 *		Returns whether a column is searched by a value that is so long that the keys of rows with it may be too
 *		long for the index; see excludes_long_keys().
 */
static bool
has_long_value(IndexTableScan *scan, int i)
{
	Condition  *condition = &scan->plan.conditions[i];

	if (get_typlen(condition->subtype) > 0 || condition->strategy != BTEqualStrategyNumber)
		return false;
	for (int n = 0; n < (condition->array ? scan->nelements : 1); n++)
	{
		Datum		value = condition->array ? scan->elements[n] : scan->keys[i].sk_argument;

		if (get_typlen(condition->subtype) != -1 ||
			toast_raw_datum_size(value) > (Size) (MAX_SHORT / scan->plan.nconditions))
			return true;
	}
	return false;
}

/*
 * set_array
 *		Sets the values that a column is searched by one after the other: those of an array,
 *		without NULLs, each once, and in the order of the scan.
 */
static Taken
set_array(IndexTableScan *scan, Datum value, Condition *condition)
{
	Form_pg_attribute att = TupleDescAttr(scan->def->layout.desc, condition->attno - 1);
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	SortSupportData sort = {0};
	Taken		taken = take_values(&scan->def->spec.fields[condition->position], condition,
									PointerGetDatum(DatumGetArrayTypePCopy(value)),
									&scan->elements, &scan->nelements);

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

/*
 * search_whole_array
 *		Has the server search for several values by itself, as it can with workers; until the
 *		keys are set again.
 */
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
 * If entries cannot answer, the leader launches no workers, as if none were available. So it
 * executes all of the plan below the Gather by itself, with its fallback.  A plan may have
 * several scans below a Gather: if one of them cannot be shared, the others are read by the
 * leader alone, too.
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

/*
 * values_end
 *		Returns where the server's part of the shared memory begins: after the values that are
 *		searched for now.
 */
static Size
values_end(IndexTableScan *scan)
{
	Size		size = offsetof(SharedScan, values);

	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		int16		len;
		bool		byval;

		type_of_value(&scan->plan.conditions[i], &len, &byval);
		size += datumEstimateSpace(scan->keys[i].sk_argument, (scan->keys[i].sk_flags & SK_ISNULL) != 0, byval,
								   len);
	}
	return MAXALIGN(size);
}

/*
 * shared_scan_size
 *		Returns how much shared memory is needed for a scan with the values that are set, if
 *		it is to be shared.
 */
Size
shared_scan_size(IndexTableScan *scan, bool shared)
{
	Relation	index;
	Size		size;

	scan->shared_size = 0;
	if (!shared)
		return sizeof(SharedScan);
	index = relation_open(scan->def->layout.primary_index, AccessShareLock);
	size = values_end(scan) +
		index_parallelscan_estimate_compat(index, scan->plan.nconditions, scan->css.ss.ps.state->es_snapshot);
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
	shared->index = scan->def->layout.primary_index;
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		int16		len;
		bool		byval;

		type_of_value(&scan->plan.conditions[i], &len, &byval);
		datumSerialize(scan->keys[i].sk_argument, (scan->keys[i].sk_flags & SK_ISNULL) != 0, byval, len, &value);
	}
	scan->shared = shared;
	index = relation_open(shared->index, NoLock);
	index_parallelscan_initialize_compat(scan->index_table, index, scan->css.ss.ps.state->es_snapshot,
										 shared_index_scan(scan));
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
	scan->def->layout.desc = RelationGetDescr(scan->index_table);
	scan->def->layout.primary_index = shared->index;
	scan->shared = shared;
	make_keys(scan);
	for (int i = 0; i < scan->plan.nconditions; i++)
	{
		scan->keys[i].sk_argument = datumRestore(&value, &isnull);
		if (scan->plan.conditions[i].array)
			scan->keys[i].sk_flags = SK_SEARCHARRAY;
	}
}

/*
 * shared_index_scan
 *		Returns what the server shares of the scan of the index, or NULL if the scan is not
 *		shared.
 */
static ParallelIndexScanDesc
shared_index_scan(IndexTableScan *scan)
{
	return scan->shared == NULL ? NULL :
		(ParallelIndexScanDesc) ((char *) scan->shared + scan->shared->index_scan);
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
	scan->times = 0;
	scan->shared = NULL;
}

/*
 * add_checked_columns
 *		Adds the columns that are checked for entries to those that are wanted of them.
 */
static Bitmapset *
add_checked_columns(IndexTableScan *scan, Bitmapset *wanted)
{
	foreach_ptr(Var, var, pull_vars_of_level(llast(((CustomScan *) scan->css.ss.ps.plan)->custom_exprs), 0))
	{
		if (var->varno == INDEX_VAR)
			wanted = bms_add_member(wanted, var->varattno);
	}
	return wanted;
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
		EntryScanOptions entries = {.counted = true,.index_only = true,.as_owner = true};
		LiveScanOptions rows = {.columns = scan->last_column};

		scan->begun = true;
		if (scan->plan.entries_only)
		{
			foreach_int(attno, scan->plan.columns)
				wanted = bms_add_member(wanted, abs(attno));
			if (scan->plan.partial_rows)
				scan->partial = partial_row_begin(scan->def, scan->plan.columns, scan->plan.sources);
			if (scan->plan.elements != 0)
				wanted = bms_add_member(wanted, scan->plan.elements);
		}
		else
			wanted = columns_to_fetch_by(scan->def);
		if (scan->plan.has_checks)
			wanted = add_checked_columns(scan, wanted);
		foreach_int(attno, scan->plan.groups)
			wanted = bms_add_member(wanted, attno);
		if (scan->plan.query == NULL)
		{
			entries.wanted = wanted;
			entries.filter.limit = scan->plan.limit;
			entries.parallel = shared_index_scan(scan);
			entry_scan_begin(&scan->entries, scan->def, scan->index_table, estate->es_snapshot,
							 nkeys_of_scan(scan), &entries);
		}
		if (!scan->plan.entries_only)
		{
			live_scan_begin(&scan->rows, scan->fact, scan->fact_table, estate->es_snapshot, &rows);
			fact_batch_begin(&scan->batch, &scan->rows, scan->plan.ordered);
			scan->fetching = true;
		}
		MemoryContextSwitchTo(old);
	}
	if (scan->plan.query != NULL)
	{
		begin_users_index_search(scan);
		return;
	}
	if (scan->plan.groups != NIL)
		loose_start(scan);
	if (scan->array_key < 0 || scan->shared != NULL)
	{
		entry_scan_start(&scan->entries, scan->keys, scan->plan.backward);
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
	entry_scan_start(&scan->entries, scan->keys, scan->plan.backward);
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
		entry = scan->query != NULL ? next_of_users_index_search(scan) : scan->loose != NULL ? loose_next(scan) :
			entry_scan_next(&scan->entries);
		if (entry == NULL && (scan->array_key < 0 || scan->shared != NULL || !next_search(scan)))
		{
			scan->nothing = true;
			return NULL;
		}
		if (entry != NULL && (scan->seen == NULL || !seen_row(scan->seen, scan->def, entry)))
			return entry;
		CHECK_FOR_INTERRUPTS();
	}
}

/*-------------------------------------------------------------------------
 * Reads of each group of entries only the first one, or the last one, or both.
 *
 * A group is all entries that are equal in the columns of the index that follow those which are
 * compared by =.  The first entry of a group that the snapshot sees tells the group.  Then the
 * index is searched for the first entry after the group, and so on: entries between are never
 * looked at.  The last entry of a group is the first one that is found within it in the opposite
 * direction.
 *
 * Every search goes on until it comes to an entry that the snapshot sees.  So a group is left out
 * only if the snapshot sees none of its entries, and what is returned of it is the first, or the
 * last, that the snapshot sees.  A serializable transaction locks the pages of the index where it
 * has searched, so what comes to be an end of a group, or a group between two others, is noticed.
 *-------------------------------------------------------------------------
 */

/*
 * nkeys_of_scan
 *		Returns how many search keys a scan has: beside its conditions, those that tell a
 *		group, or what comes after it.
 */
static int
nkeys_of_scan(IndexTableScan *scan)
{
	return scan->plan.nconditions + (scan->plan.null_ends ? list_length(scan->plan.groups) + 1 :
									 scan->plan.last || scan->plan.null_groups ? list_length(scan->plan.groups) :
									 scan->plan.groups != NIL ? 1 : 0);
}

/* loose_start: has a search begin with the first group */
static void
loose_start(IndexTableScan *scan)
{
	if (scan->loose == NULL)
	{
		scan->loose = MemoryContextAllocZero(scan->css.ss.ps.state->es_query_cxt, sizeof(LooseScan));
		scan->loose->ngroups = list_length(scan->plan.groups);
		scan->loose->cxt = AllocSetContextCreate(scan->css.ss.ps.state->es_query_cxt, "indextable group",
												 ALLOCSET_SMALL_SIZES);
	}
	scan->loose->in_group = scan->loose->last_is_next = false;
	search_all(scan, scan->plan.nconditions);
}

/*
 * loose_next
 *		Returns the next entry that is the first or the last one of its group, as the plan
 *		says, or NULL.
 */
static TupleTableSlot *
loose_next(IndexTableScan *scan)
{
	LooseScan  *loose = scan->loose;
	TupleTableSlot *entry;

	for (;;)
	{
		if (loose->last_is_next)
		{
			loose->last_is_next = false;
			return end_of_group(scan, !scan->plan.backward);
		}
		entry = loose->in_group ? search_after_group(scan) : entry_scan_next(&scan->entries);
		loose->in_group = entry != NULL;
		if (entry == NULL)
			return NULL;
		note_group(scan, entry);
		loose->last_is_next = scan->plan.last;
		if (scan->plan.first)
			return scan->plan.null_ends && scan->plan.backward ? end_of_group(scan, true) : entry;
	}
}

/*
 * end_of_group
 *		Returns the entry of the group with the least value of the column after those that tell groups,
 *		or, backward, with the greatest one.
 *
 * NULL comes after the greatest value, so values are searched first.
 */
static TupleTableSlot *
end_of_group(IndexTableScan *scan, bool backward)
{
	int			number = scan->plan.nconditions + scan->loose->ngroups;
	TupleTableSlot *entry = NULL;

	set_group_keys(scan, scan->loose->ngroups);
	if (scan->plan.null_ends && backward)
	{
		scan->keys[number] = scan->def->layout.search_keys[scan->plan.nequal + scan->loose->ngroups];
		set_search_key(&scan->keys[number], (Datum) 0, true);
		scan->keys[number].sk_flags = SK_ISNULL | SK_SEARCHNOTNULL;
		entry = search(scan, true);
	}
	if (entry == NULL)
	{
		/* A key that says what the one before says */
		if (number < nkeys_of_scan(scan))
			scan->keys[number] = scan->keys[number - 1];
		entry = search(scan, backward);
	}
	return entry;
}

/*
 * search_after_group
 *		Returns the first entry of the next group, or NULL.
 *
 * No comparison finds NULL, or what comes after it.  So where columns may be NULL, the entries that
 * agree with the group in all columns but the last are searched for what comes after it there, then
 * those that agree in all but the last two, and so on.
 */
static TupleTableSlot *
search_after_group(IndexTableScan *scan)
{
	LooseScan  *loose = scan->loose;
	TupleTableSlot *entry = NULL;

	if (!scan->plan.null_groups)
	{
		row_comparison(&loose->after, scan->entries.only.search.index, scan->plan.nequal, loose->ngroups,
					   scan->plan.backward ? BTLessStrategyNumber : BTGreaterStrategyNumber, loose->values);
		scan->keys[scan->plan.nconditions] = loose->after.header;
		search_all(scan, scan->plan.nconditions + 1);
		return search(scan, scan->plan.backward);
	}
	for (int i = loose->ngroups - 1; i >= 0 && entry == NULL; i--)
		entry = search_after_prefix(scan, i);
	return entry;
}

/*
 * search_after_prefix
 *		Returns the first entry that agrees with the group in the columns before one of them, by its number
 *		from 0, and comes after it in that column, or NULL.  In the order of the index NULL comes last.
 */
static TupleTableSlot *
search_after_prefix(IndexTableScan *scan, int column)
{
	LooseScan  *loose = scan->loose;
	int			number = scan->plan.nconditions + column;
	bool		backward = scan->plan.backward;
	bool		isnull = loose->isnull[column];
	ScanKeyData null = scan->def->layout.search_keys[scan->plan.nequal + column];
	TupleTableSlot *entry;

	if (isnull && !backward)
		return NULL;
	set_group_keys(scan, column);
	set_search_key(&null, (Datum) 0, true);
	if (isnull)
	{
		null.sk_flags = SK_ISNULL | SK_SEARCHNOTNULL;
		scan->keys[number] = null;
	}
	else
	{
		row_comparison(&loose->after, scan->entries.only.search.index, scan->plan.nequal + column, 1,
					   backward ? BTLessStrategyNumber : BTGreaterStrategyNumber, &loose->values[column]);
		scan->keys[number] = loose->after.header;
	}
	search_all(scan, number + 1);
	entry = search(scan, backward);
	if (entry == NULL && !backward)
	{
		scan->keys[number] = null;
		search_all(scan, number + 1);
		entry = search(scan, false);
	}
	return entry;
}

/*
 * set_group_keys
 *		Sets the search keys that find the entries that agree with the group in its first n
 *		columns.
 */
static void
set_group_keys(IndexTableScan *scan, int n)
{
	for (int i = 0; i < n; i++)
	{
		ScanKey		key = &scan->keys[scan->plan.nconditions + i];

		*key = scan->def->layout.search_keys[scan->plan.nequal + i];
		set_search_key(key, scan->loose->values[i], scan->loose->isnull[i]);
	}
}

/* search: searches by the keys that are set, and returns the first entry in a direction, or NULL */
static TupleTableSlot *
search(IndexTableScan *scan, bool backward)
{
	entry_scan_start(&scan->entries, scan->keys, backward);
	scan->searches++;
	return entry_scan_next(&scan->entries);
}

/*
 * search_all
 *		Has the search keys from number from on be true of all entries that those before find, as an index
 *		is always searched by as many.
 */
static void
search_all(IndexTableScan *scan, int from)
{
	int			column = scan->plan.nequal;

	if (scan->plan.null_groups)
		for (column = 0; scan->def->layout.ident[column] != scan->def->layout.pk_attno[0]; column++)
			;
	for (int i = from; i < nkeys_of_scan(scan); i++)
	{
		/*
		 * The columns that tell groups may be NULL, and search keys have to
		 * be in the order of columns.
		 */
		if (scan->plan.null_groups && from > 0)
			scan->keys[i] = scan->keys[from - 1];
		else
			ScanKeyEntryInitialize(&scan->keys[i], SK_ISNULL | SK_SEARCHNOTNULL, column + 1, InvalidStrategy,
								   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
	}
}

/* note_group: notes which group an entry is of */
static void
note_group(IndexTableScan *scan, TupleTableSlot *entry)
{
	LooseScan  *loose = scan->loose;
	MemoryContext old;

	MemoryContextReset(loose->cxt);
	old = MemoryContextSwitchTo(loose->cxt);
	foreach_int(attno, scan->plan.groups)
	{
		Form_pg_attribute att = TupleDescAttr(scan->def->layout.desc, attno - 1);
		int			i = foreach_current_index(attno);
		Datum		value = slot_getattr(entry, attno, &loose->isnull[i]);

		Assert(!loose->isnull[i] || scan->plan.null_groups);
		loose->values[i] = loose->isnull[i] ? (Datum) 0 :
			att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
			datumCopy(value, att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
}
