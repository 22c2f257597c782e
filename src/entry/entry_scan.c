/*-------------------------------------------------------------------------
 *
 * entry_scan.c
 *	  Reads entries of an index table by its key, or by the primary key of their
 *	  fact row.
 *
 * Called by lookup.c, sample.c and reconcile.c.  Of a partitioned index table only
 * the partition is opened that has the key; where the key does not tell, all are,
 * and what they give is merged into the order of the index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/skey.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "lib/binaryheap.h"
#include <limits.h>
#include <math.h>
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"

#include "../definition/index_partition.h"
#include "../indextable.h"
#include "../util/uncounted.h"
#include "entries.h"
#include "entry_scan.h"

static void begin_part(EntryScan *scan, PartScan *part);
static void end_part(PartScan *part);
static PartScan *find_part(EntryScan *scan, Oid relid);
static bool next_in_part(EntryScan *scan, PartScan *part);
static int	compare_parts(Datum a, Datum b, void *arg);

/*
 * entry_scan_begin
 *		By nkeys columns of the index table's primary key, or of the index on the
 *		fact row's, if by_row: then in no order.
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
		begin_part(scan, &scan->only);
	}
	else
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(PartScan);
		ctl.hcxt = CurrentMemoryContext;
		scan->parts = hash_create("partitions read", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
}

static void
begin_part(EntryScan *scan, PartScan *part)
{
	IndexDef   *def = scan->def;
	Oid			index;

	if (def->parts != NULL)
	{
		IndexPartition *p = find_index_partition(def, part->rel);

		index = scan->by_row ? p->row_index : p->primary_index;
	}
	else
		index = scan->by_row ? def->row_index : def->primary_index;
	part->index = index_open(index, AccessShareLock);
	part->slot = table_slot_create(part->rel, NULL);
	part->scan = index_beginscan_compat(part->rel, part->index, scan->snapshot, scan->nkeys);
}

static void
end_part(PartScan *part)
{
	index_endscan(part->scan);
	ExecDropSingleTupleTableSlot(part->slot);
	index_close(part->index, NoLock);
}

static PartScan *
find_part(EntryScan *scan, Oid relid)
{
	bool		found;
	PartScan   *part = hash_search(scan->parts, &relid, HASH_ENTER, &found);

	if (!found)
	{
		part->rel = relation_open(relid, AccessShareLock);
		begin_part(scan, part);
	}
	return part;
}

/* entry_scan_start: with these keys, which have to last as long as they are used */
void
entry_scan_start(EntryScan *scan, ScanKey keys)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	IndexDef   *def = scan->def;
	int			i;

	scan->current = NULL;
	scan->waiting = NULL;
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
			scan->current = find_part(scan, relid);
			index_rescan(scan->current->scan, keys, scan->nkeys, NULL, 0);
		}
	}
	else
	{
		PartitionDesc partitions = RelationGetPartitionDesc(scan->rel, true);

		if (scan->by_row)
		{
			scan->waiting = partitions;
			scan->next = 0;
		}
		else
		{
			scan->heap = binaryheap_allocate(Max(partitions->nparts, 1), compare_parts, def);
			for (i = 0; i < partitions->nparts; i++)
			{
				PartScan   *part = find_part(scan, partitions->oids[i]);

				index_rescan(part->scan, keys, scan->nkeys, NULL, 0);
				if (next_in_part(scan, part))
					binaryheap_add_unordered(scan->heap, PointerGetDatum(part));
			}
			binaryheap_build(scan->heap);
		}
	}
	MemoryContextSwitchTo(old);
}

static bool
next_in_part(EntryScan *scan, PartScan *part)
{
	bool		found;

	if (scan->counted)
		return index_getnext_slot(part->scan, ForwardScanDirection, part->slot);
	stop_counting(part->index);
	found = index_getnext_slot(part->scan, ForwardScanDirection, part->slot);
	go_on_counting(part->index);
	return found;
}

/* compare_parts: by the entries that they are at; the first comes to the top */
static int
compare_parts(Datum a, Datum b, void *arg)
{
	IndexDef   *def = arg;
	TupleTableSlot *x = ((PartScan *) DatumGetPointer(a))->slot;
	TupleTableSlot *y = ((PartScan *) DatumGetPointer(b))->slot;

	slot_getallattrs(x);
	slot_getallattrs(y);
	return compare_identity(def, y->tts_values, x->tts_values);
}

/* entry_scan_next: NULL if there is none left; valid until the next call */
TupleTableSlot *
entry_scan_next(EntryScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->cxt);
	TupleTableSlot *result = NULL;

	if (scan->heap != NULL)
	{
		/* The entry given last is where its partition still is. */
		if (scan->current != NULL)
		{
			if (next_in_part(scan, scan->current))
				binaryheap_replace_first(scan->heap, PointerGetDatum(scan->current));
			else
				(void) binaryheap_remove_first(scan->heap);
		}
		scan->current = binaryheap_empty(scan->heap) ? NULL :
			(PartScan *) DatumGetPointer(binaryheap_first(scan->heap));
		result = scan->current == NULL ? NULL : scan->current->slot;
	}
	else
	{
		while (result == NULL)
		{
			if (scan->current != NULL && next_in_part(scan, scan->current))
				result = scan->current->slot;
			else if (scan->waiting == NULL || scan->next == scan->waiting->nparts)
				break;
			else
			{
				scan->current = find_part(scan, scan->waiting->oids[scan->next++]);
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
	PartScan   *part;

	if (scan->parts == NULL)
	{
		end_part(&scan->only);
		return;
	}
	hash_seq_init(&seq, scan->parts);
	while ((part = hash_seq_search(&seq)) != NULL)
	{
		end_part(part);
		relation_close(part->rel, NoLock);
	}
	hash_destroy(scan->parts);
}

void
probe_begin(Probe *probe, IndexDef *def, Relation index_table, Snapshot snapshot)
{
	probe->def = def;
	entry_scan_begin(&probe->scan, def, index_table, snapshot, false, def->nsearch);
	probe->keys = palloc(sizeof(ScanKeyData) * def->nsearch);
	memcpy(probe->keys, def->search_keys, sizeof(ScanKeyData) * def->nsearch);
}

/* probe_entry: the one with the identity of another; NULL: there is none */
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
		/* A unique one is found by its key, and may be of another row. */
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
