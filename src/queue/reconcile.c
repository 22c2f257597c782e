/*-------------------------------------------------------------------------
 *
 * reconcile.c
 *	  Compares the entries that rows have with those that they should have, and lists what
 *	  has to be written.
 *
 * The rows are read as a snapshot sees them, and the entries as they are at this moment.
 * That is safe because the caller holds the drain lock of the queue, under which no
 * other session writes the index tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/memory.h"
#include "../util/wait_point.h"
#include "queue.h"

/* With fewer keys, it costs too much to find out whether there are many in a page of an index. */
#define MANY_KEYS 128

/*
 * Once what is to be written has more than this, in bytes, it is written before other rows are
 * read.
 */
#define MAX_LIST_BYTES		(16 * 1024 * 1024)

/* What errors are about. */
typedef struct RowContext
{
	FactDef    *fact;
	Datum	   *key;			/* of the row; NULL: no row in particular */
	IndexDef   *def;			/* whose entries are read; NULL: none in
								 * particular */
	FmgrInfo   *outputs;		/* by column of the key; fn_oid is InvalidOid
								 * if it must not be called */
} RowContext;

static Size list_bytes(Reconciliation *r);
static FmgrInfo *find_outputs(FactDef *fact);
static void row_context(void *arg);
static void prefetch_foreign(Reconciliation *r, LiveScan *live);
static void reconcile_row(Reconciliation *r, EntryScan *scans, void **fetched, Datum *key, TupleTableSlot *live,
						  MemoryContext cxt, RowContext *at);
static TupleTableSlot *find_row(Reconciliation *r, LiveScan *live, Leaf *leaf, TupleTableSlot *stored, int i);
static bool is_key_of(FactDef *def, TupleTableSlot *row, Datum *key);
static void begin_scan(EntryScan *scan, IndexDef *def, int nkeys, bool in_order);
static void end_scan(EntryScan *scan);
static void find_entries(EntryScan *scan, Datum *key, Entries *entries);

/*
 * reconcile_rows
 *		Fills r->lists with what has to be written, and adds to r->rejected the rows that
 *		cannot have their entries.  Both are allocated in the current memory context.
 *
 * If that has become much, only the first rows have been looked at, and r->n says how many.
 */
void
reconcile_rows(Reconciliation *r)
{
	MemoryContext cxt = CurrentMemoryContext;
	MemoryContext row_cxt = AllocSetContextCreate(cxt, "indextable row", ALLOCSET_DEFAULT_SIZES);
	EntryScan  *scans = palloc0(sizeof(EntryScan) * (r->to - r->from));
	Leaf	   *leaf = r->tids == NULL ? NULL : leaf_of(r->def, r->part);
	TupleTableSlot *stored;
	const EntryStore *store = r->def->place->entries;
	void	  **fetched = NULL;
	LiveScanOptions options = {.in_order = r->n >= MANY_KEYS};
	LiveScan	live;
	RowContext	at = {.fact = r->def};

	/* What is fetched from other servers is fetched once for all rows. */
	bool		in_parts = store->of_rows == NULL && (r->tids != NULL || OidIsValid(r->def->layout.pk_index));
	ErrorContextCallback context = {.previous = error_context_stack,.callback = row_context,.arg = &at};

	at.outputs = find_outputs(r->def);
	error_context_stack = &context;
	r->lists = palloc0(sizeof(OpList) * (r->to - r->from));
	live_scan_begin(&live, r->def, r->fact, r->snapshot, &options);
	if (r->leaf_of != NULL)
		live_scan_in_leaves(&live, r->leaf_of, r);
	prefetch_foreign(r, &live);
	stored = r->tids == NULL ? NULL : table_slot_create(r->part, NULL);
	if (store->of_rows != NULL)
		fetched = store->of_rows(r);
	for (int i = r->from; i < r->to && fetched == NULL; i++)
		begin_scan(&scans[i - r->from], r->def->defs[i], r->def->layout.npk, options.in_order);
	wait_point("citus drain has read the facts");
	for (int i = 0; i < r->n; i++)
	{
		Datum	   *key = r->keys + (Size) i * r->def->layout.npk;
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		at.key = key;
		row = find_row(r, &live, leaf, stored, i);
		MemoryContextSwitchTo(row_cxt);
		reconcile_row(r, scans, fetched, key, row, cxt, &at);
		at.def = NULL;
		MemoryContextSwitchTo(cxt);
		MemoryContextReset(row_cxt);
		if (in_parts && list_bytes(r) > MAX_LIST_BYTES)
			r->n = i + 1;
	}
	at.key = NULL;
	for (int i = r->from; i < r->to && fetched == NULL; i++)
		end_scan(&scans[i - r->from]);
	live_scan_end(&live);
	if (stored != NULL)
		ExecDropSingleTupleTableSlot(stored);
	MemoryContextDelete(row_cxt);
	error_context_stack = context.previous;
}

