/*-------------------------------------------------------------------------
 *
 * entry_scan.c
 *	  Reads entries of an index table by its key, or by the primary key of their
 *	  fact row.
 *
 * Of a partitioned index table only the partition is opened that the key belongs to.
 * Where the key does not tell, all partitions are opened, and their entries are
 * merged into the order of the index table.  Where the index has all that is wanted of
 * an entry, the table is read only to see which entries the snapshot sees, if the
 * visibility map does not tell.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/relation.h"
#include "access/visibilitymap.h"
#include "catalog/pg_type.h"
#include "lib/binaryheap.h"
#include "partitioning/partdesc.h"
#include "storage/predicate.h"
#include "utils/partcache.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "../util/uncounted_reads.h"
#include "../util/unpruned.h"
#include "fetch.h"

static ScanKey find_partition_key(EntryScan *scan);
static void start_merging(EntryScan *scan);
static PartitionScan *find_partition_scan(EntryScan *scan, Oid relid);
static void start_partition_scan(EntryScan *scan, PartitionScan *partition_scan);
static void open_partition_scan(EntryScan *scan, PartitionScan *partition_scan);
static void end_partition_scan(PartitionScan *partition_scan);
static bool index_has_columns(Relation index, Bitmapset *columns);
static bool has_first_columns(Relation index);
static bool next_in_partition(EntryScan *scan, PartitionScan *partition_scan);
static bool read_next(EntryScan *scan, PartitionScan *partition_scan);
static void store_index_tuple(PartitionScan *partition_scan);
static int	compare_partition_scans(Datum a, Datum b, void *arg);

/*
 * entry_scan_begin
 *		Prepares to search by nkeys search keys, whose columns are those of the index
 *		table's primary key, or, with by_row, of its index on the fact row's primary key.
 *
 * Entries come in the order of the index table, or backward; with by_row, in no order.  Nothing is opened
 * before the first search.  options may be NULL.
 */
void
entry_scan_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot, int nkeys,
				 const EntryScanOptions *options)
{
	memset(scan, 0, sizeof(EntryScan));
	scan->def = def;
	scan->rel = index_table;
	scan->snapshot = snapshot;
	if (options != NULL)
		scan->options = *options;
	scan->nkeys = nkeys;
	scan->cxt = CurrentMemoryContext;
	scan->only.rel = index_table;
	if (def->layout.parts != NULL)
		scan->partition_scans = hash_by_oid("partitions read", 16, sizeof(PartitionScan), CurrentMemoryContext);
}

/*
 * entry_scan_start
 *		Begins a new search with these keys, which have to last until its end.
 *
 * They are in the order of the index's columns, with any of the btree's strategies, and
 * may be row comparisons.  The search before it may not have come to its end.
 */
void
entry_scan_start(EntryScan *scan, ScanKey keys, bool backward)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	const EntryStore *store = scan->def->fact->place->entries;
	ScanKey		partition_key;

	scan->current = NULL;
	scan->remaining = NULL;
	scan->merging = false;
	scan->keys = keys;
	scan->backward = backward;
	if (store->search != NULL)
	{
		if (scan->search != NULL)
			store->end(scan->search);
		scan->search = store->search(scan);
	}
	else if (scan->partition_scans == NULL)
	{
		scan->current = &scan->only;
		start_partition_scan(scan, &scan->only);
	}
	else if (scan->options.by_row)
	{
		scan->remaining = RelationGetPartitionDesc(scan->rel, true);
		scan->next = 0;
	}
	else if ((partition_key = find_partition_key(scan)) != NULL)
	{
		Oid			relid = find_partition_for_value(scan->rel, partition_key->sk_argument,
													 (partition_key->sk_flags & SK_SEARCHNULL) != 0);

		if (OidIsValid(relid))
			scan->current = find_partition_scan(scan, relid);
	}
	else
		start_merging(scan);
	MemoryContextSwitchTo(old);
}

