/*-------------------------------------------------------------------------
 *
 * read.h
 *	  Reads both tables for verify(), and sums their entries up in buckets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_READ_H
#define INDEXTABLE_READ_H

#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/entry_scan.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "discrepancy.h"

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
	int64		misplaced;		/* entries in a partition that does not take
								 * them */
	Tuplesortstate *expected;	/* their entries, by identity */
	Tuplesortstate *found;
	LiveScan	rows;			/* of the fact table, by primary key */
	Probe		entries;		/* of the index table, by identity */
	HTAB	   *away;			/* hashes of keys of rows on other servers, or
								 * NULL */
	HTAB	   *queued;			/* hashes of keys whose changes are queued, or
								 * NULL */
	discrepancy_handler handler;
	void	   *arg;
} Verify;

extern void read_expected(Verify *v);
extern void read_found(Verify *v);
extern void read_queue(Verify *v);
extern uint64 row_hash(Verify *v, Datum *values, bool *isnull);

#endif							/* INDEXTABLE_READ_H */
