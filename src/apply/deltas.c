/*-------------------------------------------------------------------------
 *
 * deltas.c
 *	  Adds up what rows add to the groups of a table of totals, and writes it: a statement
 *	  inserts one entry for each group that it has changed.
 *
 * An entry says what is to be added: the number of rows, and for each field its sum and the
 * number of its values.  What a group has is the sum over its entries.  Nobody reads or
 * changes an entry to write one, so no writer waits for another.
 *
 * Why this is exact.  A row goes through versions, and each step from one to the next brings one
 * event to the trigger, in whatever order.  It takes away what the old version has added, and
 * adds what the new one adds, so that all steps together leave what the last version adds.  A
 * snapshot sees what a transaction has written to both tables, or nothing; our own is a
 * question of command ids, as for all index tables (maintain/in_step.c).
 *
 * Folding replaces entries of a group by their sum, in one transaction.  A snapshot sees all of
 * that transaction or nothing.  If it sees it, it sees everything that the transaction has seen
 * as committed, so that nothing is counted twice.  If it does not, it sees the entries that were
 * replaced.  Folders, and repair(), keep each other out by a lock that no writer and no reader
 * takes; else both could replace, or mend, the same.
 *
 * Values are the same if their bytes are: definition/totals_columns.c refuses keys of other types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "apply.h"

/* The values of an entry, by column. */
typedef struct Delta
{
	Datum	   *values;
	bool	   *isnull;
} Delta;

typedef struct DeltaGroup
{
	Delta		delta;			/* hash key: the key fields in it */
	uint32		hash;
	char		status;
} DeltaGroup;

static uint32 hash_key(IndexDef *def, Delta *delta);
static bool same_key(IndexDef *def, Delta *a, Delta *b);

#define SH_PREFIX		deltas
#define SH_ELEMENT_TYPE	DeltaGroup
#define SH_KEY_TYPE		Delta
#define SH_KEY			delta
#define SH_HASH_KEY(tb, key)	hash_key((tb)->private_data, &(key))
#define SH_EQUAL(tb, a, b)		same_key((tb)->private_data, &(a), &(b))
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a)		((a)->hash)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static void add_rows(Deltas **deltas, int n, Relation rel, Snapshot snapshot, bool insert, bool report,
					 MemoryContext cxt);
static void write_and_begin(Deltas **deltas, int n, MemoryContext cxt);
static void take_away_table(Deltas *deltas, Relation rel, Snapshot snapshot, Deltas *found);
static void add(Deltas *deltas, DeltaGroup *group, AttrNumber attno, Datum *values, int sign);
static bool is_zero(IndexDef *def, Datum *values, AttrNumber attno);
static int64 fold_entries(Deltas *deltas, Relation rel, Snapshot snapshot, int64 limit);
static void fold_entry(Deltas *deltas, Relation rel, TupleTableSlot *entry, ItemPointer tid);
static void deltas_add(Deltas *deltas, Datum *values, bool *isnull, int sign);
static void add_delta(Deltas *deltas, RowDelta *delta, bool insert);

static uint32
hash_key(IndexDef *def, Delta *delta)
{
	uint32		hash = 0;

	for (int i = 0; i < def->spec.nkeys; i++)
	{
		int			at = def->spec.fields[i].attno - 1;
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, at);

		hash = hash_combine(hash, delta->isnull[at] ? 0 :
							datum_image_hash(delta->values[at], att->attbyval, att->attlen));
	}
	return hash;
}

static bool
same_key(IndexDef *def, Delta *a, Delta *b)
{
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		int			at = def->spec.fields[i].attno - 1;
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, at);

		if (a->isnull[at] != b->isnull[at] ||
			(!a->isnull[at] && !datum_image_eq(a->values[at], b->values[at], att->attbyval, att->attlen)))
			return false;
	}
	return true;
}

/* deltas_begin: begins to collect for a table of totals; all memory is of cxt */
Deltas *
deltas_begin(IndexDef *def, MemoryContext cxt)
{
	Deltas	   *deltas = MemoryContextAllocZero(cxt, sizeof(Deltas));

	deltas->def = def;
	deltas->cxt = cxt;
	deltas->groups = deltas_create(cxt, 8, def);
	deltas->at = MemoryContextAlloc(cxt, sizeof(deltas_iterator));
	deltas->added = MemoryContextAlloc(cxt, sizeof(AttrNumber) * def->layout.desc->natts);
	deltas->nadded = added_columns(def, deltas->added);
	return deltas;
}

