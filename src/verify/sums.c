/*-------------------------------------------------------------------------
 *
 * sums.c
 *	  Sums up in buckets the entries that an index table should have and those that it has,
 *	  or keeps them for a comparison.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/memory.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "value_hash.h"
#include "verify.h"

typedef struct Row
{
	Verify	   *v;
	TupleTableSlot *slot;
	Entries		entries;		/* what the row asks for */
	Rejection	rejection;		/* why it cannot have entries, if it cannot */
} Row;

static void note_lacking(Verify *v, Row *row);
static void note_foreign_row(Verify *v, TupleTableSlot *row);
static HTAB *new_set(Verify *v, const char *name);
static uint64 hash_row_key(Verify *v, TupleTableSlot *row);
static void note_key(Verify *v, HTAB *set, TupleDesc queue, const Datum *key, const bool *isnull);
static void make_entries_or_reject(Row *row);
static void make_entries_of_row(void *arg);
static void read_entries_of_shard(Verify *v);
static void look_up_expected_entry(Verify *v, TupleTableSlot *entry);
static void sum_or_keep_entry(Verify *v, Datum *values, bool *isnull, bool expected);
static ErrorData *take_changes(FactDef *def, FeedBatch *batch, MemoryContext cxt);

/*
 * read_fact_table
 *		Reads the fact table, and sums up or keeps the entries that its rows ask for.
 *
 * A row that raises an error, for example in the filter, must not hide the others.
 * So if there is an error, all rows are read again, each in a subtransaction of its
 * own.
 */
void
read_fact_table(Verify *v)
{
	ErrorData  *error;

	if (v->reading == READ_SUMS)
	{
		error = run_catching_row_errors(read_fact_rows, v);
		if (error == NULL)
			return;
		FreeErrorData(error);
		v->catch_errors = true;
		memset(v->sums, 0, sizeof(Sums));
	}
	read_fact_rows(v);
}

/*
 * read_fact_rows
 *		Reads the fact table once, as its owner, and handles each row as v->reading says.
 */
void
read_fact_rows(void *verify)
{
	Verify	   *v = verify;
	BlockSample sample = {.percent = v->sample,.seed = v->seed};
	BlockScan	scan;
	TupleTableSlot *slot;

	AS_OWNER(v->def->fact->owner);
	{
		block_scan_begin(&scan, v->def->fact, v->fact, v->snapshot, &sample);
		if (v->shared_fact != NULL)
			block_scan_join(&scan, v->shared_fact);
		while ((slot = block_scan_next(&scan)) != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(v->cxt);
			Row			row = {.v = v,.slot = slot};

			if (scan.foreign != NULL &&
				!elsewhere->rows->in_bounds(v->def->fact, v->fact, RelationGetRelid(scan.rel), slot))
			{
				row.rejection.sqlstate = ERRCODE_CHECK_VIOLATION;
				row.rejection
					.message = psprintf("row is in foreign partition \"%s\", whose bounds do not include it",
										RelationGetRelationName(scan.rel));
				row.entries.n = 0;
			}
			else
			{
				make_entries_or_reject(&row);
				note_lacking(v, &row);
				if ((scan.foreign != NULL || v->shard != NULL) && v->reading == READ_ENTRIES)
					note_foreign_row(v, slot);
			}
			for (int i = 0; i < row.entries.n && v->reading != READ_REJECTED; i++)
			{
				Datum	   *values = ENTRY_VALUES(&row.entries, i);
				bool	   *isnull = ENTRY_NULLS(&row.entries, i);
				TupleTableSlot *found;

				sum_or_keep_entry(v, values, isnull, true);
				if (v->reading == READ_SAMPLE && (found = probe_entry(&v->entries, values, isnull)) != NULL)
					sum_or_keep_entry(v, found->tts_values, found->tts_isnull, false);
			}
			if (row.rejection.sqlstate != 0)
			{
				Discrepancy d = {.kind = KIND_REJECTED,.def = v->def,.row = slot,.problem = row.rejection.message};

				v->sums->any_rejected = true;
				if (v->reading == READ_REJECTED)
					v->handler(&d, v->arg);
			}
			MemoryContextSwitchTo(old);
			MemoryContextReset(v->cxt);
		}
		block_scan_end(&scan);
	}
	END_AS_OWNER();
}