/* entry_scan_next: returns the next entry, valid until the next call, or NULL if there is none */
TupleTableSlot *
entry_scan_next(EntryScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	TupleTableSlot *result = NULL;

	if (scan->search != NULL)
		result = scan->def->fact->place->entries->next(scan->search);
	else if (scan->merging)
	{
		/* The scan of the last entry is still at that entry. */
		if (scan->current != NULL)
		{
			if (next_in_partition(scan, scan->current))
				binaryheap_replace_first(scan->heap, PointerGetDatum(scan->current));
			else
				(void) binaryheap_remove_first(scan->heap);
		}
		scan->current = binaryheap_empty(scan->heap) ? NULL :
			(PartitionScan *) DatumGetPointer(binaryheap_first(scan->heap));
		result = scan->current == NULL ? NULL : scan->current->slot;
	}
	else
	{
		while (result == NULL)
		{
			if (scan->current != NULL && next_in_partition(scan, scan->current))
				result = scan->current->slot;
			else if (scan->remaining == NULL || scan->next == scan->remaining->nparts)
				break;
			else
				scan->current = find_partition_scan(scan, scan->remaining->oids[scan->next++]);
		}
	}
	if (result != NULL)
		scan->entries++;
	MemoryContextSwitchTo(old);
	return result;
}

/*
 * entry_scan_end
 *		Releases what was opened, also if no search was begun, or one was left before its end.
 */
void
entry_scan_end(EntryScan *scan)
{
	HASH_SEQ_STATUS seq;
	PartitionScan *partition_scan;

	if (scan->search != NULL)
		scan->def->fact->place->entries->end(scan->search);
	if (scan->partition_scans == NULL)
	{
		end_partition_scan(&scan->only);
		return;
	}
	hash_seq_init(&seq, scan->partition_scans);
	while ((partition_scan = hash_seq_search(&seq)) != NULL)
	{
		end_partition_scan(partition_scan);
		relation_close(partition_scan->rel, NoLock);
	}
	hash_destroy(scan->partition_scans);
}

/* probe_begin: prepares to search for entries by their identity, with probe_entry() */
void
probe_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot)
{
	entry_scan_begin(scan, def, index_table, snapshot, def->layout.nsearch, NULL);
	scan->keys = palloc(sizeof(ScanKeyData) * def->layout.nsearch);
	memcpy(scan->keys, def->layout.search_keys, sizeof(ScanKeyData) * def->layout.nsearch);
}

/*
 * probe_entry
 *		Returns the entry that has the same identity as the given one, or NULL if there is
 *		none.
 */
TupleTableSlot *
probe_entry(EntryScan *scan, Datum *values, bool *isnull)
{
	IndexDef   *def = scan->def;
	TupleTableSlot *entry;

	for (int i = 0; i < def->layout.nsearch; i++)
		set_search_key(&scan->keys[i], values[def->layout.ident[i] - 1], isnull[def->layout.ident[i] - 1]);
	entry_scan_start(scan, scan->keys, false);
	while ((entry = entry_scan_next(scan)) != NULL)
	{
		slot_getallattrs(entry);

		/*
		 * An entry with a unique key is found by the key alone, and may be of
		 * another row.
		 */
		if (compare_identity(def, entry->tts_values, entry->tts_isnull, values, isnull) == 0)
			break;
	}
	return entry;
}

/*
 * find_partition_key
 *		Returns the search key that tells which partition has all entries that are
 *		searched for, or NULL if none does: an equal value of the type that the index
 *		table is partitioned by, or NULL.
 */
static ScanKey
find_partition_key(EntryScan *scan)
{
	Oid			type = RelationGetPartitionKey(scan->rel)->partopcintype[0];

	for (int i = 0; i < scan->nkeys; i++)
	{
		ScanKey		key = &scan->keys[i];

		if (key->sk_attno != scan->def->spec.part_field + 1)
			continue;
		if ((key->sk_flags & SK_SEARCHNULL) != 0 ||
			(key->sk_flags == 0 && key->sk_strategy == BTEqualStrategyNumber &&
			 (!OidIsValid(key->sk_subtype) || key->sk_subtype == type)))
			return key;
	}
	return NULL;
}

/* start_merging: begins to search all partitions, each of which comes to its first entry */
static void
start_merging(EntryScan *scan)
{
	PartitionDesc partitions = RelationGetPartitionDesc(scan->rel, true);

	if (scan->heap == NULL)
		scan->heap = binaryheap_allocate(Max(partitions->nparts, 1), compare_partition_scans, scan);
	binaryheap_reset(scan->heap);
	for (int i = 0; i < partitions->nparts; i++)
	{
		PartitionScan *partition_scan = find_partition_scan(scan, partitions->oids[i]);

		if (next_in_partition(scan, partition_scan))
			binaryheap_add_unordered(scan->heap, PointerGetDatum(partition_scan));
	}
	binaryheap_build(scan->heap);
	scan->merging = true;
}

