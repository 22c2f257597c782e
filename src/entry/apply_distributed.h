/*-------------------------------------------------------------------------
 *
 * apply_distributed.h
 *	  Reads and writes the entries of distributed index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_APPLY_DISTRIBUTED_H
#define INDEXTABLE_APPLY_DISTRIBUTED_H

#include "access/htup.h"

#include "../indextable.h"
#include "diff.h"
#include "entries.h"

/* The entries of many rows, in the order of the rows' keys. */
typedef struct FetchedEntries
{
	IndexDef   *def;
	HeapTuple  *tuples;
	int			n;
	SortSupportData *order;		/* by which they are sorted: by fact->npk
								 * columns */
} FetchedEntries;

extern void fetch_distributed_entries(FetchedEntries *fetched, IndexDef *def, Datum *keys, int n);
extern void find_fetched_entries(FetchedEntries *fetched, Datum *key, Entries *entries);
extern void apply_distributed_ops(IndexDef *def, OpList *list);

#endif							/* INDEXTABLE_APPLY_DISTRIBUTED_H */