/* deltas_add: adds an entry to its group, or takes it away if sign is -1 */
static void
deltas_add(Deltas *deltas, Datum *values, bool *isnull, int sign)
{
	IndexDef   *def = deltas->def;
	Delta		key = {values, isnull};
	int			natts = def->layout.desc->natts;
	bool		found;
	DeltaGroup *group = deltas_insert(deltas->groups, key, &found);
	MemoryContext old = MemoryContextSwitchTo(deltas->cxt);

	if (!found)
	{
		group->delta.values = palloc0(sizeof(Datum) * natts);
		group->delta.isnull = palloc(sizeof(bool) * natts);
		memset(group->delta.isnull, true, sizeof(bool) * natts);
		deltas->bytes += sizeof(DeltaGroup) * 2 + (sizeof(Datum) + sizeof(bool)) * natts;
		for (int i = 0; i < def->spec.nkeys; i++)
		{
			int			at = def->spec.fields[i].attno - 1;
			Form_pg_attribute att = TupleDescAttr(def->layout.desc, at);

			group->delta.isnull[at] = isnull[at];
			if (isnull[at])
				continue;
			group->delta.values[at] = datumCopy(values[at], att->attbyval, att->attlen);
			deltas->bytes += att->attbyval ? 0 : datumGetSize(values[at], false, att->attlen) + 16;
		}
	}
	for (int i = 0; i < deltas->nadded; i++)
		add(deltas, group, deltas->added[i], values, sign);
	MemoryContextSwitchTo(old);
}

/*
 * add
 *		Adds one of the numbers of an entry, bigint or numeric, to that of a group, or takes
 *		it away if sign is -1.
 */
static void
add(Deltas *deltas, DeltaGroup *group, AttrNumber attno, Datum *values, int sign)
{
	Datum	   *to = &group->delta.values[attno - 1];
	bool		is_new = group->delta.isnull[attno - 1];

	group->delta.isnull[attno - 1] = false;
	if (TupleDescAttr(deltas->def->layout.desc, attno - 1)->atttypid == INT8OID)
		*to = DirectFunctionCall2(sign > 0 ? int8pl : int8mi, is_new ? Int64GetDatum(0) : *to, values[attno - 1]);
	else
	{
		*to = DirectFunctionCall2(sign > 0 ? numeric_add : numeric_sub,
								  is_new ? NumericGetDatum(int64_to_numeric(0)) : *to, values[attno - 1]);
		deltas->bytes += 32;
	}
}

/* is_zero: returns whether a column of an entry adds nothing */
static bool
is_zero(IndexDef *def, Datum *values, AttrNumber attno)
{
	return TupleDescAttr(def->layout.desc, attno - 1)->atttypid == INT8OID ?
		DatumGetInt64(values[attno - 1]) == 0 :
		DatumGetBool(DirectFunctionCall2(numeric_eq, values[attno - 1], NumericGetDatum(int64_to_numeric(0))));
}

/* add_delta: adds what a row adds to its groups, or takes it away if insert is false */
static void
add_delta(Deltas *deltas, RowDelta *delta, bool insert)
{
	for (int i = 0; i < delta->n; i++)
		deltas_add(deltas, ENTRY_VALUES(delta, i), ENTRY_NULLS(delta, i), insert ? 1 : -1);
	if (insert)
		deltas->lacking |= delta->lacking;
	deltas->skipped += delta->skipped;
}

/*
 * extract_change
 *		Fills what a step from one version of a row to the next takes away from its groups, and what it
 *		adds; NULL: there is no such version.
 *
 * That calls functions of users, which may write the fact table, and then what a statement has collected
 * is written and freed.  So the deltas that a change is added to are looked up afterwards.
 */
void
extract_change(IndexDef *def, FactRow *old, FactRow *new, DeltaChange *change)
{
	memset(change, 0, sizeof(DeltaChange));
	if (old != NULL && new != NULL && entries_unchanged(def, old, new))
		return;
	if (old != NULL)
		(void) extract_delta(def, old, false, &change->taken);
	if (new != NULL)
		(void) extract_delta(def, new, true, &change->added);
}

/* deltas_add_change: adds a change to its groups; no function of users is called */
void
deltas_add_change(Deltas *deltas, DeltaChange *change)
{
	add_delta(deltas, &change->taken, false);
	add_delta(deltas, &change->added, true);
}

/*
 * add_rows
 *		Adds what the rows of a table or partition add, or takes it away if insert is false, as a
 *		snapshot sees them.  If cxt is not NULL it has the deltas, which are written whenever they
 *		take too much memory, as they can be in any number of pieces.
 */
