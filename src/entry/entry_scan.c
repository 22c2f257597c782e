/*-------------------------------------------------------------------------
 *
 * entry_scan.c
 *	  Reads entries of an index table by its key, or by the primary key of their
 *	  fact row.
 *
 * Of a partitioned index table only the partition is opened that the key belongs to.
 * Where the key does not tell, all partitions are opened, and their entries are
 * merged into the order of the index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/skey.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "lib/binaryheap.h"
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"

#include "../definition/index_partition.h"
#include "../indextable.h"
#include "../util/uncounted.h"
#include "entries.h"
#include "entry_scan.h"

static PartitionScan *find_partition_scan(EntryScan *scan, Oid relid);
static void begin_partition_scan(EntryScan *scan, PartitionScan *partition_scan);
static void end_partition_scan(PartitionScan *partition_scan);
static bool next_in_partition(EntryScan *scan, PartitionScan *partition_scan);
static int	compare_partition_scans(Datum a, Datum b, void *arg);

/*
 * entry_scan_begin
 *		Prepares to search by the first nkeys columns of the index table's primary key,
 *		or, with by_row, of its index on the fact row's primary key.
 *
 * Entries come in the order of the index table; with by_row, in no order.
 */
void
entry_scan_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot, bool by_row, int nkeys)
{
	memset(scan, 0, sizeof(EntryScan));
	scan->def = def;
	scan->rel = index_table;
	scan->snapshot = snapshot;
	scan->by_row = by_row;
	scan->nkeys = nkeys;
	scan->cxt = CurrentMemoryContext;
	if (def->parts == NULL)
	{
		scan->only.rel = index_table;
		begin_partition_scan(scan, &scan->only);
	}
	else
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(PartitionScan);
		ctl.hcxt = CurrentMemoryContext;
		scan->partition_scans = hash_create("partitions read", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
}

/* entry_scan_start: begins a new search with these keys, which have to last until its end */
void
entry_scan_start(EntryScan *scan, ScanKey keys)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	IndexDef   *def = scan->def;
	int			i;

	scan->current = NULL;
	scan->remaining = NULL;
	if (scan->heap != NULL)
		binaryheap_free(scan->heap);
	scan->heap = NULL;
	scan->keys = keys;
	if (def->parts == NULL)
	{
		scan->current = &scan->only;
		index_rescan(scan->only.scan, keys, scan->nkeys, NULL, 0);
	}
	else if (!scan->by_row && scan->nkeys > def->part_field)
	{
		Oid			relid = find_partition_for_value(scan->rel, keys[def->part_field].sk_argument);

		if (OidIsValid(relid))
		{
			scan->current = find_partition_scan(scan, relid);
			index_rescan(scan->current->scan, keys, scan->nkeys, NULL, 0);
		}
	}
	else
	{
		PartitionDesc partitions = RelationGetPartitionDesc(scan->rel, true);

		if (scan->by_row)
		{
			scan->remaining = partitions;
			scan->next = 0;
		}
		else
		{
			scan->heap = binaryheap_allocate(Max(partitions->nparts, 1), compare_partition_scans, def);
			for (i = 0; i < partitions->nparts; i++)
			{
				PartitionScan *partition_scan = find_partition_scan(scan, partitions->oids[i]);

				index_rescan(partition_scan->scan, keys, scan->nkeys, NULL, 0);
				if (next_in_partition(scan, partition_scan))
					binaryheap_add_unordered(scan->heap, PointerGetDatum(partition_scan));
			}
			binaryheap_build(scan->heap);
		}
	}
	MemoryContextSwitchTo(old);
}

/* entry_scan_next: returns the next entry, valid until the next call, or NULL if there is none */
TupleTableSlot *
entry_scan_next(EntryScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	TupleTableSlot *result = NULL;

	if (scan->heap != NULL)
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
			{
				scan->current = find_partition_scan(scan, scan->remaining->oids[scan->next++]);
				index_rescan(scan->current->scan, scan->keys, scan->nkeys, NULL, 0);
			}
		}
	}
	MemoryContextSwitchTo(old);
	return result;
}

