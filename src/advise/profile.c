/*-------------------------------------------------------------------------
 *
 * profile.c
 *	  Collects the numbers from which advise() judges, those of a sample of the fact
 *	  table's rows.
 *
 * The entries of the sample are made by the code that makes the entries of index
 * tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "../apply/apply.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/sql.h"
#include "advise.h"

/* The number of entries at which a sample ends, which matters if the key is an array. */
#define SAMPLE_ENTRIES	2000000

static void read_rows(Profile *p, Sample *sample, Tuplesortstate *sort);
static void read_row(Profile *p, TupleTableSlot *slot, Tuplesortstate *sort, TupleTableSlot *entry,
					 TupleDesc key, TupleDesc ident, MemoryContext cxt);
static void count_keys(Profile *p, Tuplesortstate *sort);
static void count_key(Profile *p, Datum *values, int64 n);
static bool is_number(Field *field, Datum value);

/*
 * Tables of up to this number of blocks are read whole, unless their documents are too
 * large. Of a larger table, this number of blocks is read first, to see how full blocks
 * are.
 */
#define PILOT_BLOCKS	100

/*
 * Rows of one block may be alike.  So the sample has up to this number of times the blocks
 * that its rows would need, and only some rows of each.
 */
#define SPREAD			4.0

static Size document_size(TupleTableSlot *slot, AttrNumber doc, Size *stored);
static void choose_sample(Sample *sample, AttrNumber doc, int rows, double bytes);

/*
 * profile_table
 *		Collects the numbers of a fact table in p, from a sample of at most this number of
 *		rows and bytes.
 *
 * p->row and p->def say which index table is in question; p->def is resolved and has
 * its columns.  Unless p->keep is set, it becomes a copy that is sparse: rows that lack key fields are
 * counted apart.
 */
void
profile_table(Profile *p, Relation fact, int rows, double bytes)
{
	Tuplesortstate *sort;
	Sample		sample;

	if (p->keep == 0)
	{
		IndexDef   *sparse = palloc(sizeof(IndexDef));

		*sparse = *p->def;
		sparse->spec.sparse = true;
		p->def = sparse;
	}
	sample_begin(&sample, p->def->fact, p->def->spec.fact_document, fact, rows, bytes);
	p->partitioned = p->def->fact->layout.partitioned;
	p->partitions = sample.partitions;
	for (int i = p->def->spec.nkeys; i < p->def->spec.nkeys + p->def->spec.nincludes; i++)
		*(p->def->spec.fields[i].is_hint ? &p->hinted : &p->shows_fields) = true;
	p->included = palloc0(sizeof(bool) * Max(p->def->spec.nincludes, 1));
	sort = bulk_load_begin_sort(p->def);
	read_rows(p, &sample, sort);
	tuplesort_performsort(sort);
	count_keys(p, sort);
	tuplesort_end(sort);
	sample_end(&sample);
}

/* read_rows: reads the rows of the sample, as the owner of the fact table, as create() would */
static void
read_rows(Profile *p, Sample *sample, Tuplesortstate *sort)
{
	IndexDef   *def = p->def;
	TupleDesc	ident = CreateTemplateTupleDesc(def->layout.nident);
	TupleDesc	key = CreateTemplateTupleDesc(def->spec.nkeys);
	TupleTableSlot *entry = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable profile",
											  ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slot;

	for (int i = 0; i < def->layout.nident; i++)
		TupleDescCopyEntry(ident, i + 1, def->layout.desc, def->layout.ident[i]);
	for (int i = 0; i < def->spec.nkeys; i++)
		TupleDescCopyEntry(key, i + 1, def->layout.desc, def->layout.ident[i]);
	TupleDescFinalize(ident);
	TupleDescFinalize(key);
	AS_OWNER(def->fact->owner);
	{
		while (p->sampled_entries < SAMPLE_ENTRIES && (slot = sample_next(sample)) != NULL)
		{
			read_row(p, slot, sort, entry, key, ident, cxt);
			MemoryContextReset(cxt);
		}
		sample_stop(sample);
	}
	END_AS_OWNER();
	p->documents = sample->documents;
	p->complete = sample->complete;
	ExecDropSingleTupleTableSlot(entry);
	MemoryContextDelete(cxt);
	if (p->sampled > 0)
	{
		p->document_bytes /= p->sampled;
		p->stored_bytes /= p->sampled;
	}
	if (p->sampled_entries > 0)
	{
		p->key_bytes /= p->sampled_entries;
		p->ident_bytes /= p->sampled_entries;
		p->entry_bytes /= p->sampled_entries;
	}
}

