/*-------------------------------------------------------------------------
 *
 * sums.h
 *	  Sums up in buckets the entries that an index table should have and those that it has,
 *	  or keeps them for a comparison.  The struct Verify is the state of one comparison.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SUMS_H
#define INDEXTABLE_SUMS_H

#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../entry/block_scan.h"
#include "../entry/entry_scan.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "discrepancy.h"

#define BUCKETS				65536

/* The sums of the hashes of all entries whose primary keys fall into a bucket. */
typedef struct Bucket
{
	uint64		expected;
	uint64		found;
} Bucket;

/* What has been read adds up to; each parallel worker has its own, in shared memory. */
typedef struct Sums
{
	bool		any_rejected;
	int64		misplaced;		/* entries in a partition whose bounds do not
								 * include them */
	uint32		lacking;		/* of rows that lack entries; see
								 * catalog/completeness.c */
	uint32		lacking_queued; /* the same, with those whose keys are queued */
	Bucket		buckets[BUCKETS];	/* none for a sample */
} Sums;

/* What the tables are read for. */
typedef enum Reading
{
	READ_SUMS,					/* to sum up the entries of all buckets */
	READ_ENTRIES,				/* to compare the entries of buckets that
								 * differ */
	READ_REJECTED,				/* to report rows that cannot have entries */
	READ_SAMPLE					/* to compare the entries of some blocks */
} Reading;

/* A shard of a distributed fact table, of which this node compares the rows. */
typedef struct VerifiedShard
{
	Oid			queue;			/* its part of the queue */
	AttrNumber	column;			/* of the index table, whose hash tells to
								 * which shard the row of an entry belongs */
	int32		hash_min;		/* the hashes of this shard */
	int32		hash_max;
} VerifiedShard;

typedef struct Verify
{
	IndexDef   *def;
	FactDef    *factdef;
	Relation	fact;			/* or the shard of it */
	Relation	index_table;
	VerifiedShard *shard;		/* NULL: the whole fact table is compared */
	Snapshot	snapshot;
	double		sample;			/* percentage of the blocks; 100: all */
	uint32		seed;			/* for the choice of the blocks */
	Sums	   *sums;
	int			nworkers;		/* that are to help */
	SharedBlockScan *shared_fact;	/* if parallel workers read both tables,
									 * too: see parallel_sums.c; or NULL */
	SharedBlockScan *shared_index;
	Reading		reading;
	MemoryContext cxt;			/* reset after each row */
	bool		catch_errors;	/* a row may raise an error: try each by
								 * itself */
	List	   *locked_records; /* see lock_records() */
	Tuplesortstate *expected;	/* entries that should be there, by identity */
	Tuplesortstate *found;		/* entries that are there, by identity */
	LiveScan	rows;			/* looks fact rows up by primary key */
	Probe		entries;		/* looks entries up by identity */
	HTAB	   *foreign_rows;	/* hashes of the primary keys of rows on other
								 * servers, or of a shard's rows, or NULL */
	HTAB	   *queued_rows;	/* hashes of the primary keys in the queue, or
								 * NULL */
	HTAB	   *fed_rows;		/* the same of those in feeds, or NULL */
	List	   *fed_partitions; /* OIDs of those all of whose rows may have
								 * changed */
	const char *feed_problem;	/* why a feed cannot be read, or NULL */
	discrepancy_handler handler;
	void	   *arg;
} Verify;

/* in parallel_sums.c */
extern bool sum_up_in_parallel(Verify *v);

extern void read_fact_table(Verify *v);
extern void read_fact_rows(void *verify);
extern void read_index_table(Verify *v);
extern void note_queued_rows(Verify *v);
extern void note_fed_rows(Verify *v);
extern bool is_noted(HTAB *set, uint64 hash);
extern bool is_fed(Verify *v, Datum *key, uint64 hash);
extern uint64 hash_primary_key(Verify *v, Datum *values, bool *isnull);

#endif							/* INDEXTABLE_SUMS_H */
