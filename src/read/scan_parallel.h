/*-------------------------------------------------------------------------
 *
 * scan_parallel.h
 *	  Shares a scan of an index table between a leader and parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_PARALLEL_H
#define INDEXTABLE_SCAN_PARALLEL_H

#include "scan_state.h"

extern Size shared_scan_size(IndexTableScan *scan, bool shared);
extern bool share_scan(IndexTableScan *scan, struct SharedScan *shared);
extern void join_scan(IndexTableScan *scan, struct SharedScan *shared);
extern void set_shared_keys(IndexTableScan *scan);
extern ParallelIndexScanDesc shared_index_scan(IndexTableScan *scan);
extern void stop_sharing(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_PARALLEL_H */