/* read_row: counts one row of the sample, and adds its entries to those that are sorted */
static void
read_row(Profile *p, TupleTableSlot *slot, Tuplesortstate *sort, TupleTableSlot *entry,
		 TupleDesc key, TupleDesc ident, MemoryContext cxt)
{
	IndexDef   *def = p->def;
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FactRow		row;
	Rejection	rejection = {0};
	Entries		entries;
	int			skipped;
	Size		stored;

	factrow_init(&row, def->fact, slot);
	row.rejection = &rejection;
	p->sampled++;
	p->document_bytes += document_size(slot, def->spec.fact_document, &stored);
	p->stored_bytes += stored;

	if (!passes_filter(def, slot))
	{
		p->filtered++;
		MemoryContextSwitchTo(old);
		return;
	}
	entries_init(&entries, def);
	skipped = extract_entries(def, &row, true, &entries);
	p->lacking |= entries.lacking;
	if (rejection.sqlstate != 0 || skipped > 0)
	{
		p->mismatching++;
		/* Values that are skipped leave no message. */
		if (p->mismatch == NULL && rejection.message != NULL)
			p->mismatch = MemoryContextStrdup(old, rejection.message);
	}
	else if (entries.n == 0)
		p->missing++;
	if (entries.n > 0)
		p->with_entries++;
	for (int i = 0; i < entries.n; i++)
	{
		Datum	   *values = ENTRY_VALUES(&entries, i);
		bool	   *isnull = ENTRY_NULLS(&entries, i);
		Datum		in_ident[INDEX_MAX_KEYS];
		bool		nulls[INDEX_MAX_KEYS];
		Size		width;

		for (int k = 0; k < def->layout.nident; k++)
		{
			in_ident[k] = values[def->layout.ident[k] - 1];
			nulls[k] = isnull[def->layout.ident[k] - 1];
		}
		p->ident_bytes += heap_compute_data_size(ident, in_ident, nulls);
		p->key_bytes += heap_compute_data_size(key, in_ident, nulls);
		width = heap_compute_data_size(def->layout.desc, values, isnull);
		p->entry_bytes += width;
		p->widest = Max(p->widest, width);
		for (int k = 0; k < def->spec.nincludes; k++)
			if (!isnull[def->spec.fields[def->spec.nkeys + k].attno - 1])
				p->included[k] = true;
		store_entry(entry, values, isnull);
		tuplesort_puttupleslot(sort, entry);
	}
	p->sampled_entries += entries.n;
	MemoryContextSwitchTo(old);
}

/*
 * count_keys
 *		Counts the distinct keys of the sorted entries, and finds the most common ones.
 */
static void
count_keys(Profile *p, Tuplesortstate *sort)
{
	IndexDef   *def = p->def;
	TupleTableSlot *entry = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsMinimalTuple);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable key", ALLOCSET_SMALL_SIZES);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	bool		any_null = false;
	int64		n = 0;
	int64		read = 0;
	int64		distinct = 0;
	int64		once = 0;
	double		entries;

	if (p->keep > 0)
		p->kept = palloc(sizeof(HeapTuple) * (p->keep + 1));

	for (;;)
	{
		bool		more = tuplesort_gettupleslot(sort, true, false, entry, NULL);
		bool		same = more && n > 0;

		CHECK_FOR_INTERRUPTS();
		if (more)
			slot_getallattrs(entry);
		/* As many as are kept, at equal distances, in order. */
		if (more && p->nkept < p->keep && read++ * p->keep >= p->nkept * p->sampled_entries)
			p->kept[p->nkept++] = ExecCopySlotHeapTuple(entry);
		for (int i = 0; same && i < def->spec.nkeys; i++)
		{
			AttrNumber	attno = def->layout.ident[i];

			same = ApplySortComparator(values[i], nulls[i], entry->tts_values[attno - 1],
									   entry->tts_isnull[attno - 1], &def->layout.ident_sort[i]) == 0;
		}
		if (!same)
		{
			MemoryContext old;

			if (n > 0)
			{
				distinct++;
				once += n == 1;
				if (!any_null)
					count_key(p, values, n);
			}
			if (!more)
				break;
			n = 0;
			any_null = false;
			MemoryContextReset(cxt);
			old = MemoryContextSwitchTo(cxt);
			for (int i = 0; i < def->spec.nkeys; i++)
			{
				AttrNumber	attno = def->layout.ident[i];

				nulls[i] = entry->tts_isnull[attno - 1];
				any_null |= nulls[i];
				if (!nulls[i])
					values[i] = datumCopy(entry->tts_values[attno - 1], def->spec.fields[i].typbyval,
										  def->spec.fields[i].typlen);
			}
			MemoryContextSwitchTo(old);
		}
		n++;
	}
	ExecDropSingleTupleTableSlot(entry);

	/*
	 * The number of distinct keys is estimated as ANALYZE does it, with Duj1
	 * of Haas and Stokes.
	 */
	entries = p->sampled > 0 ? p->sampled_entries * p->documents / p->sampled : 0;
	p->entries = entries;
	p->all_differ = distinct == p->sampled_entries;
	p->keys = distinct;
	if (!p->complete && p->sampled_entries > 0)
		p->keys = Min(Max((double) p->sampled_entries * distinct /
						  (p->sampled_entries - once + once * p->sampled_entries / entries), distinct), entries);
}

