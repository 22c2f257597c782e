/*-------------------------------------------------------------------------
 *
 * scan_fallback.h
 *	  Answers for a scan of an index table by a native plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_FALLBACK_H
#define INDEXTABLE_SCAN_FALLBACK_H

#include "scan_state.h"

extern void begin_fallback(IndexTableScan *scan);
extern TupleTableSlot *next_of_fallback(IndexTableScan *scan);
extern void end_fallback(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_FALLBACK_H */
