/*-------------------------------------------------------------------------
 *
 * profile.h
 *	  What a sample of the documents, and the server's statistics, tell.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PROFILE_H
#define INDEXTABLE_PROFILE_H

#include "datatype/timestamp.h"
#include "utils/rel.h"

#include "../indextable.h"

/* So many of the commonest keys are kept. */
#define COMMON_KEYS			5

typedef struct CommonKey
{
	Datum	   *values;			/* of the key fields */
	int64		n;				/* entries of the sample */
} CommonKey;

typedef struct Profile
{
	DefinitionRow *row;			/* what is asked for */
	IndexDef   *def;
	const char *document;		/* the JSONB column, if it was named */
	bool		partitioned;
	int			partitions;

	/* The sample, in rows ... */
	int64		sampled;
	bool		complete;		/* all there are */
	int64		filtered;		/* for which the filter is not true */
	int64		missing;		/* of the others: without a value */
	int64		mismatching;	/* with one that cannot be an entry */
	int64		with_entries;
	char	   *mismatch;		/* why, of one of them */
	/* ... and in entries */
	int64		sampled_entries;
	int64		numbers;		/* with a first key field that is one */
	bool		all_differ;		/* no two have one key */
	bool	   *included;		/* which included fields have a value at all */
	int			ncommon;
	CommonKey	common[COMMON_KEYS + 1];
	int64		common_entries[COMMON_KEYS + 1];	/* that the first i have
													 * together */
	double		found[COMMON_KEYS + 1]; /* share of the documents that a
										 * look-up finds, by any other key */

	/* Estimates, for the table */
	double		documents;
	double		entries;
	double		keys;			/* distinct ones */
	double		document_bytes; /* averages: of the document in full, */
	double		stored_bytes;	/* and as it is stored; */
	double		key_bytes;		/* of an entry: its key, */
	double		ident_bytes;	/* key and primary key, */
	double		entry_bytes;	/* all of it */
	Size		widest;			/* of the latter */
	double		normalized_size;	/* bytes */
	double		partial_size;
	double		denormalized_size;
	double		native_size;	/* of a B-tree on the same expressions */

	/* What the server has counted, of all partitions */
	int64		inserts;
	int64		updates;
	int64		hot_updates;
	int64		deletes;
	int64		scans;			/* of the table and its indexes */
	TimestampTz since;			/* 0: from the beginning */
} Profile;

extern void profile_table(Profile *p, Relation fact, int rows);

#endif							/* INDEXTABLE_PROFILE_H */
