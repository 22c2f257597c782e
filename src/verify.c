/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  indextable.verify(): whether an index table is what its fact table asks for.
 *
 * Called by users, and by repair.c for what to mend.
 *
 * With one snapshot, both tables are read once.  Entries that should be there and
 * entries that are there are summed up by hashes, in buckets by primary key; a
 * writer's change is in both or in neither.  Where the sums of a bucket differ,
 * and only there, a second reading with the same snapshot compares entry by
 * entry: what is right costs two sequential scans, and no sort.
 *
 * Of a sample, each row's entries are looked for in the index table, and each
 * entry's row in the fact table: its cost is that of the blocks in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(indextable_verify);

#define BUCKETS				65536

/* Sums over the entries of the rows in a bucket. */
typedef struct Bucket
{
	uint64		expected;
	uint64		found;
} Bucket;

/* What the tables are read for. */
typedef enum Reading
{
	READ_SUMS,					/* of all buckets */
	READ_ENTRIES,				/* of those that differ */
	READ_REJECTED,				/* rows, to tell of them */
	READ_SAMPLE					/* of the blocks of both tables */
} Reading;

typedef struct Verify
{
	IndexDef   *def;
	FactDef    *factdef;
	Relation	fact;
	Relation	index_table;
	Snapshot	snapshot;
	double		sample;			/* percent of the blocks; 100: all */
	uint32		seed;			/* of the choice */
	Bucket	   *buckets;
	Reading		reading;
	MemoryContext cxt;			/* of a row */
	bool		careful;		/* rows raise errors */
	bool		any_rejected;
	int64		misplaced;		/* entries in a partition that does not take them */
	Tuplesortstate *expected;	/* their entries, by identity */
	Tuplesortstate *found;
	LiveScan	rows;			/* of the fact table, by primary key */
	Probe		entries;		/* of the index table, by identity */
	HTAB	   *away;			/* hashes of keys of rows on other servers, or NULL */
	HTAB	   *queued;			/* hashes of keys whose changes are queued, or NULL */
	discrepancy_handler handler;
	void	   *arg;
} Verify;

typedef struct Row
{
	Verify	   *v;
	TupleTableSlot *slot;
	Entries		entries;
	Rejection	rejection;
} Row;

static bool sums_differ(Verify *v);
static void read_and_compare(Verify *v);
static void read_expected(Verify *v);
static void read_rows(void *arg);
static void note_away(Verify *v, TupleTableSlot *row);
static void extract_row(Row *row);
static void read_row(void *arg);
static void read_found(Verify *v);
static void expect_like(Verify *v, TupleTableSlot *entry);
static void take_entry(Verify *v, Datum *values, bool *isnull, bool expected);
static uint64 hash_column(Datum value, bool isnull, Form_pg_attribute att, uint64 seed);
static void compare(Verify *v);
static bool next_entry(Verify *v, Tuplesortstate *sort, TupleTableSlot *slot);
static int	compare_slots(IndexDef *def, TupleTableSlot *a, TupleTableSlot *b);
static bool same_entry(IndexDef *def, TupleTableSlot *a, TupleTableSlot *b);
static uint64 row_hash(Verify *v, Datum *values, bool *isnull);
static void read_queue(Verify *v);
static void tell(Verify *v, TupleTableSlot *expected, TupleTableSlot *found);
static void check_setup(IndexDef *def, Relation fact, Relation index_table,
						discrepancy_handler handler, void *arg);
static void put_discrepancy(Discrepancy *d, void *arg);

/*
 * verify_index_table
 *		Calls the handler for each entry that is not as it should be, in the order
 *		of the index table, and for each row that cannot have its entries.
 */
