/*-------------------------------------------------------------------------
 *
 * entries.h
 *	  Holds the entries of one row, and compares, sorts and merges them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRIES_H
#define INDEXTABLE_ENTRIES_H

#include "storage/itemptr.h"

#include "../indextable.h"

/* Where an entry is. */
typedef struct EntryPlace
{
	Oid			table;			/* the index table, or one of its partitions */
	ItemPointerData tid;		/* invalid: not known */
} EntryPlace;

/* The entries of one row in one index table. */
typedef struct Entries
{
	int			n;
	int			max;
	int			natts;			/* columns of the index table */
	bool		left_alone;		/* they were not extracted, as the change does
								 * not affect them */
	Datum	   *values;			/* n * natts */
	bool	   *isnull;
	EntryPlace *places;			/* where they are, if known; else NULL */
	uint32		lacking;		/* bit k: the row lacks an entry, though its
								 * first k key fields are not null */
} Entries;

#define ENTRY_VALUES(e, i)	((e)->values + (Size) (i) * (e)->natts)
#define ENTRY_NULLS(e, i)	((e)->isnull + (Size) (i) * (e)->natts)

extern void entries_init(Entries *entries, IndexDef *def);
extern int	compare_identity(IndexDef *def, Datum *a, Datum *b);
extern bool entry_equal(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull);
extern bool entries_equal(IndexDef *def, Entries *a, Entries *b);
extern void entries_sort(IndexDef *def, Entries *entries);
extern void entries_merge(IndexDef *def, Entries *into, Entries *from);
extern void entries_confine(IndexDef *def, Entries *entries, Entries *a, Entries *b);
extern bool same_bytes(Datum a, bool anull, Datum b, bool bnull, int16 typlen, bool typbyval);

#endif							/* INDEXTABLE_ENTRIES_H */
