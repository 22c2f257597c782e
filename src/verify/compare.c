/*-------------------------------------------------------------------------
 *
 * compare.c
 *	  indextable.verify(): compares index tables with what their fact table asks for.
 *
 * Both tables are read once, with one snapshot.  The entries that should be there
 * and the entries that are there are summed up by hashes, in buckets by primary
 * key.  Where the sums of a bucket differ, and only there, a second reading with
 * the same snapshot compares entry by entry: what is right costs two sequential
 * scans, and no sort.
 *
 * Writers at work do not look like discrepancies: a writer changes the row and its
 * entries in one transaction, and so the snapshot sees both changes or neither.
 * For an asynchronous index table, the writer changes the row and queues its key in
 * one transaction, and a drain writes the entries and deletes the key in another.
 * So a row whose entries are behind has its key in the queue, as the snapshot sees
 * it; such rows are not reported.
 *
 * If only a sample is read, each of its rows' entries is looked up in the index
 * table, and the row of each of its entries is looked up in the fact table.  That
 * costs as much as the blocks in the sample.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/tuplestore.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "verify.h"

static bool may_remove_records(Verify *v);
static void lock_partitions(Oid fact);
static void report_unrecorded(Verify *v);
static void compare_rows(Verify *v);
static bool sums_differ(Verify *v);
static void read_and_compare(Verify *v);
static bool read_sorted_entry(Verify *v, Tuplesortstate *sort, TupleTableSlot *slot);
static void compare_differing_buckets(Verify *v);
static int	compare_slots(IndexDef *def, TupleTableSlot *a, TupleTableSlot *b);
static void report_discrepancy(Verify *v, TupleTableSlot *expected, TupleTableSlot *found);
static int	payload_columns(IndexDef *def, AttrNumber *columns);

PG_FUNCTION_INFO_V1(indextable_verify);

/*
 * verify_index_table
 *		Calls the handler for each entry that is not as it should be, in the order
 *		of the index table, and for each row that cannot have its entries.
 *
 * sample is the percentage of both tables' blocks that are read; 100 reads all.
 */
void
verify_index_table(Oid index_table, double sample, discrepancy_handler handler, void *arg)
{
	Verify		v = {.handler = handler,.arg = arg,.sample = sample};
	int			nestlevel = NewGUCNestLevel();

	Oid			lacking = lacks_primary_key(index_table);

	/* Without it, no definition of the fact table can be loaded. */
	if (OidIsValid(lacking))
	{
		report_problem(NULL,
					   problem_to_repair(psprintf("index table %s has no primary key", quoted_relation(lacking)),
										 lacking),
					   false, handler, arg);
		AtEOXact_GUC(false, nestlevel);
		return;
	}
	fix_gucs();
	v.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable verify", ALLOCSET_DEFAULT_SIZES);
	v.sums = palloc0(sizeof(Sums));
	v.seed = pg_prng_uint32(&pg_global_prng_state);
	v.def = definition_open(index_table, &v.fact, &v.index_table);
	if (v.def == NULL)
		report_not_index_table(index_table);
	if (!owns_relation(v.def->fact->relid, GetUserId()))
		require_owner(index_table);
	refuse_put_off(index_table);
	if (may_remove_records(&v))
		v.locked_records = lock_records(v.def);
	note_fed_rows(&v);
	lock_partitions(v.def->fact->relid);
	if (queue_pending(v.def->fact->relid))
	{
		/* What this transaction has changed so far is to be seen as queued. */
		queue_write();
		CommandCounterIncrement();
	}
	v.snapshot = elsewhere->snapshots->get(v.def->fact, v.fact);
	note_fed_rows(&v);
	wait_point("verify has its snapshot");
	PushActiveSnapshot(v.snapshot);
	if (v.def->fact->place->definitions == NULL)
		check_setup(v.def, v.fact, v.index_table, handler, arg);
	if (v.feed_problem != NULL)
		report_problem(v.def, v.feed_problem, true, handler, arg);
	if (v.def->misplaced == NULL && v.def->fact->place->index_tables->verify != NULL)
		v.def->fact->place->index_tables->verify(v.def, sample, 0, handler, arg);
	else if (is_totals(v.def))
	{
		v.sums->lacking = v.sums->lacking_queued = verify_totals(v.def, v.fact, v.index_table, v.snapshot,
																 handler, arg);
		report_unrecorded(&v);
	}
	else if (v.def->misplaced == NULL)
		compare_rows(&v);
	PopActiveSnapshot();
	UnregisterSnapshot(v.snapshot);
	remove_unneeded_records(v.def, v.locked_records, v.sums->any_rejected ? ~(uint64) 0 : v.sums->lacking_queued);
	relation_close(v.index_table, NoLock);
	relation_close(v.fact, NoLock);
	MemoryContextDelete(v.cxt);
	AtEOXact_GUC(false, nestlevel);
}

