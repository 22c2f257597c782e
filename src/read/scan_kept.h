/*-------------------------------------------------------------------------
 *
 * scan_kept.h
 *	  Keeps the rows that a scan of an index table has found, for a cursor that goes back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_KEPT_H
#define INDEXTABLE_SCAN_KEPT_H

#include "../indextable.h"
#include "scan_state.h"

extern void keep_begin(IndexTableScan *scan);
extern TupleTableSlot *keep_next(IndexTableScan *scan, TupleTableSlot *(*find) (IndexTableScan *scan));
extern void keep_restart(IndexTableScan *scan);
extern void keep_end(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_KEPT_H */
