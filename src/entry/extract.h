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

#include "utils/jsonb.h"

#include "../indextable.h"
#include "document.h"
#include "entries.h"

extern bool entries_unchanged(IndexDef *def, FactRow *old, FactRow *new);
extern bool extract_delta(IndexDef *def, FactRow *row, bool report, Datum *values, bool *isnull, uint32 *lacking,
						  int *skipped);
extern int	extract_entries(IndexDef *def, FactRow *row, bool report, Entries *entries);

#endif							/* INDEXTABLE_EXTRACT_H */