/*
 * may_remove_records
 *		Returns whether records of rows that lack entries may be removed if no such row is found.
 *
 * All rows have to be read here, and not on other servers, with a snapshot that is taken
 * afterwards.  An older snapshot of this transaction would not see a record that it has
 * removed itself, but may see such a row; and what this transaction has written may not be
 * complete yet.  A session that has the library of 1.1 keeps no record: where the catalog is
 * of 1.1 there may be some, and before it is updated they have to end.
 */
static bool
may_remove_records(Verify *v)
{
	return v->sample >= 100 && v->def->active && v->def->misplaced == NULL &&
		v->def->fact->place->index_tables->verify == NULL &&
		(!v->def->fact->layout.partitioned || OidIsValid(v->def->fact->layout.pk_index)) &&
		!RecoveryInProgress() && !XactReadOnly && !IsolationUsesXactSnapshot() && !written_by_us(v->def->fact) &&
		!catalog_is_old();
}

/*
 * lock_partitions
 *		Locks the partitions of a fact table that are on this server, before a snapshot is taken.
 *
 * TRUNCATE empties a partition for older snapshots, too, which still see the entries.  A
 * transaction that has waited for it must not have such a snapshot.
 */
static void
lock_partitions(Oid fact)
{
	foreach_oid(relid, list_with_partitions(fact))
	{
		if (relid != fact && !elsewhere->has(relid))
			(void) lock_if_exists(relid, AccessShareLock);
	}
}

/* compare_entries: reads both tables, and reports the entries that are not as they should be */
void
compare_entries(Verify *v)
{
	if (!sums_differ(v))
		return;
	v->reading = READ_ENTRIES;
	v->sums->misplaced = 0;
	read_and_compare(v);
}

/* report_rejected: reports the rows that cannot have their entries, if any were found */
void
report_rejected(Verify *v)
{
	if (!v->sums->any_rejected)
		return;
	v->reading = READ_REJECTED;
	read_fact_table(v);
}

/* report_unrecorded: reports what rows are like, if that is not recorded although it has to be */
static void
report_unrecorded(Verify *v)
{
	v->sums->lacking = lacking_unrecorded(v->def, v->sums->lacking, v->snapshot);
	if (v->sums->lacking != 0)
	{
		Discrepancy d = {.kind = KIND_SETUP,.def = v->def,.lacking = v->sums->lacking};

		d.problem = problem_to_repair("rows lack entries, as they may, but that is not recorded", v->def->relid);
		v->handler(&d, v->arg);
	}
}

/* compare_rows: calls the handler for each discrepancy between the rows and the entries */
static void
compare_rows(Verify *v)
{
	if (v->sample < 100)
	{
		v->reading = READ_SAMPLE;
		v->catch_errors = v->def->spec.filter != NULL || v->def->fact->users_code;
		read_and_compare(v);
	}
	else
		compare_entries(v);
	report_unrecorded(v);
	if (v->sums->misplaced > 0)
		report_problem(v->def, psprintf(INT64_FORMAT " entries are in partitions whose bounds do not include their keys, for example after a change of a collation; run %s",
										v->sums->misplaced, told_call("rebuild", v->def->relid)),
					   true, v->handler, v->arg);
	report_rejected(v);
}

/* sums_differ: reads both tables, and returns whether the sums of any bucket differ */
static bool
sums_differ(Verify *v)
{
	bool		differ = false;

	if (!sum_up_in_parallel(v))
	{
		read_fact_table(v);
		read_index_table(v);
	}
	for (int i = 0; i < BUCKETS; i++)
		differ |= v->sums->buckets[i].expected != v->sums->buckets[i].found;
	return differ;
}

/*
 * read_and_compare
 *		Reads both tables, and compares the entries one by one in the order of the index
 *		table.
 */
static void
read_and_compare(Verify *v)
{
	v->expected = bulk_load_begin_sort(v->def);
	v->found = bulk_load_begin_sort(v->def);
	if (v->shard == NULL)
	{
		live_scan_begin(&v->rows, v->def->fact, v->fact, v->snapshot, NULL);
		probe_begin(&v->entries, v->def, v->index_table, v->snapshot);
	}
	read_fact_table(v);
	read_index_table(v);
	if (v->shard == NULL)
		entry_scan_end(&v->entries);
	tuplesort_performsort(v->expected);
	tuplesort_performsort(v->found);
	if (v->def->spec.async)
		note_queued_rows(v);
	compare_differing_buckets(v);
	if (v->shard == NULL)
		live_scan_end(&v->rows);
	tuplesort_end(v->expected);
	tuplesort_end(v->found);
}

