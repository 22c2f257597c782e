/*-------------------------------------------------------------------------
 *
 * scan_and.h
 *	  Finds, of the entries of a scan, those whose rows other index tables find, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_AND_H
#define INDEXTABLE_SCAN_AND_H

#include "scan_state.h"

typedef const char *(*StartEntries) (IndexTableScan *scan);
typedef TupleTableSlot *(*NextEntry) (IndexTableScan *scan);

extern void and_begin(IndexTableScan *scan, EState *estate, int eflags);
extern const char *and_start(IndexTableScan *scan, StartEntries start, NextEntry next);
extern bool and_contains(IndexTableScan *scan, TupleTableSlot *entry, NextEntry next);
extern TupleTableSlot *entry_of_part(IndexTableScan *scan, TupleTableSlot *entry, int part);
extern void and_restart(IndexTableScan *scan);
extern void and_end(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_AND_H */