/* list_bytes: returns the bytes of all that is to be written */
static Size
list_bytes(Reconciliation *r)
{
	Size		bytes = 0;

	for (int i = r->from; i < r->to; i++)
		bytes += r->lists[i - r->from].bytes;
	return bytes;
}

/*
 * find_outputs
 *		Finds the output functions of the columns of a row key, but for types whose output
 *		functions are users', or look something up.
 */
static FmgrInfo *
find_outputs(FactDef *fact)
{
	FmgrInfo   *outputs = palloc0(sizeof(FmgrInfo) * fact->layout.npk);

	for (int i = 0; i < fact->layout.npk && fact->queue.desc != NULL; i++)
	{
		Oid			type = getBaseType(TupleDescAttr(fact->queue.desc, QUEUE_KEY - 1 + i)->atttypid);
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(type, &output, &varlena);
		if (get_typtype(type) == TYPTYPE_BASE && !OidIsValid(get_element_type(type)) &&
			output < FirstNormalObjectId)
			fmgr_info(output, &outputs[i]);
	}
	return outputs;
}

/*
 * row_context
 *		Adds to an error which row it is about, and of which index table.
 *
 * What has failed may be a look-up in the catalog.  So nothing is looked up here.
 */
static void
row_context(void *arg)
{
	RowContext *at = arg;
	StringInfoData names;
	StringInfoData values;

	if (at->def != NULL)
		hint_at_damage(at->def->relid);
	if (at->key == NULL || at->fact->queue.desc == NULL)
		return;
	initStringInfo(&names);
	initStringInfo(&values);
	for (int i = 0; i < at->fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(at->fact->queue.desc, QUEUE_KEY - 1 + i);

		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", NameStr(att->attname));
		appendStringInfo(&values, "%s%s", i > 0 ? ", " : "",
						 OidIsValid(at->outputs[i].fn_oid) ?
						 excerpt(OutputFunctionCall(&at->outputs[i], at->key[i])) :
						 "...");
	}
	if (at->def != NULL)
		errcontext("entries in index table \"%s\" of row (%s)=(%s) of table \"%s\"", at->def->name, names.data,
				   values.data, at->fact->name);
	else
		errcontext("row (%s)=(%s) of table \"%s\"", names.data, values.data, at->fact->name);
}

/*
 * prefetch_foreign
 *		Fetches the rows that are on other servers, each of which is asked once.
 *
 * If a table is not to be found over there, or may not be read, that is an error of the
 * whole batch, and no row is rejected for it.
 */
static void
prefetch_foreign(Reconciliation *r, LiveScan *live)
{
	MemoryContext cxt = CurrentMemoryContext;
	Datum	  **keys;

	if (r->tids != NULL || OidIsValid(r->def->layout.pk_index))
		return;
	keys = palloc_extended(sizeof(Datum *) * Max(r->n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < r->n; i++)
		keys[i] = r->keys + (Size) i * r->def->layout.npk;
	PG_TRY();
	{
		elsewhere->rows->expect(live, keys, r->n);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION)
			error->sqlerrcode = ERRCODE_CONNECTION_EXCEPTION;
		FlushErrorState();
		ReThrowError(error);
	}
	PG_END_TRY();
	pfree(keys);
}

/*
 * reconcile_row
 *		Adds to r->lists what has to be written for one row.  live is the row, or NULL if
 *		there is none with this key any more; cxt is for what is kept.  The present entries
 *		are searched for by scans, unless they have been fetched.
 */
static void
reconcile_row(Reconciliation *r, EntryScan *scans, void **fetched, Datum *key, TupleTableSlot *live,
			  MemoryContext cxt, RowContext *at)
{
	FactRow		row;

	if (live != NULL)
		factrow_init(&row, r->def, live);
	for (int i = r->from; i < r->to; i++)
	{
		IndexDef   *def = r->def->defs[i];
		OpList	   *list = &r->lists[i - r->from];
		Entries		old;
		Entries		new;
		Rejection	rejection = {0};

		at->def = def;
		if (r->fresh)
			entries_init(&old, def);
		else if (fetched != NULL)
			r->def->place->entries->of_row(fetched[i - r->from], key, &old);
		else
			find_entries(&scans[i - r->from], key, &old);
		entries_init(&new, def);
		if (live != NULL && !r->withhold)
		{
			row.rejection = &rejection;
			list->skipped += extract_entries(def, &row, true, &new);
			list->lacking |= new.lacking;
		}
		diff_entries(def, &old, &new, list, cxt);

		/*
		 * If the key is equal to the row's but written otherwise, as 1.0 and
		 * 1.00, then the row's own key is queued, too, and the row is
		 * rejected under that one.
		 */
		if (rejection.sqlstate != 0 && is_key_of(r->def, live, key))
		{
			MemoryContext row_cxt = MemoryContextSwitchTo(cxt);
			RejectedRow *rejected = palloc0(sizeof(RejectedRow));

			rejected->defno = i;
			rejected->key = key;
			rejected->why.sqlstate = rejection.sqlstate;
			rejected->why.message = pstrdup(rejection.message);
			r->rejected = lappend(r->rejected, rejected);
			MemoryContextSwitchTo(row_cxt);
		}
	}
}

