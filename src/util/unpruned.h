/*-------------------------------------------------------------------------
 *
 * unpruned.h
 *	  Reads rows by an index without cleaning up the pages that they are in.
 *
 * A scan that comes to a page of a heap through an index removes dead rows from it, if it
 * is nearly full.  That is for the next update of a row, whose new version may then
 * stay in the page: a HOT update.  The upkeep mostly comes to delete an entry, or to see
 * that it is there.  New entries are put elsewhere, since the server hears of the space
 * that this makes in a page only from VACUUM, which removes dead rows itself.  So the work
 * would be for nothing, and it is more than the rest of the deletion.
 *
 * Only in the page that new rows go to at the moment does the space serve the next entry.
 * That page is cleaned up: otherwise a few rows whose keys change all the time would fill
 * one page after another with their old entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNPRUNED_H
#define INDEXTABLE_UNPRUNED_H

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * serves_insertion
 *		Returns whether the next row that this session inserts is likely to go to a block.
 */
static inline bool
serves_insertion(Relation rel, BlockNumber block)
{
	return block == RelationGetTargetBlock(rel);
}

/*
 * skip_pruning
 *		Has index_fetch_heap(), which is to be called next, leave the page as it is, unless
 *		space in it is of use.  The scan has just come to a new place in the index.
 *
 * A heap prunes a page only when a scan comes to it from another one.  So the scan is
 * given the page already.  It holds one page at a time, which is this one from now on,
 * and releases it as it would have.  Other kinds of tables know nothing of pages, or keep
 * something else in their scans.
 */
static inline void
skip_pruning(IndexScanDesc scan)
{
	Relation	rel = scan->heapRelation;
	BlockNumber block = ItemPointerGetBlockNumber(&scan->xs_heaptid);

	if (rel->rd_tableam == GetHeapamTableAmRoutine() && !serves_insertion(rel, block))
	{
		IndexFetchHeapData *fetch = (IndexFetchHeapData *) scan->xs_heapfetch;

		fetch->xs_cbuf = ReleaseAndReadBuffer(fetch->xs_cbuf, rel, block);
	}
}

/* index_getnext_slot_unpruned: does what index_getnext_slot() does, without pruning */
static inline bool
index_getnext_slot_unpruned(IndexScanDesc scan, ScanDirection direction, TupleTableSlot *slot)
{
	for (;;)
	{
		/*
		 * Versions of a row that SnapshotSelf sees follow each other in one
		 * place.
		 */
		if (!scan->xs_heap_continue)
		{
			if (index_getnext_tid(scan, direction) == NULL)
				return false;
			skip_pruning(scan);
		}
		if (index_fetch_heap(scan, slot))
			return true;
	}
}

#endif							/* INDEXTABLE_UNPRUNED_H */
