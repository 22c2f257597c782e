/*-------------------------------------------------------------------------
 *
 * bulk_load.c
 *	  Sorts the entries of a whole index table, and writes them into an empty table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "../definition/index_partition.h"
#include "../indextable.h"
#include "bulk_load.h"
#include "table_writer.h"

/* How the entries of a new index table are written: see bulk_load_write(). */
#define LOAD_OPTIONS		(TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN)

/* Entries on their way into a new index table, or into one partition of it. */
typedef struct Load
{
	Oid			relid;			/* hash key */
	Relation	rel;
	BulkInsertState state;		/* or NULL */
	MemoryContext cxt;			/* of the entries in slots */
	TupleTableSlot *slots[CHUNK];
	int			nslots;
	int			n;				/* how many slots hold an entry */
} Load;

static Load *find_load(HTAB *loads, IndexDef *def, Relation rel, TupleTableSlot *entry);
static void flush_load(Load *load, CommandId cid);

/* bulk_load_begin_sort: begins to sort entries by identity, in the order of the index table */
Tuplesortstate *
bulk_load_begin_sort(IndexDef *def)
{
	Oid		   *operators = palloc(sizeof(Oid) * def->nident);
	Oid		   *collations = palloc(sizeof(Oid) * def->nident);
	bool	   *nulls_first = palloc0(sizeof(bool) * def->nident);
	int			i;

	for (i = 0; i < def->nident; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->ident[i] - 1);

		operators[i] = lookup_type_cache(att->atttypid, TYPECACHE_LT_OPR)->lt_opr;
		collations[i] = att->attcollation;
	}
	return tuplesort_begin_heap(def->desc, def->nident, def->ident, operators, collations,
								nulls_first, maintenance_work_mem, NULL, TUPLESORT_NONE);
}

/*
 * bulk_load_write
 *		Writes sorted entries into a new index table that has no indexes yet.
 *
 * The table was made in this transaction, so the entries can be written frozen: all
 * of them become visible together with the table, and the first queries are
 * index-only already.
 */
void
bulk_load_write(IndexDef *def, Relation rel, Tuplesortstate *sorted)
{
	TupleTableSlot *source = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsMinimalTuple);
	CommandId	cid = GetCurrentCommandId(true);
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(Load),.hcxt = CurrentMemoryContext};
	HTAB	   *loads = hash_create("partitions loaded", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	HASH_SEQ_STATUS seq;
	Load	   *load;
	int			i;

	while (tuplesort_gettupleslot(sorted, true, false, source, NULL))
	{
		MemoryContext old;

		load = find_load(loads, def, rel, source);
		if (load->n == load->nslots)
			load->slots[load->nslots++] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
		old = MemoryContextSwitchTo(load->cxt);
		ExecStoreHeapTuple(ExecCopySlotHeapTuple(source), load->slots[load->n], true);
		load->slots[load->n++]->tts_tableOid = load->relid;
		MemoryContextSwitchTo(old);
		if (load->n == CHUNK)
			flush_load(load, cid);
	}
	hash_seq_init(&seq, loads);
	while ((load = hash_seq_search(&seq)) != NULL)
	{
		flush_load(load, cid);
		for (i = 0; i < load->nslots; i++)
			ExecDropSingleTupleTableSlot(load->slots[i]);
		if (load->state != NULL)
			FreeBulkInsertState(load->state);
		table_finish_bulk_insert(load->rel, LOAD_OPTIONS);
		relation_close(load->rel, NoLock);
		MemoryContextDelete(load->cxt);
	}
	hash_destroy(loads);
	ExecDropSingleTupleTableSlot(source);
}

/* find_load: returns the load of the index table, or of the partition that an entry belongs to */
static Load *
find_load(HTAB *loads, IndexDef *def, Relation rel, TupleTableSlot *entry)
{
	Oid			relid = RelationGetRelid(rel);
	Load	   *load;
	bool		found;
	bool		isnull;

	if (def->parts != NULL)
		relid = find_partition_for_value(rel, slot_getattr(entry, def->fields[def->part_field].attno, &isnull));
	if (!OidIsValid(relid))
		report_no_partition(def);
	load = hash_search(loads, &relid, HASH_ENTER, &found);
	if (!found)
	{
		load->rel = relation_open(relid, RowExclusiveLock);

		/*
		 * A state keeps a buffer pinned, and there may be more partitions
		 * than buffers.
		 */
		load->state = def->parts == NULL ? GetBulkInsertState() : NULL;
		load->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable load", ALLOCSET_DEFAULT_SIZES);
		load->nslots = load->n = 0;
	}
	return load;
}

/* flush_load: writes the entries that are in slots */
static void
flush_load(Load *load, CommandId cid)
{
	int			i;

	CHECK_FOR_INTERRUPTS();
	if (load->n > 0)
		table_multi_insert(load->rel, load->slots, load->n, cid, LOAD_OPTIONS, load->state);
	for (i = 0; i < load->n; i++)
		ExecClearTuple(load->slots[i]);
	load->n = 0;
	MemoryContextReset(load->cxt);
}