/*
 * find_row
 *		Returns row number i as the snapshot sees it, or NULL if there is none.  It is
 *		fetched from its place if that is known, which is cheaper than by its key.
 */
static TupleTableSlot *
find_row(Reconciliation *r, LiveScan *live, Leaf *leaf, TupleTableSlot *stored, int i)
{
	if (r->tids == NULL)
		return live_scan_first(live, r->keys + (Size) i * r->def->layout.npk);
	return table_tuple_fetch_row_version(r->part, &r->tids[i], r->snapshot, stored) ?
		convert_to_root_row(r->def, leaf, stored, 0) : NULL;
}

/* is_key_of: returns whether a row's primary key has the same bytes as a key */
static bool
is_key_of(FactDef *def, TupleTableSlot *row, Datum *key)
{
	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i);

		if (!datum_image_eq(row->tts_values[def->layout.pk_attno[i] - 1], key[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/*
 * begin_scan
 *		Begins a scan of an index table by row, which reads entries as they are at this
 *		moment.
 */
static void
begin_scan(EntryScan *scan, IndexDef *def, int nkeys, bool in_order)
{
	EntryScanOptions options = {.by_row = true,.in_order = in_order};

	entry_scan_begin(scan, def, relation_open(def->relid, NoLock), SnapshotSelf, nkeys, &options);
}

static void
end_scan(EntryScan *scan)
{
	Relation	rel = scan->rel;

	entry_scan_end(scan);
	relation_close(rel, NoLock);
}

/*
 * have_no_entries
 *		Returns whether none of the rows has an entry in one index table, because there is
 *		no entry between those of the first and of the last row in the order of the primary
 *		key.  Returns false if that cannot be told.
 */
bool
have_no_entries(Reconciliation *r, int defno)
{
	IndexDef   *def = r->def->defs[defno];
	int			npk = r->def->layout.npk;
	Relation	pk_index;
	Relation	index;
	RowComparison range[2];
	ScanKeyData bounds[2];
	bool		none = true;

	if (!OidIsValid(r->def->layout.pk_index))
		return false;
	pk_index = index_open(r->def->layout.pk_index, AccessShareLock);
	index = index_open(def->layout.row_index, AccessShareLock);

	/*
	 * The owner may have created the index again, in another order.  Keys of
	 * several partitions are in the order of sort_keys().
	 */
	for (int i = 0; i < npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(r->def->queue.desc, QUEUE_KEY - 1 + i);

		none &= index->rd_indoption[i] == 0 && index->rd_opfamily[i] == pk_index->rd_opfamily[i] &&
			index->rd_opcintype[i] == pk_index->rd_opcintype[i] &&
			index->rd_indcollation[i] == pk_index->rd_indcollation[i] &&
			index->rd_opfamily[i] == lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf &&
			index->rd_indcollation[i] == att->attcollation;
	}
	if (none)
	{
		EntryScan	scan;

		for (int b = 0; b < 2; b++)
		{
			row_comparison(&range[b], index, 0, npk,
						   b == 0 ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber,
						   r->keys + (b == 0 ? 0 : (Size) (r->n - 1) * npk));
			bounds[b] = range[b].header;
		}
		begin_scan(&scan, def, 2, false);
		entry_scan_start(&scan, bounds, false);
		none = entry_scan_next(&scan) == NULL;
		end_scan(&scan);
	}
	index_close(index, NoLock);
	index_close(pk_index, NoLock);
	return none;
}

/* find_entries: sets *entries to those of the row with this key, ordered by identity */
static void
find_entries(EntryScan *scan, Datum *key, Entries *entries)
{
	IndexDef   *def = scan->def;
	int			npk = def->fact->layout.npk;
	ScanKey		keys = palloc(sizeof(ScanKeyData) * npk);
	TupleTableSlot *entry;

	entries_init(entries, def);
	memcpy(keys, def->layout.row_keys, sizeof(ScanKeyData) * npk);
	for (int i = 0; i < npk; i++)
		keys[i].sk_argument = key[i];
	entry_scan_start(scan, keys, false);
	while ((entry = entry_scan_next(scan)) != NULL)
	{
		HeapTuple	tuple = ExecCopySlotHeapTuple(entry);

		if (entries->n == entries->max)
		{
			int			places = entries->max;

			entries->places = grow_array(entries->places, &places, 1, sizeof(EntryPlace), CurrentMemoryContext);
			entries_grow(entries, 1);
		}
		heap_deform_tuple(tuple, def->layout.desc, ENTRY_VALUES(entries, entries->n),
						  ENTRY_NULLS(entries, entries->n));
		entries->places[entries->n].table = entry->tts_tableOid;
		entries->places[entries->n++].tid = entry->tts_tid;
	}
	if (entries->n > 1)
		entries_sort(def, entries);
}
