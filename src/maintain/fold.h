/*-------------------------------------------------------------------------
 *
 * fold.h
 *	  Folds tables of totals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOLD_H
#define INDEXTABLE_FOLD_H

#include "nodes/pg_list.h"

extern List *tables_of_totals(Oid fact_table);
extern bool fold_tables(Oid fact_table);
extern int64 fold_if_free(Oid index_table, int64 limit);

#endif							/* INDEXTABLE_FOLD_H */
