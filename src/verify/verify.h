/*-------------------------------------------------------------------------
 *
 * verify.h
 *	  Offers the comparison of index tables with their fact tables, and the discrepancies it
 *	  finds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VERIFY_H
#define INDEXTABLE_VERIFY_H

#include "../fetch/fetch.h"
#include "../indextable.h"

/*
 * compare.c: the discrepancies between a fact table and an index table, as verify()
 * reports them to its callers.
 */

/* The columns of the result of verify(). */
enum
{
	VERIFY_KIND,
	VERIFY_KEY,
	VERIFY_PRIMARY_KEY,
	VERIFY_EXPECTED,
	VERIFY_FOUND,
	VERIFY_PROBLEM,
	VERIFY_SHARD_COLUMNS,		/* verify_shard() returns no more */
	VERIFY_IN_TABLE = VERIFY_SHARD_COLUMNS,
	VERIFY_COLUMNS
};

typedef enum DiscrepancyKind
{
	KIND_MISSING,
	KIND_DANGLING,
	KIND_STALE,
	KIND_REJECTED,
	KIND_SETUP,
	KINDS
} DiscrepancyKind;

/*
 * A discrepancy is about one entry, about a row that cannot have its entries, or
 * about the setup of the index table.  For the latter two, expected and found are
 * NULL.
 */
typedef struct Discrepancy
{
	DiscrepancyKind kind;
	IndexDef   *def;			/* NULL: it cannot be loaded */
	TupleTableSlot *expected;	/* the entry that should be there, or NULL */
	TupleTableSlot *found;		/* the entry that is there, or NULL */
	TupleTableSlot *row;		/* the fact row that cannot have its entries,
								 * or NULL */
	const char *problem;		/* text for the user, or NULL */
	bool		by_hand;		/* of the setup: repair() does not mend it,
								 * and the text says what to do */
	Datum	   *columns;		/* found on another node: the result of
								 * verify() there; then there is no slot */
	bool	   *isnull;
	uint64		lacking;		/* what is not recorded of rows that lack
								 * entries; see catalog/completeness.c */
} Discrepancy;

typedef void (*discrepancy_handler) (Discrepancy *discrepancy, void *arg);

/* To which result discrepancies are added, and of which index table they are. */
typedef struct VerifyResult
{
	ReturnSetInfo *rsinfo;
	Oid			index_table;
} VerifyResult;

extern DiscrepancyKind discrepancy_kind(const char *name);
extern void verify_require_owner(Oid relid);
extern void put_discrepancy(Discrepancy *d, void *arg);

/*
 * sums.c: sums up in buckets the entries that an index table should have and those that it
 * has, or keeps them for a comparison.  The struct Verify is the state of one comparison.
 */
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
	uint64		lacking;		/* of rows that lack entries; see
								 * catalog/completeness.c */
	uint64		lacking_queued; /* the same, with those whose keys are queued */
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
	EntryScan	entries;		/* looks entries up by identity */
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

/*
 * compare.c: compares an index table with what its fact table asks for, and tells a callback
 * of each discrepancy.
 */
extern void verify_index_table(Oid index_table, double sample, discrepancy_handler handler, void *arg);
extern void compare_entries(Verify *v);
extern void report_rejected(Verify *v);

/* repair.c: mends what is found */
extern void repair_entries(Oid index_table);
extern void activate_repaired(Oid index_table);

/* periodic_check.c: checks index tables periodically, between the batches of a worker */
extern bool run_periodic_checks(void);

/*
 * setup.c: checks what an index table needs to be kept in step: triggers, guards, owner,
 * indexes and state.
 */
extern void check_setup(IndexDef *def, Relation fact, Relation index_table,
						discrepancy_handler handler, void *arg);

extern void report_problem(IndexDef *def, const char *problem, bool by_hand, discrepancy_handler handler,
						   void *arg);
extern char *problem_to_repair(const char *problem, Oid index_table);
extern Oid	lacks_primary_key(Oid index_table);
extern void restore_setup(Oid index_table);
extern void restore_primary_keys(Oid index_table);

/* compare_totals.c: compares a table of totals with its fact table, and mends it */
extern uint64 verify_totals(IndexDef *def, Relation fact, Relation index_table, Snapshot snapshot,
							discrepancy_handler handler, void *arg);
extern int64 add_missing_totals(Oid index_table, bool report);
extern bool repair_if_totals(Oid index_table, int64 *wrong);

#endif							/* INDEXTABLE_VERIFY_H */