void
entry_scan_end(EntryScan *scan)
{
	HASH_SEQ_STATUS seq;
	PartitionScan *partition_scan;

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

/* probe_begin: prepares to search for entries by their identity */
void
probe_begin(Probe *probe, IndexDef *def, Relation index_table, Snapshot snapshot)
{
	probe->def = def;
	entry_scan_begin(&probe->scan, def, index_table, snapshot, false, def->nsearch);
	probe->keys = palloc(sizeof(ScanKeyData) * def->nsearch);
	memcpy(probe->keys, def->search_keys, sizeof(ScanKeyData) * def->nsearch);
}

/* probe_entry: returns the entry that has the same identity as the given one, or NULL if there is none */
TupleTableSlot *
probe_entry(Probe *probe, Datum *values)
{
	IndexDef   *def = probe->def;
	TupleTableSlot *entry;
	int			i;

	for (i = 0; i < def->nsearch; i++)
		probe->keys[i].sk_argument = values[def->search[i] - 1];
	entry_scan_start(&probe->scan, probe->keys);
	while ((entry = entry_scan_next(&probe->scan)) != NULL)
	{
		slot_getallattrs(entry);

		/*
		 * An entry with a unique key is found by the key alone, and may be of
		 * another row.
		 */
		if (compare_identity(def, entry->tts_values, values) == 0)
			break;
	}
	return entry;
}

void
probe_end(Probe *probe)
{
	entry_scan_end(&probe->scan);
}

/* find_partition_scan: returns the scan of a partition, and begins it if that is not done yet */
static PartitionScan *
find_partition_scan(EntryScan *scan, Oid relid)
{
	bool		found;
	PartitionScan *partition_scan = hash_search(scan->partition_scans, &relid, HASH_ENTER, &found);

	if (!found)
	{
		partition_scan->rel = relation_open(relid, AccessShareLock);
		begin_partition_scan(scan, partition_scan);
	}
	return partition_scan;
}

/* begin_partition_scan: opens the index of a table, and a scan of it */
static void
begin_partition_scan(EntryScan *scan, PartitionScan *partition_scan)
{
	IndexDef   *def = scan->def;
	Oid			index;

	if (def->parts != NULL)
	{
		IndexPartition *partition = find_index_partition(def, partition_scan->rel);

		index = scan->by_row ? partition->row_index : partition->primary_index;
	}
	else
		index = scan->by_row ? def->row_index : def->primary_index;
	partition_scan->index = index_open(index, AccessShareLock);
	partition_scan->slot = table_slot_create(partition_scan->rel, NULL);
	partition_scan->scan = index_beginscan_compat(partition_scan->rel, partition_scan->index, scan->snapshot,
												  scan->nkeys);
}

static void
end_partition_scan(PartitionScan *partition_scan)
{
	index_endscan(partition_scan->scan);
	ExecDropSingleTupleTableSlot(partition_scan->slot);
	index_close(partition_scan->index, NoLock);
}

/* next_in_partition: moves the scan of one table on; returns false if there is no other entry */
static bool
next_in_partition(EntryScan *scan, PartitionScan *partition_scan)
{
	bool		found;

	if (scan->counted)
		return index_getnext_slot(partition_scan->scan, ForwardScanDirection, partition_scan->slot);
	stop_counting(partition_scan->index);
	found = index_getnext_slot(partition_scan->scan, ForwardScanDirection, partition_scan->slot);
	go_on_counting(partition_scan->index);
	return found;
}

/*
 * compare_partition_scans
 *		Compares scans by the entries that they are at, so that the first entry comes to
 *		the top of the heap.
 */
static int
compare_partition_scans(Datum a, Datum b, void *arg)
{
	IndexDef   *def = arg;
	TupleTableSlot *x = ((PartitionScan *) DatumGetPointer(a))->slot;
	TupleTableSlot *y = ((PartitionScan *) DatumGetPointer(b))->slot;

	slot_getallattrs(x);
	slot_getallattrs(y);
	return compare_identity(def, y->tts_values, x->tts_values);
}
