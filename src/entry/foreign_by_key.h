/*-------------------------------------------------------------------------
 *
 * foreign_by_key.h
 *	  Fetches rows of other servers by their primary keys, with as few statements as
 *	  possible.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_BY_KEY_H
#define INDEXTABLE_FOREIGN_BY_KEY_H

#include "executor/tuptable.h"

#include "foreign_scan.h"

extern void foreign_by_key_fetch(RowRequest *request, Oid *partitions, Datum *keys, int n,
								 void (*each) (TupleTableSlot *row, void *arg), void *arg);

#endif							/* INDEXTABLE_FOREIGN_BY_KEY_H */