static void
add_rows(Deltas **deltas, int n, Relation rel, Snapshot snapshot, bool insert, bool report, MemoryContext cxt)
{
	FactDef    *fact = deltas[0]->def->fact;
	BlockScan	scan;
	TupleTableSlot *slot;

	block_scan_begin(&scan, fact, rel, snapshot, NULL);
	while ((slot = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(scan.row_cxt);
		Size		bytes = 0;
		FactRow		row;

		factrow_init(&row, fact, slot);
		for (int i = 0; i < n; i++)
		{
			RowDelta	delta;

			(void) extract_delta(deltas[i]->def, &row, report, &delta);
			add_delta(deltas[i], &delta, insert);
			bytes += deltas[i]->bytes;
		}
		MemoryContextSwitchTo(old);
		if (cxt != NULL && bytes > (Size) maintenance_work_mem * 1024)
			write_and_begin(deltas, n, cxt);
	}
	block_scan_end(&scan);
}

/* write_and_begin: writes what was collected, forgets it, and begins anew */
static void
write_and_begin(Deltas **deltas, int n, MemoryContext cxt)
{
	IndexDef  **defs = palloc(sizeof(IndexDef *) * n);

	for (int i = 0; i < n; i++)
	{
		defs[i] = deltas[i]->def;
		deltas_write(deltas[i]);
	}
	MemoryContextReset(cxt);
	for (int i = 0; i < n; i++)
		deltas[i] = deltas_begin(defs[i], cxt);
	pfree(defs);
}

/*
 * deltas_write_rows
 *		Writes to tables of totals what the rows of the fact table, or of a partition, add, or
 *		takes it away if insert is false.
 */
void
deltas_write_rows(IndexDef **defs, int n, Relation rel, Snapshot snapshot, bool insert)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable totals", ALLOCSET_DEFAULT_SIZES);
	Deltas	  **deltas = palloc(sizeof(Deltas *) * n);

	for (int i = 0; i < n; i++)
		deltas[i] = deltas_begin(defs[i], cxt);
	add_rows(deltas, n, rel, snapshot, insert, insert, cxt);
	for (int i = 0; i < n; i++)
		deltas_write(deltas[i]);
	pfree(deltas);
	MemoryContextDelete(cxt);
}

/*
 * deltas_of_difference
 *		Returns what a table of totals lacks, as a snapshot sees it and the fact table: what all
 *		rows add, without what is there.  That is added to found, unless it is NULL.  Only with
 *		report do values that cannot be in an entry raise an error, or count as skipped.
 */
Deltas *
deltas_of_difference(IndexDef *def, Relation fact_table, Relation rel, Snapshot snapshot, bool report,
					 Deltas *found)
{
	Deltas	   *deltas = deltas_begin(def, CurrentMemoryContext);

	add_rows(&deltas, 1, fact_table, snapshot, true, report, NULL);
	take_away_table(deltas, rel, snapshot, found);
	return deltas;
}

/* deltas_find: returns whether there is the group of an entry, and sets its values */
bool
deltas_find(Deltas *deltas, Datum *values, bool *isnull, Datum **found)
{
	Delta		key = {values, isnull};
	DeltaGroup *group = deltas_lookup(deltas->groups, key);

	if (group != NULL)
		*found = group->delta.values;
	return group != NULL;
}

/*
 * lock_folding
 *		Keeps others from folding or mending a table of totals until the transaction ends; returns
 *		false if another transaction does so, unless wait is true.  The lock is on no object of the database.
 */
