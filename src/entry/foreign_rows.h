/*-------------------------------------------------------------------------
 *
 * foreign_rows.h
 *	  Fetches rows of other servers by their primary keys, with as few statements as
 *	  possible.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_ROWS_H
#define INDEXTABLE_FOREIGN_ROWS_H

#include "executor/tuptable.h"

#include "foreign_scan.h"

extern void fetch_foreign_rows(RowRequest *request, Datum *keys, int n,
							   void (*each) (TupleTableSlot *row, void *arg), void *arg);

#endif							/* INDEXTABLE_FOREIGN_ROWS_H */
