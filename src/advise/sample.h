/*-------------------------------------------------------------------------
 *
 * sample.h
 *	  Reads a sample of the rows of a fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SAMPLE_H
#define INDEXTABLE_SAMPLE_H

#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/block_scan.h"
#include "../indextable.h"

/* The documents of a sample have at most about so many bytes together, which are read in some seconds. */
#define SAMPLE_BYTES	(256.0 * 1024 * 1024)

typedef struct Sample
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;
	int			nestlevel;		/* of settings */
	int			partitions;		/* leaf partitions; 1: not partitioned */
	double		percent;		/* percentage of the blocks that are read */
	double		keep;			/* share of their rows that are returned */
	uint32		seed;
	double		foreign;		/* rows that are read of each partition on
								 * another server */
	pg_prng_state choice;
	BlockScan	scan;
	bool		begun;
	bool		ended;			/* the last row has been read */
	double		rows;			/* that were read */
	int64		sampled;		/* of these, rows that were returned */
	double		documents;		/* an estimate of how many rows there are */
	bool		complete;		/* the sample is the whole table */
} Sample;

extern void sample_begin(Sample *sample, FactDef *def, AttrNumber doc, Relation fact, int rows, double bytes);
extern TupleTableSlot *sample_next(Sample *sample);
extern void sample_stop(Sample *sample);
extern void sample_end(Sample *sample);

#endif							/* INDEXTABLE_SAMPLE_H */
