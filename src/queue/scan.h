/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Reads queue tables, and skips what cannot hold anything any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_H
#define INDEXTABLE_SCAN_H

#include "access/htup.h"
#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* Is called for a row of a queue table; returns false to stop the scan. */
typedef bool (*queue_visitor) (HeapTuple tuple, void *arg);

extern bool queue_open_to_read(Oid relid, Relation *rel);
extern bool queue_scan(Relation rel, Snapshot snapshot, BlockNumber *position,
					   queue_visitor visit, void *arg);
extern BlockNumber queue_count_pending_blocks(Relation rel);
extern bool queue_is_removable(Relation rel);

#endif							/* INDEXTABLE_SCAN_H */