/*
 * count_key
 *		Counts a key that n entries have, and keeps it in its place if it is one of the most
 *		common.
 */
static void
count_key(Profile *p, Datum *values, int64 n)
{
	int			at = p->ncommon;

	p->pairs += (double) n * (n - 1);
	if (is_number(&p->def->spec.fields[0], values[0]))
		p->numbers += n;
	while (at > 0 && p->common[at - 1].n < n)
		at--;
	if (at == COMMON_KEYS)
		return;
	if (p->ncommon == COMMON_KEYS)
		p->ncommon--;
	memmove(&p->common[at + 1], &p->common[at], sizeof(CommonKey) * (p->ncommon - at));
	p->ncommon++;
	p->common[at].n = n;
	p->common[at].values = palloc(sizeof(Datum) * p->def->spec.nkeys);
	for (int i = 0; i < p->def->spec.nkeys; i++)
		p->common[at].values[i] = datumCopy(values[i], p->def->spec.fields[i].typbyval,
											p->def->spec.fields[i].typlen);
}

/* is_number: returns whether a value is a number, or a text that reads like one */
static bool
is_number(Field *field, Datum value)
{
	struct varlena *text;

	if (field->type != TEXTOID)
		return TypeCategory(field->type) == TYPCATEGORY_NUMERIC;
	text = PG_DETOAST_DATUM_PACKED(value);

	return VARSIZE_ANY_EXHDR(text) > 0 &&
		strspn(text_to_cstring(text), "+-.0123456789eE") == VARSIZE_ANY_EXHDR(text) &&
		strpbrk(text_to_cstring(text), "0123456789") != NULL;
}

/*
 * What follows reads the sample.
 *
 * Blocks are chosen at random, and what is read is bounded, however large the table is.  Of
 * a partition on another server, whose blocks are not known, the first rows are read that
 * the server returns.
 */

/*
 * sample_begin
 *		Chooses a sample: at most about "rows" rows, whose documents, in column doc or NO_DOCUMENT, have at
 *		most about "bytes" bytes in all.  Until sample_end(), settings are those of entries, and a
 *		new snapshot is the active one.
 */
void
sample_begin(Sample *sample, FactDef *def, AttrNumber doc, Relation fact, int rows, double bytes)
{
	memset(sample, 0, sizeof(Sample));
	sample->def = def;
	sample->fact = fact;
	sample->snapshot = RegisterSnapshot(GetLatestSnapshot());
	sample->nestlevel = NewGUCNestLevel();
	fix_gucs();
	PushActiveSnapshot(sample->snapshot);
	sample->partitions = list_length(lock_leaves(RelationGetRelid(fact), NULL));
	choose_sample(sample, doc, rows, bytes);
}

/*
 * choose_sample
 *		Chooses which blocks are read, as many as SPREAD allows, and how many of their rows
 *		are returned.
 */
