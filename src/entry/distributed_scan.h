/*-------------------------------------------------------------------------
 *
 * distributed_scan.h
 *	  Reads entries of an index table that Citus has distributed, by SQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_SCAN_H
#define INDEXTABLE_DISTRIBUTED_SCAN_H

#include "access/skey.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

struct EntryScan;

typedef struct DistributedScan DistributedScan;

extern DistributedScan *distributed_scan_start(struct EntryScan *scan);
extern TupleTableSlot *distributed_scan_next(DistributedScan *scan);
extern void distributed_scan_end(DistributedScan *scan);
extern List *distributed_scan_explain(struct EntryScan *scan, ScanKey keys, bool run);

#endif							/* INDEXTABLE_DISTRIBUTED_SCAN_H */