bool
lock_folding(Oid relid, bool wait)
{
	LOCKTAG		tag = record_tag(relid, InvalidTransactionId, 0);

	return LockAcquire(&tag, ExclusiveLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * take_away_table
 *		Takes away all entries of a table of totals, and adds them to found, unless it is
 *		NULL.
 */
static void
take_away_table(Deltas *deltas, Relation rel, Snapshot snapshot, Deltas *found)
{
	TableScanDesc scan = table_beginscan_compat(rel, snapshot);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		deltas_add(deltas, slot->tts_values, slot->tts_isnull, -1);
		if (found != NULL)
			deltas_add(found, slot->tts_values, slot->tts_isnull, 1);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/* deltas_rewind: has deltas_next_group() begin with the first group */
void
deltas_rewind(Deltas *deltas)
{
	deltas_start_iterate(deltas->groups, deltas->at);
}

/*
 * deltas_next_group
 *		Returns whether there is another group in which anything is left, and sets *values and
 *		*isnull to it, as an entry.
 */
bool
deltas_next_group(Deltas *deltas, Datum **values, bool **isnull)
{
	DeltaGroup *group;

	while ((group = deltas_iterate(deltas->groups, deltas->at)) != NULL)
	{
		*values = group->delta.values;
		*isnull = group->delta.isnull;
		for (int i = 0; i < deltas->nadded; i++)
			if (!is_zero(deltas->def, *values, deltas->added[i]))
				return true;
	}
	return false;
}

/*
 * deltas_write
 *		Writes an entry for each group in which anything is left, and what is to be recorded of
 *		the rows; returns how many entries that is.  The table is locked as by its writers.  Of one
 *		that this transaction has dropped meanwhile, nothing is written.
 */
int64
deltas_write(Deltas *deltas)
{
	IndexDef   *def = deltas->def;
	Relation	rel;
	Writer		writer;
	TupleTableSlot *slot;
	Datum	   *values;
	bool	   *isnull;
	int64		n = 0;

	if (deltas->groups->members == 0 && deltas->skipped == 0 && !lacking_is_news(def, deltas->lacking))
		return 0;
	rel = try_relation_open(def->relid, NoLock);
	if (rel == NULL)
		return 0;
	BEGIN_WRITER(&writer, def, rel);
	{
		slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
		for (deltas_rewind(deltas); deltas_next_group(deltas, &values, &isnull); n++)
		{
			CHECK_FOR_INTERRUPTS();
			store_entry(slot, values, isnull);
			table_tuple_insert(rel, slot, command_id(&writer), 0, NULL);
			(void) insert_index_entries(&writer, slot, false, (TU_UpdateIndexes) 0, false);
		}
		ExecDropSingleTupleTableSlot(slot);
	}
	END_WRITER(&writer);
	table_close(rel, NoLock);
	if (deltas->skipped > 0)
		catalog_count_skipped(def->relid, deltas->skipped);
	record_lacking(def, deltas->lacking);
	return n;
}

/*
 * fold_totals
 *		Replaces the entries of groups that have several, or nothing, by one or none; returns how
 *		many it has replaced.  It stops after about limit of them, so that a transaction is short.
 *		The caller has the lock that keeps other folders out.
 */
int64
fold_totals(IndexDef *def, Relation rel, int64 limit)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable fold", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	Deltas	   *deltas = deltas_begin(def, cxt);
	int64		n = fold_entries(deltas, rel, snapshot, limit);

	deltas_write(deltas);
	UnregisterSnapshot(snapshot);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return n;
}

/*
 * fold_entries
 *		Does so in the order of the index, where the entries of a group are side by side.  Where
 *		there is none, all entries are replaced, unless there is but one.
 */
static int64
fold_entries(Deltas *deltas, Relation rel, Snapshot snapshot, int64 limit)
{
	IndexDef   *def = deltas->def;
	Relation	index = OidIsValid(def->layout.primary_index) ?
		index_open(def->layout.primary_index, AccessShareLock) :
		NULL;
	IndexScanDesc in_order = index == NULL ? NULL : index_beginscan_compat(rel, index, snapshot, 0);
	TableScanDesc scan = index != NULL ? NULL : table_beginscan_compat(rel, snapshot);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TupleTableSlot *first = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
	Delta		a = {first->tts_values, first->tts_isnull};
	Delta		b = {slot->tts_values, slot->tts_isnull};
	ItemPointerData first_tid;
	int64		in_group = 0;
	int64		n = 0;
	bool		more;

	if (index != NULL)
		index_rescan(in_order, NULL, 0, NULL, 0);
	do
	{
		more = index != NULL ? index_getnext_slot(in_order, ForwardScanDirection, slot) :
			table_scan_getnextslot(scan, ForwardScanDirection, slot);
		CHECK_FOR_INTERRUPTS();
		if (more)
			slot_getallattrs(slot);
		if (in_group > 0 && (!more || (index != NULL && !same_key(def, &a, &b))))
		{
			/*
			 * A group of one entry is as it should be, unless no row is in
			 * it.
			 */
			if (in_group == 1 && DatumGetInt64(first->tts_values[def->layout.rows_attno - 1]) == 0)
			{
				fold_entry(deltas, rel, first, &first_tid);
				n++;
			}
			in_group = 0;
			if (n >= limit)
				break;
		}
		if (!more)
			break;
		if (++in_group == 1)
		{
			ExecCopySlot(first, slot);
			first_tid = slot->tts_tid;
			continue;
		}
		if (in_group == 2)
		{
			fold_entry(deltas, rel, first, &first_tid);
			n++;
		}
		fold_entry(deltas, rel, slot, &slot->tts_tid);
		n++;
	} while (true);
	ExecDropSingleTupleTableSlot(slot);
	ExecDropSingleTupleTableSlot(first);
	if (index != NULL)
	{
		index_endscan(in_order);
		index_close(index, NoLock);
	}
	else
		table_endscan(scan);
	return n;
}

/*
 * fold_entry
 *		Adds an entry to its group, and deletes it; nobody else deletes or updates it
 *		meanwhile.
 */
static void
fold_entry(Deltas *deltas, Relation rel, TupleTableSlot *entry, ItemPointer tid)
{
	TM_FailureData failure;

	deltas_add(deltas, entry->tts_values, entry->tts_isnull, 1);
	if (table_tuple_delete_compat(rel, tid, GetCurrentCommandId(true), true, &failure) != TM_Ok)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not fold totals because an entry was changed meanwhile")));
}