static void
choose_sample(Sample *sample, AttrNumber doc, int rows, double bytes)
{
	double		blocks = block_scan_count_blocks(sample->fact, 100);
	BlockSample pilot = {.foreign_limit = 1};
	BlockScan	scan;
	TupleTableSlot *slot;
	double		pilot_rows = 0;
	double		pilot_bytes = 0;
	double		documents;
	double		wanted;
	double		chosen;

	sample->percent = blocks <= PILOT_BLOCKS ? 100 : 100 * PILOT_BLOCKS / blocks;
	sample->keep = 1;
	sample->seed = pg_prng_uint32(&pg_global_prng_state);
	sample->foreign = Max(rows / Max(sample->partitions, 1), 1);
	pilot.percent = sample->percent;
	pilot.seed = sample->seed;
	AS_OWNER(sample->def->owner);
	{
		block_scan_begin(&scan, sample->def, sample->fact, sample->snapshot, &pilot);
		while ((slot = block_scan_next(&scan)) != NULL)
		{
			Size		stored;

			if (scan.foreign != NULL)
				continue;
			pilot_rows++;
			pilot_bytes += document_size(slot, doc, &stored);
		}
		block_scan_end(&scan);
	}
	END_AS_OWNER();

	if (blocks <= PILOT_BLOCKS)
	{
		sample->keep = Min(bytes / Max(pilot_bytes, 1), 1);
		return;
	}
	documents = Max(pilot_rows, 1) * blocks / block_scan_count_blocks(sample->fact, sample->percent);
	wanted = Min(rows, bytes / Max(pilot_bytes / Max(pilot_rows, 1), 1));
	chosen = Min(rows, blocks * wanted / documents * SPREAD);
	sample->percent = Min(100 * chosen / blocks, 100);
	sample->keep = Min(wanted / (documents * sample->percent / 100), 1);
}

/*
 * document_size
 *		Returns the size of a row's document, in bytes, 0 if it is NULL, and puts into *stored the size of what
 *		is stored of it.  Where the fact table has no documents, that is the row, without what is stored
 *		out of line.
 */
static Size
document_size(TupleTableSlot *slot, AttrNumber doc, Size *stored)
{
	Datum		value;
	bool		isnull;

	*stored = 0;
	if (doc == NO_DOCUMENT)
	{
		slot_getallattrs(slot);
		return *stored = heap_compute_data_size(slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
	}
	value = slot_getattr(slot, doc, &isnull);
	if (isnull)
		return 0;
	*stored = toast_datum_size(value);
	return toast_raw_datum_size(value);
}

/* sample_next: returns the next row of the sample, or NULL */
TupleTableSlot *
sample_next(Sample *sample)
{
	TupleTableSlot *slot;

	if (!sample->begun)
	{
		BlockSample blocks = {sample->percent, sample->seed, sample->foreign};

		sample->begun = true;
		pg_prng_seed(&sample->choice, sample->seed);
		block_scan_begin(&sample->scan, sample->def, sample->fact, sample->snapshot, &blocks);
	}
	while ((slot = block_scan_next(&sample->scan)) != NULL)
	{
		sample->rows++;
		if (sample->keep < 1 && sample->scan.foreign == NULL && pg_prng_double(&sample->choice) >= sample->keep)
			continue;
		sample->sampled++;
		return slot;
	}
	sample->ended = true;
	return NULL;
}

/*
 * sample_stop
 *		Ends the reading, perhaps before the last row, and estimates how many rows there are.
 */
void
sample_stop(Sample *sample)
{
	BlockScan  *scan = &sample->scan;
	double		rows;

	block_scan_end(scan);
	rows = sample->rows - scan->foreign_sampled;
	sample->complete = sample->percent >= 100 && sample->ended;
	sample->documents = sample->complete || !sample->ended ? rows :
		rows * block_scan_count_blocks(sample->fact, 100) / block_scan_count_blocks(sample->fact, sample->percent);
	sample->documents = Max(sample->documents + scan->foreign_rows, sample->sampled);
	sample->complete = sample->complete && scan->foreign_rows == scan->foreign_sampled &&
		sample->rows == sample->sampled;
}

/* sample_end: gives back what sample_begin() has set */
void
sample_end(Sample *sample)
{
	PopActiveSnapshot();
	UnregisterSnapshot(sample->snapshot);
	AtEOXact_GUC(false, sample->nestlevel);
}
