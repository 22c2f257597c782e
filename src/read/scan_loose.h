/*-------------------------------------------------------------------------
 *
 * scan_loose.h
 *	  Reads of each group of entries only the first one, or the last one, or both.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_LOOSE_H
#define INDEXTABLE_SCAN_LOOSE_H

#include "scan_state.h"

extern int	nkeys_of_scan(IndexTableScan *scan);
extern void loose_start(IndexTableScan *scan);
extern TupleTableSlot *loose_next(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_LOOSE_H */
