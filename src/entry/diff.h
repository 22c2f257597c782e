/*-------------------------------------------------------------------------
 *
 * diff.h
 *	  Old entries, new entries -> what to write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DIFF_H
#define INDEXTABLE_DIFF_H

#include "access/htup.h"

#include "../indextable.h"
#include "entries.h"

typedef enum OpKind
{
	OP_DELETE,
	OP_INSERT,					/* expected to be new */
	OP_PUT						/* new, or there with other payload */
} OpKind;

typedef struct Op
{
	HeapTuple	tuple;
	Datum		abbreviated;	/* for sorting: the first identity column in
								 * brief, */
	Datum		first;			/* in full, */
	Datum		second;			/* and the second */
	EntryPlace	place;			/* OP_DELETE: where the entry is, if known */
	uint32		seq;
	bool		short_first;	/* the brief form is all there is */
	OpKind		kind;
} Op;

typedef struct OpList
{
	Op		   *ops;
	int			n;
	int			max;
	bool		deletes;		/* has an OP_DELETE or OP_PUT */
	Size		widest;			/* of the entries that come, in bytes of data */
	Size		bytes;
	int64		skipped;		/* entries left out, to be counted */
} OpList;

extern void diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt);

#endif							/* INDEXTABLE_DIFF_H */
