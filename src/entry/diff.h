/*-------------------------------------------------------------------------
 *
 * diff.h
 *	  Compares the old version of a row with the new one, and its entries, and collects the
 *	  operations that turn the old entries into the new ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DIFF_H
#define INDEXTABLE_DIFF_H

#include "access/htup.h"

#include "../indextable.h"
#include "document.h"
#include "entries.h"

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

extern Datum op_value(IndexDef *def, Op *op, AttrNumber attno, bool *isnull);
extern bool entries_unchanged(IndexDef *def, FactRow *old, FactRow *new);
extern void diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt);

#endif							/* INDEXTABLE_DIFF_H */