/*
 * read_sorted_entry
 *		Fetches the next sorted entry, or returns false if there is none.
 *
 * Of a sample an entry may have been read twice, because its row is in the sample
 * and because it is itself.  Such an entry is returned once.
 */
static bool
read_sorted_entry(Verify *v, Tuplesortstate *sort, TupleTableSlot *slot)
{
	TupleTableSlot *last = NULL;
	bool		more;

	if (v->reading == READ_SAMPLE && !TTS_EMPTY(slot))
	{
		last = MakeSingleTupleTableSlot(v->def->layout.desc, &TTSOpsMinimalTuple);
		ExecCopySlot(last, slot);
	}
	do
		more = tuplesort_gettupleslot(sort, true, true, slot, NULL);
	while (more && last != NULL && compare_slots(v->def, last, slot) == 0);
	if (last != NULL)
		ExecDropSingleTupleTableSlot(last);
	return more;
}

/*
 * compare_differing_buckets
 *		Merges the expected entries and those found, which are both sorted, and
 *		reports those that are not the same on both sides.
 */
static void
compare_differing_buckets(Verify *v)
{
	TupleTableSlot *expected = MakeSingleTupleTableSlot(v->def->layout.desc, &TTSOpsMinimalTuple);
	TupleTableSlot *found = MakeSingleTupleTableSlot(v->def->layout.desc, &TTSOpsMinimalTuple);
	TupleTableSlot *last = MakeSingleTupleTableSlot(v->def->layout.desc, &TTSOpsMinimalTuple);
	bool		is_expected = read_sorted_entry(v, v->expected, expected);
	bool		is_found = read_sorted_entry(v, v->found, found);

	while (is_expected || is_found)
	{
		int			c = !is_expected ? 1 : !is_found ? -1 : compare_slots(v->def, expected, found);

		CHECK_FOR_INTERRUPTS();
		/* Only on another server can two rows have the same primary key. */
		if (c < 0 && !TTS_EMPTY(last) && compare_slots(v->def, last, expected) == 0)
		{
			Discrepancy d = {.kind = KIND_REJECTED,.def = v->def,.expected = expected,
			.problem = "another row of a foreign partition has the same primary key"};

			v->handler(&d, v->arg);
		}
		else if (c != 0 ||
				 !entry_equal(v->def, expected->tts_values, expected->tts_isnull, found->tts_values,
							  found->tts_isnull))
			report_discrepancy(v, c <= 0 ? expected : NULL, c >= 0 ? found : NULL);
		if (c <= 0)
		{
			if (v->def->fact->layout.partitioned && !OidIsValid(v->def->fact->layout.pk_index))
				ExecCopySlot(last, expected);
			is_expected = read_sorted_entry(v, v->expected, expected);
		}
		if (c >= 0)
			is_found = read_sorted_entry(v, v->found, found);
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
	return compare_identity(def, a->tts_values, a->tts_isnull, b->tts_values, b->tts_isnull);
}

/*
 * report_discrepancy
 *		Calls the handler for an entry that is missing (found is NULL), that should
 *		not be there (expected is NULL), or that differs (neither is NULL).
 *
 * An entry that should not be there is dangling if its row no longer exists, and
 * stale if the row exists.  Nothing is reported of a row whose key is queued, here or in
 * a feed.
 */
static void
report_discrepancy(Verify *v, TupleTableSlot *expected, TupleTableSlot *found)
{
	TupleTableSlot *entry = expected != NULL ? expected : found;
	Discrepancy d = {.def = v->def,.expected = expected,.found = found};
	Datum		key[INDEX_MAX_KEYS];
	uint64		hash;

	slot_getallattrs(entry);
	hash = hash_primary_key(v, entry->tts_values, entry->tts_isnull);
	if (is_noted(v->queued_rows, hash))
		return;
	for (int i = 0; i < v->def->fact->layout.npk; i++)
		key[i] = entry->tts_values[v->def->layout.pk_attno[i] - 1];
	if (is_fed(v, key, hash))
		return;
	if (found == NULL)
	{
		if (v->def->spec.async)
			d.problem = rejection_of(v->def->fact, v->def->relid, key);
		d.kind = d.problem != NULL ? KIND_REJECTED : KIND_MISSING;
	}
	else if (expected != NULL)
		d.kind = KIND_STALE;
	else if (v->shard != NULL || (v->reading == READ_ENTRIES && live_scan_is_elsewhere(&v->rows, key)))
		d.kind = is_noted(v->foreign_rows, hash) ? KIND_STALE : KIND_DANGLING;
	else
		d.kind = live_scan_first(&v->rows, key) != NULL ? KIND_STALE : KIND_DANGLING;
	v->handler(&d, v->arg);
}

/*
 * indextable_verify
 *		verify(index_table regclass, sample float8, OUT kind text, OUT key jsonb, OUT
 *		primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text, OUT in_table
 *		regclass): index_table may be a fact table
 */
Datum
indextable_verify(PG_FUNCTION_ARGS)
{
	VerifyResult result = {(ReturnSetInfo *) fcinfo->resultinfo, InvalidOid};
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
	verify_require_owner(relid);
	forget_orphaned_rows(InvalidOid);
	foreach_oid(index_table, index_tables_of(relid))
	{
		result.index_table = index_table;
		if (index_table != relid && is_building(index_table))
			report_problem(NULL,
						   psprintf("index table is left out because it is being built; run %s",
									told_activation(index_table)),
						   true, put_discrepancy, &result);
		else
			verify_index_table(index_table, sample, put_discrepancy, &result);
	}
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 * What is found, as rows of verify().
 *-------------------------------------------------------------------------
 */

static const char *const kinds[KINDS] = {[KIND_MISSING] = "missing",
	[KIND_DANGLING] = "dangling",
	[KIND_STALE] = "stale",
	[KIND_REJECTED] = "rejected",
[KIND_SETUP] = "setup"};

/* discrepancy_kind: returns the kind that verify() calls by a name */
DiscrepancyKind
discrepancy_kind(const char *name)
{
	for (int i = 0; i < KINDS; i++)
		if (strcmp(kinds[i], name) == 0)
			return i;
	elog(ERROR, "verify() on another node has found the unknown kind \"%s\"", name);
}

/*
 * verify_require_owner
 *		Raises an error if a table is an index table or a fact table that is not the current
 *		user's.
 */
void
verify_require_owner(Oid relid)
{
	if (OidIsValid(catalog_fact_of(relid)) || catalog_has_fact(relid))
		require_owner(relid);
}

/*
 * payload_columns
 *		Sets columns to those that an entry has beside its key; returns how many there are.
 */
static int
payload_columns(IndexDef *def, AttrNumber *columns)
{
	int			n = 0;

	if (is_totals(def))
		return added_columns(def, columns);
	for (int i = def->spec.nkeys; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (!def->spec.fields[i].is_hint)
			columns[n++] = def->spec.fields[i].attno;
	if (def->layout.doc_attno != 0)
		columns[n++] = def->layout.doc_attno;
	if (def->layout.elements_attno != 0)
		columns[n++] = def->layout.elements_attno;
	return n;
}

/* put_discrepancy: adds a discrepancy to the result, as a row */
void
put_discrepancy(Discrepancy *d, void *arg)
{
	VerifyResult *result = arg;
	ReturnSetInfo *rsinfo = result->rsinfo;
	MemoryContext cxt;
	MemoryContext old;
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;
	AttrNumber *payload;
	int			npayload;
	Datum		values[VERIFY_COLUMNS] = {0};
	bool		isnull[VERIFY_COLUMNS];

	memset(isnull, true, sizeof(isnull));
#define PUT(i, datum)	(values[i] = (datum), isnull[i] = false)
	PUT(VERIFY_IN_TABLE, ObjectIdGetDatum(result->index_table));
	if (d->columns != NULL)
	{
		memcpy(values, d->columns, sizeof(Datum) * VERIFY_SHARD_COLUMNS);
		memcpy(isnull, d->isnull, sizeof(bool) * VERIFY_SHARD_COLUMNS);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
		return;
	}
	cxt = AllocSetContextCreate(CurrentMemoryContext, "discrepancy", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	payload = entry == NULL ? NULL : palloc(sizeof(AttrNumber) * d->def->layout.desc->natts);
	npayload = entry == NULL ? 0 : payload_columns(d->def, payload);

	PUT(VERIFY_KIND, CStringGetTextDatum(kinds[d->kind]));
	if (entry != NULL)
		PUT(VERIFY_KEY, columns_to_jsonb(d->def->fact->owner, entry, d->def->layout.ident, d->def->spec.nkeys));
	if (entry != NULL && !is_totals(d->def))
		PUT(VERIFY_PRIMARY_KEY,
			columns_to_jsonb(d->def->fact->owner, entry, d->def->layout.pk_attno, d->def->fact->layout.npk));
	if (d->row != NULL)
		PUT(VERIFY_PRIMARY_KEY,
			columns_to_jsonb(d->def->fact->owner, d->row, d->def->fact->layout.pk_attno,
							 d->def->fact->layout.npk));
	if (d->expected != NULL)
		PUT(VERIFY_EXPECTED, columns_to_jsonb(d->def->fact->owner, d->expected, payload, npayload));
	if (d->found != NULL)
		PUT(VERIFY_FOUND, columns_to_jsonb(d->def->fact->owner, d->found, payload, npayload));
	if (d->problem != NULL)
		PUT(VERIFY_PROBLEM, CStringGetTextDatum(d->problem));
#undef PUT
	MemoryContextSwitchTo(old);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	MemoryContextDelete(cxt);
}
