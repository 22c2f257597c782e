/*-------------------------------------------------------------------------
 *
 * entries.h
 *	  Holds the entries of one row, and compares them with those of its old version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRIES_H
#define INDEXTABLE_ENTRIES_H

#include "access/htup.h"
#include "executor/tuptable.h"
#include "storage/itemptr.h"

#include "../indextable.h"
#include "document.h"

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

typedef enum OpKind
{
	OP_DELETE,
	OP_INSERT,					/* of an entry that is expected not to exist */
	OP_PUT						/* of an entry that may exist, with another
								 * payload */
} OpKind;

/* An operation on an index table. */
typedef struct Op
{
	HeapTuple	tuple;			/* the entry; OP_DELETE: its identity */
	Datum		abbreviated;	/* the first identity column, abbreviated for
								 * sorting; def->brief_text: its first bytes */
	Datum		first;			/* the first identity column; def->brief_text:
								 * its bytes after those */
	Datum		second;			/* the second identity column, if there is one */
	EntryPlace	place;			/* OP_DELETE: where the entry is, if known */
	uint32		seq;			/* its number in the list */
	bool		long_first;		/* the first column is text that has more
								 * bytes than these */
	bool		last;			/* no later operation is on the same entry ... */
	bool		alone;			/* ... and no earlier one; see apply.c */
	OpKind		kind;
} Op;

/* Operations on one index table, in the sequence in which they were collected. */
typedef struct OpList
{
	Op		   *ops;
	int			n;
	int			max;
	bool		deletes;		/* there is an OP_DELETE or OP_PUT */
	Size		widest;			/* how many bytes of data the widest entry
								 * has, of those to be written */
	Size		bytes;			/* of memory, roughly */
	int64		skipped;		/* entries left out, to be counted */
	uint32		lacking;		/* of all rows, to be recorded; see
								 * catalog/completeness.c */
} OpList;

extern void entries_init(Entries *entries, IndexDef *def);
extern void entries_grow(Entries *entries, int first);
extern void store_entry(TupleTableSlot *slot, Datum *values, bool *isnull);
extern int	compare_identity(IndexDef *def, Datum *a, Datum *b);
extern bool entry_equal(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull);
extern bool entries_equal(IndexDef *def, Entries *a, Entries *b);
extern void entries_sort(IndexDef *def, Entries *entries);
extern void entries_merge(IndexDef *def, Entries *into, Entries *from);
extern void entries_confine(IndexDef *def, Entries *entries, Entries *a, Entries *b);
extern bool same_bytes(Datum a, bool anull, Datum b, bool bnull, int16 typlen, bool typbyval);
extern Datum op_value(IndexDef *def, Op *op, AttrNumber attno, bool *isnull);
extern bool entries_unchanged(IndexDef *def, FactRow *old, FactRow *new);
extern void diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt);

#endif							/* INDEXTABLE_ENTRIES_H */