/*
 * note_lacking
 *		Notes that a row lacks entries, and apart from that, if its key is queued: then that may
 *		not have been recorded yet.
 */
static void
note_lacking(Verify *v, Row *row)
{
	uint64		hash;

	v->sums->lacking_queued |= row->entries.lacking;
	if ((row->entries.lacking & ~v->sums->lacking) == 0 || row->rejection.sqlstate != 0)
		return;
	if (v->def->spec.async)
	{
		if (v->queued_rows == NULL)
			note_queued_rows(v);
		hash = hash_row_key(v, row->slot);
		if (is_noted(v->queued_rows, hash) || v->fed_partitions != NIL || is_noted(v->fed_rows, hash))
			return;
	}
	v->sums->lacking |= row->entries.lacking;
}

/*
 * note_foreign_row
 *		Notes that a row on another server, or in a shard, exists, if the sums of its bucket
 *		differ.
 *
 * report_discrepancy() then need not look for it.
 */
static void
note_foreign_row(Verify *v, TupleTableSlot *row)
{
	uint64		hash = hash_row_key(v, row);

	if (v->sums->buckets[hash % BUCKETS].expected == v->sums->buckets[hash % BUCKETS].found)
		return;
	if (v->foreign_rows == NULL)
		v->foreign_rows = new_set(v, "rows on other servers");
	hash_search(v->foreign_rows, &hash, HASH_ENTER, NULL);
}

/* new_set: makes an empty set of hashes, which lasts as long as the comparison */
static HTAB *
new_set(Verify *v, const char *name)
{
	return new_hash(name, 1024, sizeof(uint64), sizeof(uint64), MemoryContextGetParent(v->cxt));
}

/* hash_row_key: returns the hash of a fact row's primary key */
static uint64
hash_row_key(Verify *v, TupleTableSlot *row)
{
	slot_getallattrs(row);
	return hash_columns(row->tts_tupleDescriptor, v->def->fact->layout.pk_attno, v->def->fact->layout.npk,
						row->tts_values, row->tts_isnull);
}

/*
 * make_entries_or_reject
 *		Makes the entries of a row; a row that raises an error is rejected, and has none.
 */
static void
make_entries_or_reject(Row *row)
{
	ErrorData  *error = NULL;

	if (row->v->catch_errors)
		error = run_catching_row_errors(make_entries_of_row, row);
	else
		make_entries_of_row(row);
	if (error != NULL)
	{
		row->rejection.sqlstate = error->sqlerrcode;
		row->rejection.message = error->message;
		row->entries.n = 0;
	}
}

/*
 * make_entries_of_row
 *		Makes the entries of a row, in the memory context of the row.
 *
 * run_catching_row_errors() calls this in a memory context that is deleted before
 * the entries are used.
 */
static void
make_entries_of_row(void *arg)
{
	Row		   *row = arg;
	Verify	   *v = row->v;
	MemoryContext old = MemoryContextSwitchTo(v->cxt);
	FactRow		factrow;

	factrow_init(&factrow, v->def->fact, row->slot);
	factrow.rejection = &row->rejection;
	entries_init(&row->entries, v->def);
	extract_entries(v->def, &factrow, true, &row->entries);
	MemoryContextSwitchTo(old);
}

