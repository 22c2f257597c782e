/*-------------------------------------------------------------------------
 *
 * deltas.h
 *	  Adds up what rows add to the groups of a table of totals, and writes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DELTAS_H
#define INDEXTABLE_DELTAS_H

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "document.h"

/* What was collected for a table of totals. */
typedef struct Deltas
{
	IndexDef   *def;
	MemoryContext cxt;			/* of all of it */
	struct deltas_hash *groups;
	AttrNumber *added;			/* the columns that are added up */
	int			nadded;
	Size		bytes;			/* of memory, roughly */
	int64		skipped;		/* values left out, to be counted */
	uint32		lacking;		/* of all rows, to be recorded */
} Deltas;

/* Is called with each group in which anything is left, as an entry. */
typedef void (*delta_handler) (Deltas *deltas, Datum *values, bool *isnull, void *arg);

extern Deltas *deltas_begin(IndexDef *def, MemoryContext cxt);
extern void deltas_change_row(Deltas *deltas, FactRow *old, FactRow *new);
extern void deltas_write_rows(FactDef *fact, IndexDef **defs, int n, Relation rel, Snapshot snapshot, bool insert);
extern Deltas *deltas_of_difference(FactDef *fact, IndexDef *def, Relation fact_table, Relation rel, Snapshot snapshot,
									bool report, Deltas *found);
extern bool deltas_find(Deltas *deltas, Datum *values, bool *isnull, Datum **found);
extern bool lock_folding(Oid relid, bool wait);
extern int64 deltas_visit(Deltas *deltas, delta_handler handler, void *arg);
extern int64 deltas_write(Deltas *deltas);
extern int64 fold_totals(IndexDef *def, Relation rel, int64 limit);

#endif							/* INDEXTABLE_DELTAS_H */
