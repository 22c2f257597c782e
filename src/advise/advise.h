/*-------------------------------------------------------------------------
 *
 * advise.h
 *	  Offers the advice whether a key is worth an index table, and the numbers it is judged by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ADVISE_H
#define INDEXTABLE_ADVISE_H

#include "common/pg_prng.h"

#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../util/sql.h"

/*
 * advise.c: tells users whether an index table, also one that they have created, is worth its
 * cost
 */
extern void advise_init(void);
extern FactDef *open_documents(Oid relid, const char *document, Relation *fact, AttrNumber *doc);
extern char *path_text(List *steps);
extern void check_reader(Relation fact, DefinitionRow *row);
extern Rows query_profile(const char *query, Datum profile, bool is_async);

/* profile.c: collects numbers on the documents of a fact table, from a sample of them */

/* The number of rows that are sampled unless the caller says otherwise. */
#define SAMPLE_ROWS			10000

/* The number of the most common keys that are kept. */
#define COMMON_KEYS			5

typedef struct CommonKey
{
	Datum	   *values;			/* of the key fields */
	int64		n;				/* entries of the sample that have this key */
} CommonKey;

typedef struct Profile
{
	DefinitionRow *row;			/* what the caller asks about */
	IndexDef   *def;			/* the same, resolved */
	char	   *fact_name;		/* as the caller would write it */
	const char *document;		/* the JSONB column, if the caller named it */
	bool		partitioned;
	int			partitions;
	bool		hinted;			/* @ctid is among the included fields */
	bool		shows_fields;	/* so are others, for queries to show */
	int64		keep;			/* number of entries to keep at most; 0: none,
								 * and those that lack key fields are left out */
	HeapTuple  *kept;			/* nkept entries, in the order of the index
								 * table */
	int64		nkept;

	/* What the sample has, in rows */
	int64		sampled;
	bool		complete;		/* the sample is the whole table */
	int64		filtered;		/* rows for which the filter is not true */
	int64		missing;		/* of the others, rows without a value, */
	int64		mismatching;	/* rows with a value that cannot be an entry, */
	int64		with_entries;	/* and rows with entries */
	char	   *mismatch;		/* why one of the values cannot be an entry */
	uint64		lacking;		/* bits of what rows lack, or entries have:
								 * see entry/entry.h */

	/* What the sample has, in entries */
	int64		sampled_entries;
	int64		numbers;		/* entries whose first key field is a number */
	bool		all_differ;		/* no two entries have the same key */
	bool	   *included;		/* for each included field, whether any entry
								 * has a value */
	int			ncommon;
	CommonKey	common[COMMON_KEYS + 1];	/* most common first */
	double		pairs;			/* ordered pairs of entries with the same key */

	/* Estimates for the whole table */
	double		documents;
	double		entries;
	double		keys;			/* distinct keys */
	double		document_bytes; /* average of a document in full, */
	double		stored_bytes;	/* of a document as it is stored, */
	double		key_bytes;		/* of the key of an entry, */
	double		ident_bytes;	/* of its key and primary key, */
	double		entry_bytes;	/* and of the whole entry */
	Size		widest;			/* the widest entry, in bytes */
} Profile;

extern void profile_table(Profile *p, Relation fact, int rows, double bytes);

/* About the largest size of all documents of a sample, in bytes; they are read in some seconds. */
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

/* entry_statistics.c: makes of entries what ANALYZE would have of them */
extern HeapTuple *entry_statistics(IndexDef *def, HeapTuple *entries, int n, double total);

/* profile_row.c: gives SQL the numbers of a key, as a row */
extern Datum profile_row(Profile *p, List *same);

#endif							/* INDEXTABLE_ADVISE_H */