/* read_index_table: reads the index table, and sums up or keeps the entries that are there */
void
read_index_table(Verify *v)
{
	BlockSample sample = {.percent = v->sample,.seed = v->seed};
	BlockScan	scan;
	TupleTableSlot *slot;
	ErrorContextCallback context = {.previous = error_context_stack,
		.callback = damaged_index_table,
	.arg = &v->def->relid};

	if (v->shard != NULL)
	{
		read_entries_of_shard(v);
		return;
	}
	error_context_stack = &context;
	block_scan_begin(&scan, NULL, v->index_table, v->snapshot, &sample);
	if (v->shared_index != NULL)
		block_scan_join(&scan, v->shared_index);
	while ((slot = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(v->cxt);
		IndexSpec  *spec = &v->def->spec;
		int			column = v->def->layout.parts == NULL ? 0 : spec->fields[spec->part_field].attno - 1;

		slot_getallattrs(slot);
		if (v->def->layout.parts != NULL &&
			find_partition_for_value(v->index_table, slot->tts_values[column], slot->tts_isnull[column]) !=
			RelationGetRelid(scan.rel))
			v->sums->misplaced++;
		sum_or_keep_entry(v, slot->tts_values, slot->tts_isnull, false);
		if (v->reading == READ_SAMPLE)
			look_up_expected_entry(v, slot);
		MemoryContextSwitchTo(old);
		MemoryContextReset(v->cxt);
	}
	block_scan_end(&scan);
	error_context_stack = context.previous;
}

/*
 * read_entries_of_shard
 *		Sums up the entries of rows that belong to the shard, which may be on any node, as read_index_table()
 *		does those of the whole table.
 */
static void
read_entries_of_shard(Verify *v)
{
	EntryScanOptions options = {.by_row = true};
	EntryScan	scan;
	TupleTableSlot *slot;

	options.filter.hash_attno = v->shard->column;
	options.filter.hash_min = v->shard->hash_min;
	options.filter.hash_max = v->shard->hash_max;
	entry_scan_begin(&scan, v->def, v->index_table, v->snapshot, 0, &options);
	entry_scan_start(&scan, NULL, false);
	while ((slot = entry_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(v->cxt);

		CHECK_FOR_INTERRUPTS();
		sum_or_keep_entry(v, slot->tts_values, slot->tts_isnull, false);
		MemoryContextSwitchTo(old);
		MemoryContextReset(v->cxt);
	}
	entry_scan_end(&scan);
}

/*
 * look_up_expected_entry
 *		Looks up the row of an entry that was read, and keeps the entry that the
 *		row asks for under the same identity, if it asks for one.
 */
static void
look_up_expected_entry(Verify *v, TupleTableSlot *entry)
{
	Row			row = {.v = v};
	Datum		key[INDEX_MAX_KEYS];

	for (int i = 0; i < v->def->fact->layout.npk; i++)
		key[i] = entry->tts_values[v->def->layout.pk_attno[i] - 1];
	row.slot = live_scan_first(&v->rows, key);
	if (row.slot == NULL)
		return;
	AS_OWNER(v->def->fact->owner);
	{
		make_entries_or_reject(&row);
		for (int i = 0; i < row.entries.n; i++)
			if (compare_identity(v->def, ENTRY_VALUES(&row.entries, i), ENTRY_NULLS(&row.entries, i),
								 entry->tts_values, entry->tts_isnull) == 0)
				sum_or_keep_entry(v, ENTRY_VALUES(&row.entries, i), ENTRY_NULLS(&row.entries, i), true);
	}
	END_AS_OWNER();
}

/*
 * sum_or_keep_entry
 *		Adds an entry to the sums of its bucket, or keeps it for the comparison unless
 *		the sums of its bucket agree.
 */
static void
sum_or_keep_entry(Verify *v, Datum *values, bool *isnull, bool expected)
{
	IndexDef   *def = v->def;
	uint64		entry = hash_primary_key(v, values, isnull);
	Bucket	   *bucket = &v->sums->buckets[entry % BUCKETS];

	if (v->reading != READ_SUMS)
	{
		TupleTableSlot *slot;

		if (v->reading == READ_ENTRIES && bucket->expected == bucket->found)
			return;
		slot = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
		store_entry(slot, values, isnull);
		tuplesort_puttupleslot(expected ? v->expected : v->found, slot);
		ExecDropSingleTupleTableSlot(slot);
		return;
	}
	for (int i = 0; i < def->layout.desc->natts; i++)
		if (i + 1 != def->layout.hint_attno && !TupleDescAttr(def->layout.desc, i)->attisdropped)
			entry = hash_column(values[i], isnull[i], TupleDescAttr(def->layout.desc, i), entry);
	*(expected ? &bucket->expected : &bucket->found) += entry;
}

/* hash_primary_key: returns the hash of the primary key in an entry */
uint64
hash_primary_key(Verify *v, Datum *values, bool *isnull)
{
	return hash_columns(v->def->layout.desc, v->def->layout.pk_attno, v->def->fact->layout.npk, values, isnull);
}

/* note_key: adds to a set the hash of a primary key, as a queue table with these columns has it */
static void
note_key(Verify *v, HTAB *set, TupleDesc queue, const Datum *key, const bool *isnull)
{
	uint64		hash = 0;

	for (int i = 0; i < v->def->fact->layout.npk; i++)
		hash = hash_column(key[i], isnull[i], TupleDescAttr(queue, QUEUE_KEY - 1 + i), hash);
	hash_search(set, &hash, HASH_ENTER, NULL);
}

/* is_noted: returns whether a set, which may be NULL, has the hash of a primary key */
bool
is_noted(HTAB *set, uint64 hash)
{
	return set != NULL && hash_search(set, &hash, HASH_FIND, NULL) != NULL;
}

/*
 * note_queued_rows
 *		Notes the rows whose primary keys the snapshot sees in the queue: their
 *		entries may not have been written yet.
 */
void
note_queued_rows(Verify *v)
{
	FactQueue  *queue = &v->def->fact->queue;
	Oid			tables[2] = {v->shard != NULL ? v->shard->queue : queue->current, queue->spare};

	if (v->queued_rows != NULL)
		return;
	v->queued_rows = new_set(v, "queued rows");
	for (int i = 0; i < 2; i++)
	{
		Relation	rel;
		TableScanDesc scan;
		TupleTableSlot *slot;

		if (!OidIsValid(tables[i]))
			continue;
		rel = relation_open(tables[i], AccessShareLock);
		scan = table_beginscan_compat(rel, v->snapshot);
		slot = table_slot_create(rel, NULL);
		while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			CHECK_FOR_INTERRUPTS();
			slot_getallattrs(slot);
			note_key(v, v->queued_rows, slot->tts_tupleDescriptor, &slot->tts_values[QUEUE_KEY - 1],
					 &slot->tts_isnull[QUEUE_KEY - 1]);
		}
		ExecDropSingleTupleTableSlot(slot);
		table_endscan(scan);
		relation_close(rel, NoLock);
	}
}

/*
 * note_fed_rows
 *		Notes the rows whose primary keys are in the feeds of other servers: their entries
 *		may not have been written yet.
 *
 * It is called twice, before and after the snapshots are taken.  A change whose entries
 * the snapshot does not see is in a feed at one of these moments, unless it is committed,
 * applied and acknowledged between them.
 */
void
note_fed_rows(Verify *v)
{
	static const bool none_null[INDEX_MAX_KEYS] = {0};
	MemoryContext cxt = MemoryContextGetParent(v->cxt);

	if (!v->def->spec.async || !v->def->fact->queue.has_feeds)
		return;
	if (v->fed_rows == NULL)
		v->fed_rows = new_set(v, "rows in feeds");
	foreach_oid(server, elsewhere->feeds->of(v->def->fact->relid))
	{
		MemoryContext changes_cxt = AllocSetContextCreate(cxt, "indextable changes", ALLOCSET_DEFAULT_SIZES);
		FeedBatch  *batch = MemoryContextAllocZero(changes_cxt, sizeof(FeedBatch));
		ErrorData  *error;

		batch->server = server;
		batch->limit = PG_INT64_MAX;
		error = take_changes(v->def->fact, batch, changes_cxt);
		if (error != NULL &&
			ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION &&
			ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
			error->sqlerrcode != ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST)
			ReThrowError(error);
		if (error != NULL)
			v->feed_problem = psprintf("changes cannot be taken from server \"%s\": %s%s%s",
									   GetForeignServer(server)->servername, error->message,
									   error->hint == NULL ? "" : "; ", error->hint == NULL ? "" : error->hint);
		for (int64 i = 0; i < batch->nkeys; i++)
			note_key(v, v->fed_rows, v->def->fact->queue.desc, &batch->keys[i * v->def->fact->layout.npk],
					 none_null);
		v->fed_partitions = list_concat_unique_oid(v->fed_partitions, batch->whole);
		MemoryContextDelete(changes_cxt);
	}
}

/*
 * take_changes
 *		Takes changes from the feeds of a server, in a memory context; returns the error that
 *		has ended it, or NULL.
 */
static ErrorData *
take_changes(FactDef *def, FeedBatch *batch, MemoryContext cxt)
{
	ErrorData  *error;

	CATCHING_ERRORS(error, MemoryContextSwitchTo(cxt), elsewhere->feeds->take(def, batch));
	return error;
}

/*
 * is_fed
 *		Returns whether the primary key of a row is in a feed, so that its entries need not be
 *		right yet.
 */
bool
is_fed(Verify *v, Datum *key, uint64 hash)
{
	return is_noted(v->fed_rows, hash) ||
		(v->fed_partitions != NIL && list_member_oid(v->fed_partitions, route_key(v->def->fact, v->fact, key)));
}