/*
 * find_partition_scan
 *		Returns the scan of a partition, which begins to search; opens the partition if
 *		necessary.
 */
static PartitionScan *
find_partition_scan(EntryScan *scan, Oid relid)
{
	bool		found;
	PartitionScan *partition_scan = hash_search(scan->partition_scans, &relid, HASH_ENTER, &found);

	if (!found)
	{
		partition_scan->search.index = NULL;
		partition_scan->rel = relation_open(relid, AccessShareLock);
		refuse_rewritten(partition_scan->rel, scan->def->relid, scan->snapshot);
	}
	start_partition_scan(scan, partition_scan);
	return partition_scan;
}

/* start_partition_scan: begins to search one table */
static void
start_partition_scan(EntryScan *scan, PartitionScan *partition_scan)
{
	if (partition_scan->search.index == NULL)
		open_partition_scan(scan, partition_scan);
	/* A walk reads the index now. */
	if (scan->options.in_order)
		stop_counting(partition_scan->search.index);
	key_search_start(&partition_scan->search, scan->keys, scan->options.in_order, NULL);
	if (scan->options.in_order)
		go_on_counting(partition_scan->search.index);
}

/* open_partition_scan: opens the index of a table, and a scan of it */
static void
open_partition_scan(EntryScan *scan, PartitionScan *partition_scan)
{
	IndexDef   *def = scan->def;
	KeySearch  *search = &partition_scan->search;
	Oid			index;

	if (def->layout.parts != NULL)
	{
		IndexPartition *partition = find_index_partition(def, partition_scan->rel);

		index = scan->options.by_row ? partition->row_index : partition->primary_index;
	}
	else
		index = scan->options.by_row ? def->layout.row_index : def->layout.primary_index;
	key_search_begin(search, partition_scan->rel, index_open(index, AccessShareLock), scan->snapshot, scan->nkeys);
	search->unpruned = !scan->options.counted;

	/*
	 * Entries of partitions are compared by their identity, whether it is
	 * wanted or not.
	 */
	partition_scan->index_only = scan->options.index_only && IsMVCCSnapshot(scan->snapshot) &&
		index_has_columns(search->index, scan->options.wanted) &&
		(def->layout.parts == NULL || search->index->rd_index->indnatts >= def->layout.nident);
	partition_scan->stored = NULL;
	if (partition_scan->index_only)
	{
		partition_scan->slot = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
		memset(partition_scan->slot->tts_isnull, true, sizeof(bool) * def->layout.desc->natts);
		partition_scan->in_place = has_first_columns(search->index);
	}
	else
		partition_scan->stored = partition_scan->slot = table_slot_create(partition_scan->rel, NULL);
	partition_scan->vm_buffer = InvalidBuffer;
	search->scan = scan->options.parallel == NULL ?
		index_beginscan_compat(search->rel, search->index, scan->snapshot, scan->nkeys) :
		index_beginscan_parallel_compat(search->rel, search->index, scan->nkeys, scan->options.parallel);
	search->scan->xs_want_itup = partition_scan->index_only;
}

static void
end_partition_scan(PartitionScan *partition_scan)
{
	if (partition_scan->search.index == NULL)
		return;
	if (BufferIsValid(partition_scan->vm_buffer))
		ReleaseBuffer(partition_scan->vm_buffer);
	key_search_end(&partition_scan->search);
	ExecDropSingleTupleTableSlot(partition_scan->slot);
	if (partition_scan->stored != NULL && partition_scan->stored != partition_scan->slot)
		ExecDropSingleTupleTableSlot(partition_scan->stored);
	index_close(partition_scan->search.index, NoLock);
}

/*
 * index_has_columns
 *		Returns whether an index has the values of all these columns of its table.
 *
 * What a btree has of the type name is a shorter text, and is not taken for the value.
 */
static bool
index_has_columns(Relation index, Bitmapset *columns)
{
	int			missing = bms_num_members(columns);

	for (int i = 0; i < index->rd_index->indnatts; i++)
		if (TupleDescAttr(RelationGetDescr(index), i)->atttypid != CSTRINGOID &&
			bms_is_member(index->rd_index->indkey.values[i], columns))
			missing--;
	return missing == 0;
}