void
verify_index_table(Oid index_table, double sample, discrepancy_handler handler, void *arg)
{
	Verify		v = {.handler = handler,.arg = arg,.sample = sample};
	int			nestlevel = NewGUCNestLevel();

	fix_settings();
	v.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable verify", ALLOCSET_DEFAULT_SIZES);
	v.seed = pg_prng_uint32(&pg_global_prng_state);
	v.def = definition_open(index_table, &v.factdef, &v.fact, &v.index_table);
	if (v.def == NULL)
		not_an_index_table(index_table);
	PG_TRY();
	{
		v.snapshot = agree_on_snapshots(v.factdef, v.fact);
		wait_point("verify has its snapshot");
		PushActiveSnapshot(v.snapshot);
		check_setup(v.def, v.fact, v.index_table, handler, arg);
		if (sample < 100)
		{
			v.reading = READ_SAMPLE;
			v.careful = v.def->filter != NULL || v.factdef->users_code;
			read_and_compare(&v);
		}
		else if (sums_differ(&v))
		{
			v.reading = READ_ENTRIES;
			v.misplaced = 0;
			read_and_compare(&v);
		}
		if (v.misplaced > 0)
		{
			Discrepancy d = {.kind = "setup",.def = v.def};

			d.problem = psprintf(INT64_FORMAT " entries are in partitions whose bounds do not include their keys, for example after a change of a collation; run CALL indextable.rebuild()",
								 v.misplaced);
			handler(&d, arg);
		}
		if (v.any_rejected)
		{
			v.reading = READ_REJECTED;
			read_expected(&v);
		}
		PopActiveSnapshot();
		UnregisterSnapshot(v.snapshot);
	}
	PG_CATCH();
	{
		definition_unpin(v.factdef);
		PG_RE_THROW();
	}
	PG_END_TRY();
	definition_unpin(v.factdef);
	relation_close(v.index_table, NoLock);
	relation_close(v.fact, NoLock);
	MemoryContextDelete(v.cxt);
	AtEOXact_GUC(false, nestlevel);
}

/* sums_differ: in any bucket */
static bool
sums_differ(Verify *v)
{
	bool		differ = false;
	int			i;

	v->buckets = palloc0(sizeof(Bucket) * BUCKETS);
	read_expected(v);
	read_found(v);
	for (i = 0; i < BUCKETS; i++)
		differ |= v->buckets[i].expected != v->buckets[i].found;
	return differ;
}

/* read_and_compare: entries, one by one */
static void
read_and_compare(Verify *v)
{
	v->expected = begin_entry_sort(v->def);
	v->found = begin_entry_sort(v->def);
	live_scan_begin(&v->rows, v->factdef, v->fact, v->snapshot);
	probe_begin(&v->entries, v->def, v->index_table, v->snapshot);
	read_expected(v);
	read_found(v);
	probe_end(&v->entries);
	tuplesort_performsort(v->expected);
	tuplesort_performsort(v->found);
	if (v->def->async)
		read_queue(v);
	compare(v);
	live_scan_end(&v->rows);
	tuplesort_end(v->expected);
	tuplesort_end(v->found);
}

/*
 * read_expected
 *		The entries that the fact rows ask for.  A row that raises an error, in a
 *		filter maybe, must not hide the others: then each is tried by itself, and
 *		all are read again.
 */
static void
read_expected(Verify *v)
{
	ErrorData  *error;
	int			i;

	if (v->reading == READ_SUMS)
	{
		error = attempt(read_rows, v);
		if (error == NULL)
			return;
		FreeErrorData(error);
		v->careful = true;
		for (i = 0; i < BUCKETS; i++)
			v->buckets[i].expected = 0;
	}
	read_rows(v);
}

