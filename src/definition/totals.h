/*-------------------------------------------------------------------------
 *
 * totals.h
 *	  Offers what tables of totals are like: which aggregates they keep, and their columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TOTALS_H
#define INDEXTABLE_TOTALS_H

#include "utils/rel.h"

#include "../indextable.h"

extern List *summed_fields(List *totals, List **summed);
extern List *totals_of_fields(DefinitionRow *row);
extern void make_summed_fields(IndexDef *def, List *texts, Relation fact, const char **column_names);
extern void check_totals(IndexDef *def, FactDef *fact, List *summed);
extern Oid	sum_type(Oid type, int32 typmod);
extern bool complete_totals_columns(IndexDef *def, TupleDesc desc, AttrNumber *live, int nlive);
extern bool complete_totals_index(IndexDef *def, Relation rel);
extern int	added_columns(IndexDef *def, AttrNumber *attnos);
extern void make_totals_index(IndexDef *def, const char *tablespace);

#define is_totals(def)	((def)->strategy == STRATEGY_TOTALS)

/* The column that has the sum of an included field, or 0. */
#define SUM_ATTNO(def, i) \
	((def)->fields[(def)->nkeys + (i)].attno != (def)->count_attno[i] ? (def)->fields[(def)->nkeys + (i)].attno : 0)

#endif							/* INDEXTABLE_TOTALS_H */