/* has_first_columns: returns whether an index has the first columns of its table, in their order */
static bool
has_first_columns(Relation index)
{
	int			i;

	for (i = 0; i < index->rd_index->indnatts && index->rd_index->indkey.values[i] == i + 1; i++)
		;
	return i == index->rd_index->indnatts;
}

/* next_in_partition: moves the scan of one table on; returns false if there is no other entry */
static bool
next_in_partition(EntryScan *scan, PartitionScan *partition_scan)
{
	bool		found;

	if (scan->options.counted)
		return read_next(scan, partition_scan);
	stop_counting(partition_scan->search.index);
	found = read_next(scan, partition_scan);
	go_on_counting(partition_scan->search.index);
	return found;
}

/*
 * read_next
 *		Gets the next entry of one table that the snapshot sees.
 *
 * With index_only, the table is not read where its page is known to have only rows that
 * everybody sees.  That this is not known too late is argued in the server's
 * nodeIndexonlyscan.c, which this function follows: it, too, reads the visibility map
 * after it has got the place of the row from the index, and an index that is read so
 * keeps its page pinned, so that VACUUM does not put another row in that place.  A
 * serializable transaction locks the page of the table, as if it had read it.
 */
static bool
read_next(EntryScan *scan, PartitionScan *partition_scan)
{
	IndexScanDesc index_scan = partition_scan->search.scan;
	ScanDirection direction = scan->backward ? BackwardScanDirection : ForwardScanDirection;

	if (partition_scan->search.walking)
		return key_search_next(&partition_scan->search, partition_scan->slot);

	/*
	 * Versions of a row that a snapshot like SnapshotSelf sees follow each
	 * other in one place.
	 */
	while (index_scan->xs_heap_continue || index_getnext_tid(index_scan, direction) != NULL)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&index_scan->xs_heaptid);

		if (partition_scan->index_only &&
			VM_ALL_VISIBLE(partition_scan->rel, block, &partition_scan->vm_buffer))
			PredicateLockPage(partition_scan->rel, block, scan->snapshot);
		else
		{
			if (partition_scan->stored == NULL)
				partition_scan->stored = table_slot_create(partition_scan->rel, NULL);
			scan->heap_fetches++;
			if (!scan->options.counted && !index_scan->xs_heap_continue)
				skip_pruning(index_scan);
			if (!index_fetch_heap(index_scan, partition_scan->stored))
				continue;
			if (partition_scan->index_only)
				ExecClearTuple(partition_scan->stored);
		}
		if (partition_scan->index_only)
			store_index_tuple(partition_scan);
		return true;
	}
	return false;
}

/*
 * store_index_tuple
 *		Makes an entry of the index tuple that a scan is at; it is valid as long as the scan is
 *		there.  Mostly the index has the first columns of the table, in the same order.
 */
static void
store_index_tuple(PartitionScan *partition_scan)
{
	IndexScanDesc scan = partition_scan->search.scan;
	TupleTableSlot *slot = partition_scan->slot;
	int2vector *columns = &partition_scan->search.index->rd_index->indkey;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	Assert(!scan->xs_heap_continue && !scan->xs_recheck);
	ExecClearTuple(slot);
	if (partition_scan->in_place)
		index_deform_tuple(scan->xs_itup, scan->xs_itupdesc, slot->tts_values, slot->tts_isnull);
	else
	{
		index_deform_tuple(scan->xs_itup, scan->xs_itupdesc, values, isnull);
		for (int i = 0; i < columns->dim1; i++)
		{
			slot->tts_values[columns->values[i] - 1] = values[i];
			slot->tts_isnull[columns->values[i] - 1] = isnull[i];
		}
	}
	ExecStoreVirtualTuple(slot);
}

/*
 * compare_partition_scans
 *		Compares scans by the entries that they are at, so that the entry that is to be
 *		returned first comes to the top of the heap.
 */
static int
compare_partition_scans(Datum a, Datum b, void *arg)
{
	EntryScan  *scan = arg;
	TupleTableSlot *x = ((PartitionScan *) DatumGetPointer(a))->slot;
	TupleTableSlot *y = ((PartitionScan *) DatumGetPointer(b))->slot;

	slot_getallattrs(x);
	slot_getallattrs(y);
	return scan->backward ?
		compare_identity(scan->def, x->tts_values, x->tts_isnull, y->tts_values, y->tts_isnull) :
		compare_identity(scan->def, y->tts_values, y->tts_isnull, x->tts_values, x->tts_isnull);
}
