/*-------------------------------------------------------------------------
 *
 * extract.h
 *	  Turns a fact row into its entries in an index table, and casts the keys of
 *	  look-ups in the same way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_EXTRACT_H
#define INDEXTABLE_EXTRACT_H

#include "../indextable.h"
#include "document.h"
#include "entries.h"

/* What a row adds to totals. */
typedef struct RowDelta
{
	Datum	   *values;			/* by column of the table of totals */
	bool	   *isnull;
	int			n;				/* to so many groups */
	Datum	   *elements;		/* whose keys have these elements; NULL: one */
	uint32		lacking;		/* what is to be recorded of the row */
	int			skipped;		/* values left out, to be counted */
} RowDelta;

extern bool passes_filter(IndexDef *def, TupleTableSlot *row);
extern bool extract_delta(IndexDef *def, FactRow *row, bool report, RowDelta *delta);
extern void set_element(IndexDef *def, RowDelta *delta, Datum element);
extern int	extract_entries(IndexDef *def, FactRow *row, bool report, Entries *entries);

#endif							/* INDEXTABLE_EXTRACT_H */
