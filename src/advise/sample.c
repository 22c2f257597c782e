/*-------------------------------------------------------------------------
 *
 * sample.c
 *	  Reads a sample of the rows of a fact table.
 *
 * Blocks are chosen at random, and what is read is bounded, however large the table is.  Of
 * a partition on another server, whose blocks are not known, the first rows are read that
 * the server returns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/detoast.h"
#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../entry/block_scan.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/role.h"
#include "sample.h"

/*
 * Tables of up to so many blocks are read whole, unless their documents are too large.  Of
 * a larger table, so many blocks are read first, to see how full blocks are.
 */
#define PILOT_BLOCKS	100

/*
 * Rows of one block may be alike.  So the sample has up to so many times as many
 * blocks as its rows would need, and only some rows of each.
 */
#define SPREAD			4.0

static void choose_sample(Sample *sample, AttrNumber doc, int rows, double bytes);

/*
 * sample_begin
 *		Chooses a sample of at most about so many rows, whose documents, column doc, have at
 *		most about so many bytes.  Until sample_end(), settings are those of entries, and a
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
	sample->partitions = list_length(lock_leaves(RelationGetRelid(fact), NULL, AccessShareLock));
	choose_sample(sample, doc, rows, bytes);
}

/* choose_sample: chooses which blocks are read, as many as SPREAD allows, and how many of their rows are returned */
static void
choose_sample(Sample *sample, AttrNumber doc, int rows, double bytes)
{
	double		blocks = block_scan_count_blocks(sample->fact, 100);
	BlockScan	scan;
	TupleTableSlot *slot;
	double		pilot_rows = 0;
	double		pilot_bytes = 0;
	double		documents;
	double		wanted;
	double		chosen;
	Caller		caller;

	sample->percent = blocks <= PILOT_BLOCKS ? 100 : 100 * PILOT_BLOCKS / blocks;
	sample->keep = 1;
	sample->seed = pg_prng_uint32(&pg_global_prng_state);
	sample->foreign = Max(rows / Max(sample->partitions, 1), 1);
	become_owner(&caller, sample->def->owner);
	block_scan_begin(&scan, sample->def, sample->fact, sample->snapshot, sample->percent, sample->seed);
	scan.foreign_limit = 1;
	while ((slot = block_scan_next(&scan)) != NULL)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, doc, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (scan.foreign != NULL)
			continue;
		pilot_rows++;
		if (!isnull)
			pilot_bytes += toast_raw_datum_size(value);
	}
	block_scan_end(&scan);
	become_caller(&caller);

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

/* sample_next: returns the next row of the sample, or NULL */
TupleTableSlot *
sample_next(Sample *sample)
{
	TupleTableSlot *slot;

	if (!sample->begun)
	{
		sample->begun = true;
		pg_prng_seed(&sample->choice, sample->seed);
		block_scan_begin(&sample->scan, sample->def, sample->fact, sample->snapshot, sample->percent, sample->seed);
		sample->scan.foreign_limit = sample->foreign;
	}
	while ((slot = block_scan_next(&sample->scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		sample->rows++;
		if (sample->keep < 1 && sample->scan.foreign == NULL && pg_prng_double(&sample->choice) >= sample->keep)
			continue;
		sample->sampled++;
		return slot;
	}
	sample->ended = true;
	return NULL;
}

/* sample_stop: ends the reading, perhaps before the last row, and estimates how many rows there are */
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