static void
read_rows(void *arg)
{
	Verify	   *v = arg;
	BlockScan	scan;
	TupleTableSlot *slot;
	Caller		caller;

	become_owner(&caller, v->factdef->owner);
	sample_begin(&scan, v->factdef, v->fact, v->snapshot, v->sample, v->seed);
	while ((slot = sample_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(v->cxt);
		Row			row = {.v = v,.slot = slot};
		int			i;

		CHECK_FOR_INTERRUPTS();
		if (scan.foreign != NULL && !in_bounds(v->factdef, v->fact, RelationGetRelid(scan.rel), slot))
		{
			row.rejection.sqlstate = ERRCODE_CHECK_VIOLATION;
			row.rejection.message = psprintf("row is in foreign partition \"%s\", whose bounds do not include it",
											 RelationGetRelationName(scan.rel));
			row.entries.n = 0;
		}
		else
		{
			extract_row(&row);
			if (scan.foreign != NULL && v->reading == READ_ENTRIES)
				note_away(v, slot);
		}
		for (i = 0; i < row.entries.n && v->reading != READ_REJECTED; i++)
		{
			Datum	   *values = ENTRY_VALUES(&row.entries, i);
			TupleTableSlot *found;

			take_entry(v, values, ENTRY_NULLS(&row.entries, i), true);
			if (v->reading == READ_SAMPLE && (found = probe_entry(&v->entries, values)) != NULL)
				take_entry(v, found->tts_values, found->tts_isnull, false);
		}
		if (row.rejection.sqlstate != 0)
		{
			Discrepancy d = {.kind = "rejected",.def = v->def,.row = slot,.problem = row.rejection.message};

			v->any_rejected = true;
			if (v->reading == READ_REJECTED)
				v->handler(&d, v->arg);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(v->cxt);
	}
	sample_end(&scan);
	become_caller(&caller);
}

/* note_away: that there is a row on another server, if its bucket differs: saves asking for it */
static void
note_away(Verify *v, TupleTableSlot *row)
{
	uint64		hash = 0;
	int			i;

	for (i = 0; i < v->factdef->npk; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(row, v->factdef->pk_attno[i], &isnull);

		hash = hash_column(value, isnull, TupleDescAttr(v->factdef->desc, v->factdef->pk_attno[i] - 1), hash);
	}
	if (v->buckets[hash % BUCKETS].expected == v->buckets[hash % BUCKETS].found)
		return;
	if (v->away == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(uint64);
		ctl.entrysize = sizeof(uint64);
		ctl.hcxt = MemoryContextGetParent(v->cxt);
		v->away = hash_create("rows on other servers", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	hash_search(v->away, &hash, HASH_ENTER, NULL);
}

/* extract_row: one that raises an error is rejected, and has no entries */
static void
extract_row(Row *row)
{
	ErrorData  *error = NULL;

	if (row->v->careful)
		error = attempt(read_row, row);
	else
		read_row(row);
	if (error != NULL)
	{
		row->rejection.sqlstate = error->sqlerrcode;
		row->rejection.message = error->message;
		row->entries.n = 0;
	}
}

/* read_row: see attempt(), whose memory is gone when we come to the entries */
static void
read_row(void *arg)
{
	Row		   *row = arg;
	Verify	   *v = row->v;
	MemoryContext old = MemoryContextSwitchTo(v->cxt);
	FactRow		factrow;

	factrow_init(&factrow, v->factdef, row->slot);
	factrow.rejection = &row->rejection;
	entries_init(&row->entries, v->def);
	extract_entries(v->def, &factrow, true, &row->entries);
	MemoryContextSwitchTo(old);
}

/* read_found: the entries that are there */
static void
read_found(Verify *v)
{
	BlockScan	scan;
	TupleTableSlot *slot;

	sample_begin(&scan, NULL, v->index_table, v->snapshot, v->sample, v->seed);
	while ((slot = sample_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(v->cxt);

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		if (v->def->parts != NULL &&
			part_for(v->index_table, slot->tts_values[v->def->fields[v->def->part_field].attno - 1]) !=
			RelationGetRelid(scan.rel))
			v->misplaced++;
		take_entry(v, slot->tts_values, slot->tts_isnull, false);
		if (v->reading == READ_SAMPLE)
			expect_like(v, slot);
		MemoryContextSwitchTo(old);
		MemoryContextReset(v->cxt);
	}
	sample_end(&scan);
}

/* expect_like: the entry that the row of an entry asks for in its place, if it does */
static void
expect_like(Verify *v, TupleTableSlot *entry)
{
	Row			row = {.v = v};
	Datum		key[INDEX_MAX_KEYS];
	Caller		caller;
	int			i;

	for (i = 0; i < v->factdef->npk; i++)
		key[i] = entry->tts_values[v->def->pk_attno[i] - 1];
	row.slot = live_scan_first(&v->rows, key);
	if (row.slot == NULL)
		return;
	become_owner(&caller, v->factdef->owner);
	extract_row(&row);
	for (i = 0; i < row.entries.n; i++)
		if (compare_identity(v->def, ENTRY_VALUES(&row.entries, i), entry->tts_values) == 0)
			take_entry(v, ENTRY_VALUES(&row.entries, i), ENTRY_NULLS(&row.entries, i), true);
	become_caller(&caller);
}

/* take_entry: into the sums, or for comparison unless its bucket is right */
static void
take_entry(Verify *v, Datum *values, bool *isnull, bool expected)
{
	IndexDef   *def = v->def;
	uint64		entry = 0;
	Bucket	   *bucket = v->buckets == NULL ? NULL : &v->buckets[row_hash(v, values, isnull) % BUCKETS];
	int			i;

	if (v->reading != READ_SUMS)
	{
		TupleTableSlot *slot;

		if (bucket != NULL && bucket->expected == bucket->found)
			return;
		slot = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
		memcpy(slot->tts_values, values, sizeof(Datum) * def->desc->natts);
		memcpy(slot->tts_isnull, isnull, sizeof(bool) * def->desc->natts);
		ExecStoreVirtualTuple(slot);
		tuplesort_puttupleslot(expected ? v->expected : v->found, slot);
		ExecDropSingleTupleTableSlot(slot);
		return;
	}
	for (i = 0; i < def->desc->natts; i++)
		entry = hash_column(values[i], isnull[i], TupleDescAttr(def->desc, i), entry);
	*(expected ? &bucket->expected : &bucket->found) += entry;
}

/* mix: every bit of the result depends on every bit; 64-bit finalizer of MurmurHash3 */
static inline uint64
mix(uint64 x)
{
	x ^= x >> 33;
	x *= UINT64CONST(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/* hash_column: of the bytes of a value, whether compressed or not */
static uint64
hash_column(Datum value, bool isnull, Form_pg_attribute att, uint64 seed)
{
	if (att->attisdropped || isnull)
		return hash_bytes_extended((unsigned char *) "", 0, seed + 1);
	if (att->attbyval)
		return mix(seed + value + UINT64CONST(0x9e3779b97f4a7c15));	/* not 0 for 0 */
	if (att->attlen == -1)
	{
		struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

		return hash_bytes_extended((unsigned char *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), seed);
	}
	return hash_bytes_extended((unsigned char *) DatumGetPointer(value),
							   att->attlen == -2 ? strlen(DatumGetCString(value)) : (Size) att->attlen, seed);
}

/* row_hash: of the primary key in an entry */
static uint64
row_hash(Verify *v, Datum *values, bool *isnull)
{
	uint64		hash = 0;
	int			i;

	for (i = 0; i < v->factdef->npk; i++)
	{
		AttrNumber	attno = v->def->pk_attno[i];

		hash = hash_column(values[attno - 1], isnull[attno - 1],
						   TupleDescAttr(v->def->desc, attno - 1), hash);
	}
	return hash;
}

/*
 * read_queue
 *		The rows whose changes are queued, as the snapshot sees it: their entries may
 *		be behind.
 */
static void
read_queue(Verify *v)
{
	Oid			tables[2] = {v->factdef->queue, v->factdef->spare};
	HASHCTL		ctl;
	int			i;

	ctl.keysize = sizeof(uint64);
	ctl.entrysize = sizeof(uint64);
	ctl.hcxt = CurrentMemoryContext;
	v->queued = hash_create("queued rows", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (i = 0; i < 2; i++)
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
			uint64		hash = 0;
			int			k;

			CHECK_FOR_INTERRUPTS();
			slot_getallattrs(slot);
			for (k = 0; k < v->factdef->npk; k++)
				hash = hash_column(slot->tts_values[QUEUE_KEY - 1 + k],
								   slot->tts_isnull[QUEUE_KEY - 1 + k],
								   TupleDescAttr(slot->tts_tupleDescriptor, QUEUE_KEY - 1 + k), hash);
			hash_search(v->queued, &hash, HASH_ENTER, NULL);
		}
		ExecDropSingleTupleTableSlot(slot);
		table_endscan(scan);
		relation_close(rel, NoLock);
	}
}

/* next_entry: in order; in a sample, it may be there twice, by way of its row and by itself */
static bool
next_entry(Verify *v, Tuplesortstate *sort, TupleTableSlot *slot)
{
	TupleTableSlot *last = NULL;
	bool		more;

	if (v->reading == READ_SAMPLE && !TTS_EMPTY(slot))
	{
		last = MakeSingleTupleTableSlot(v->def->desc, &TTSOpsMinimalTuple);
		ExecCopySlot(last, slot);
	}
	do
		more = tuplesort_gettupleslot(sort, true, true, slot, NULL);
	while (more && last != NULL && compare_slots(v->def, last, slot) == 0);
	if (last != NULL)
		ExecDropSingleTupleTableSlot(last);
	return more;
}

/* compare: the entries of buckets that differ, expected and found, both in order */
static void
compare(Verify *v)
{
	TupleTableSlot *expected = MakeSingleTupleTableSlot(v->def->desc, &TTSOpsMinimalTuple);
	TupleTableSlot *found = MakeSingleTupleTableSlot(v->def->desc, &TTSOpsMinimalTuple);
	TupleTableSlot *last = MakeSingleTupleTableSlot(v->def->desc, &TTSOpsMinimalTuple);
	bool		is_expected = next_entry(v, v->expected, expected);
	bool		is_found = next_entry(v, v->found, found);

	while (is_expected || is_found)
	{
		int			c = !is_expected ? 1 : !is_found ? -1 : compare_slots(v->def, expected, found);

		CHECK_FOR_INTERRUPTS();
		/* Only on another server can two rows have the same primary key. */
		if (c < 0 && !TTS_EMPTY(last) && compare_slots(v->def, last, expected) == 0)
		{
			Discrepancy d = {.kind = "rejected",.def = v->def,.expected = expected,
			.problem = "another row of a foreign partition has the same primary key"};

			v->handler(&d, v->arg);
		}
		else if (c != 0 || !same_entry(v->def, expected, found))
			tell(v, c <= 0 ? expected : NULL, c >= 0 ? found : NULL);
		if (c <= 0)
		{
			if (v->factdef->partitioned && !OidIsValid(v->factdef->pk_index))
				ExecCopySlot(last, expected);
			is_expected = next_entry(v, v->expected, expected);
		}
		if (c >= 0)
			is_found = next_entry(v, v->found, found);
	}
	ExecDropSingleTupleTableSlot(expected);
	ExecDropSingleTupleTableSlot(found);
	ExecDropSingleTupleTableSlot(last);
}

static int
compare_slots(IndexDef *def, TupleTableSlot *a, TupleTableSlot *b)
{
	slot_getallattrs(a);
	slot_getallattrs(b);
	return compare_identity(def, a->tts_values, b->tts_values);
}

static bool
same_entry(IndexDef *def, TupleTableSlot *a, TupleTableSlot *b)
{
	return entry_equal(def, a->tts_values, a->tts_isnull, b->tts_values, b->tts_isnull);
}

/* tell: what is wrong with an entry; one that should not be there may be of a row that is gone */
static void
tell(Verify *v, TupleTableSlot *expected, TupleTableSlot *found)
{
	TupleTableSlot *entry = expected != NULL ? expected : found;
	Discrepancy d = {.def = v->def,.expected = expected,.found = found};
	Datum		key[INDEX_MAX_KEYS];
	uint64		hash;
	int			i;

	slot_getallattrs(entry);
	hash = row_hash(v, entry->tts_values, entry->tts_isnull);
	if (v->queued != NULL && hash_search(v->queued, &hash, HASH_FIND, NULL) != NULL)
		return;
	for (i = 0; i < v->factdef->npk; i++)
		key[i] = entry->tts_values[v->def->pk_attno[i] - 1];
	if (found == NULL)
	{
		if (v->def->async)
			d.problem = rejection_of(v->factdef, v->def->relid, key);
		d.kind = d.problem != NULL ? "rejected" : "missing";
	}
	else if (expected != NULL)
		d.kind = "stale";
	else if (v->reading == READ_ENTRIES && live_scan_is_foreign(&v->rows, key))
		d.kind = v->away != NULL && hash_search(v->away, &hash, HASH_FIND, NULL) != NULL ? "stale" : "dangling";
	else
		d.kind = live_scan_first(&v->rows, key) != NULL ? "stale" : "dangling";
	v->handler(&d, v->arg);
}

/* check_setup: what entries rest on */
static void
check_setup(IndexDef *def, Relation fact, Relation index_table, discrepancy_handler handler, void *arg)
{
	Discrepancy d = {.kind = "setup",.def = def};

#define CHECK_THAT(condition, text) \
	if (!(condition)) \
	{ \
		d.problem = text; \
		handler(&d, arg); \
	}
	CHECK_THAT(triggers_intact(def->fact->relid),
			   "triggers of the fact table that maintain the index table are disabled or missing");
	CHECK_THAT(guards_intact(def->relid),
			   "triggers that protect the index table against other writes are disabled or missing");
	CHECK_THAT(index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
			   "only one of index table and fact table is unlogged");
	CHECK_THAT(index_table->rd_rel->relowner == fact->rd_rel->relowner,
			   "index table and fact table have different owners");
	CHECK_THAT(!def->async || OidIsValid(def->row_index),
			   "index table has no index on the primary key of the fact table");
	CHECK_THAT(!def->async || !def->fact->queue_lost,
			   "queue table of the fact table was dropped with changes that had not been applied");
	CHECK_THAT(!is_subscribed(def->relid),
			   "index table is also written by a subscription; remove it from the publication");
	CHECK_THAT(def->active, "state of the index table is not active");
#undef CHECK_THAT
}

/* value_to_jsonb: as to_jsonb() makes it */
static Jsonb *
value_to_jsonb(Datum value, Oid type)
{
	FmgrInfo	function;
	Const	   *arg = makeNullConst(type, -1, InvalidOid);
	FuncExpr   *call = makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(arg), InvalidOid, InvalidOid,
									COERCE_EXPLICIT_CALL);

	fmgr_info(F_TO_JSONB, &function);
	fmgr_info_set_expr((Node *) call, &function);
	return DatumGetJsonbP(FunctionCall1(&function, value));
}

/* columns_to_jsonb: {"column": value, ...} of some columns of a row; a type may have a cast that is its owner's */
Datum
columns_to_jsonb(Oid owner, TupleTableSlot *slot, AttrNumber *columns, int n)
{
	JsonbInState state = {0};
	Jsonb	   *result;
	Caller		caller;
	int			i;

	become_owner(&caller, owner);

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (i = 0; i < n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, columns[i] - 1);
		JsonbValue	value;
		bool		isnull;
		Datum		datum = slot_getattr(slot, columns[i], &isnull);

		value.type = jbvString;
		value.val.string.val = NameStr(att->attname);
		value.val.string.len = strlen(NameStr(att->attname));
		pushJsonbValue(&state, WJB_KEY, &value);
		value.type = jbvNull;
		if (!isnull)
		{
			Jsonb	   *json = value_to_jsonb(datum, att->atttypid);

			if (!JsonContainerIsScalar(&json->root) || !JsonbExtractScalar(&json->root, &value))
			{
				value.type = jbvBinary;
				value.val.binary.data = &json->root;
				value.val.binary.len = VARSIZE(json) - VARHDRSZ;
			}
		}
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	result = JsonbValueToJsonb(state.result);
	become_caller(&caller);
	return JsonbPGetDatum(result);
}

/*
 * indextable_verify
 *		verify(index_table regclass, sample float8, OUT kind text, OUT key jsonb, OUT
 *		primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text)
 */
Datum
indextable_verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	double		sample = PG_ARGISNULL(1) ? 100 : PG_GETARG_FLOAT8(1);

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	if (!(sample > 0 && sample <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample must be greater than 0 and at most 100"),
				 errdetail("It is a percentage of both tables.")));
	if (OidIsValid(catalog_fact_of(relid)) && !owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	forget_dangling(InvalidOid);
	verify_index_table(relid, sample, put_discrepancy, rsinfo);
	return (Datum) 0;
}

/* discrepancy_key: the primary key of the row it is about, NULL: it is about none */
Jsonb *
discrepancy_key(Discrepancy *d)
{
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;

	if (entry != NULL)
		return DatumGetJsonbP(columns_to_jsonb(d->def->fact->owner, entry, d->def->pk_attno, d->def->fact->npk));
	if (d->row != NULL)
		return DatumGetJsonbP(columns_to_jsonb(d->def->fact->owner, d->row, d->def->fact->pk_attno, d->def->fact->npk));
	return NULL;
}

static void
put_discrepancy(Discrepancy *d, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "discrepancy", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;
	AttrNumber *payload = palloc(sizeof(AttrNumber) * d->def->desc->natts);
	int			npayload = 0;
	Datum		values[6] = {0};
	bool		isnull[6];
	int			i;

	for (i = d->def->nkeys; i < d->def->nkeys + d->def->nincludes; i++)
		payload[npayload++] = d->def->fields[i].attno;
	if (d->def->doc_attno != 0)
		payload[npayload++] = d->def->doc_attno;

	memset(isnull, true, sizeof(isnull));
#define PUT(i, datum)	(values[i] = (datum), isnull[i] = false)
	PUT(0, CStringGetTextDatum(d->kind));
	if (entry != NULL)
		PUT(1, columns_to_jsonb(d->def->fact->owner, entry, d->def->ident, d->def->nkeys));
	if (entry != NULL || d->row != NULL)
		PUT(2, JsonbPGetDatum(discrepancy_key(d)));
	if (d->expected != NULL)
		PUT(3, columns_to_jsonb(d->def->fact->owner, d->expected, payload, npayload));
	if (d->found != NULL)
		PUT(4, columns_to_jsonb(d->def->fact->owner, d->found, payload, npayload));
	if (d->problem != NULL)
		PUT(5, CStringGetTextDatum(d->problem));
#undef PUT
	MemoryContextSwitchTo(old);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	MemoryContextDelete(cxt);
}
