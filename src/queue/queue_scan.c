/*-------------------------------------------------------------------------
 *
 * queue_scan.c
 *	  Reads a queue table, and skips the blocks that cannot hold anything any more.
 *
 * Rows are added to a queue table at its end and deleted from its beginning.  While an
 * old snapshot keeps the server from removing what was deleted, reading the table from
 * the beginning would take longer and longer.  So each backend remembers, for each
 * queue table, which blocks it need not read any more.  Such a block is called closed:
 * all its rows are deleted for good, as they are when the transaction has committed that
 * deleted them, or the one rolled back that inserted them; and no further rows can be
 * added to it.
 *
 * Why no further rows can be added.  A writer appends to the block that is the last one
 * when it looks for room; see append() in append.c.  So once another block follows, only
 * those transactions can still add to a block that had chosen it before, and all of them
 * hold a lock on the table.  When all these locks are released, a block without rows is
 * closed.  Until then a block is kept in a list, and so is a block with rows of
 * transactions that are still in progress, so that the blocks after it can be skipped all
 * the same.  A block in the list is read again when its LSN has changed, or when such a
 * transaction has ended, since that does not change the block.
 *
 * All of that is a cache of what is committed and cannot change any more.  It may be lost
 * at any time, and it is right for every transaction.  If the table was truncated, that
 * shows by its file, by its length, or by the LSN of a closed block.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "../indextable.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "queue.h"

/* A block in the list: it has to be read again, unless nothing has happened to it. */
typedef struct Revisit
{
	BlockNumber block;
	bool		empty;			/* all its rows are deleted for good */
	XLogRecPtr	lsn;			/* its LSN when it was read; invalid: it is
								 * read again in any case */
	TransactionId blocker;		/* the transaction in progress that has rows
								 * in it; invalid: none */
	uint64		epoch;			/* in which it was put into the list; another
								 * block followed it by then */
} Revisit;

/* What this backend remembers of a queue table. */
typedef struct QueueScanState
{
	Oid			relid;			/* hash key */
	RelFileNumber file;			/* if it is another one, the table was emptied */
	BlockNumber first;			/* every block before it is closed, or in the
								 * list */
	BlockNumber mark;			/* the last closed block, and ... */
	XLogRecPtr	mark_lsn;		/* ... its LSN; invalid: none is closed */
	int			nrevisits;
	int			maxrevisits;
	Revisit    *revisits;		/* the list */
	uint64		epoch;			/* of blocks that are put into the list now */
	int			nholders;
	VirtualTransactionId *holders;	/* those that had a lock on the table when
									 * the epoch began: only they may add to
									 * blocks of earlier epochs */
} QueueScanState;

/* What was found in a block when it was read. */
typedef struct BlockFindings
{
	int			pending;		/* rows that are not deleted for good */
	int			in_progress;	/* those of them that were inserted by
								 * transactions in progress */
	TransactionId blocker;		/* the only such transaction; invalid: there
								 * is none, or several */
	bool		stopped;		/* visit has returned false */
	XLogRecPtr	lsn;			/* of the block; invalid: it must be read
								 * again in any case */
} BlockFindings;

static HTAB *scan_states = NULL;	/* of QueueScanState */

static QueueScanState *get_scan_state(Relation rel, BlockNumber blocks);
static void forget_blocks(QueueScanState *state);
static bool revisit(QueueScanState *state, Relation rel, Snapshot snapshot, queue_visitor visit,
					void *arg);
static void add_revisit(QueueScanState *state, BlockNumber block, BlockFindings *found);
static bool unchanged(Relation rel, BlockNumber block, XLogRecPtr lsn);
static void close_blocks(QueueScanState *state, Relation rel);
static bool any_same(VirtualTransactionId *a, int na, VirtualTransactionId *b, int nb);
static bool get_tuple(Relation rel, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple);
static void scan_block(Relation rel, BlockNumber block, Snapshot snapshot, queue_visitor visit,
					   void *arg, BlockFindings *found);

/*
 * get_scan_state
 *		Returns what this backend remembers of a queue table that has this many blocks now;
 *		nothing if the table was truncated since.
 */
static QueueScanState *
get_scan_state(Relation rel, BlockNumber blocks)
{
	Oid			relid = RelationGetRelid(rel);
	QueueScanState *state;
	bool		found;

	if (scan_states == NULL)
		scan_states = hash_by_oid("indextable queue positions", 16, sizeof(QueueScanState), NULL);
	state = hash_search(scan_states, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset(state, 0, sizeof(QueueScanState));
		state->relid = relid;
	}
	else if (state->file == relation_file(rel) && state->first <= blocks &&
			 !RecoveryInProgress())
	{
		/*
		 * A superuser's VACUUM may have truncated the table, and writers may
		 * have filled it again.
		 */
		if (XLogRecPtrIsInvalid(state->mark_lsn) ||
			unchanged(rel, state->mark, state->mark_lsn))
			return state;
	}
	state->file = relation_file(rel);
	forget_blocks(state);
	return state;
}

/* forget_blocks: makes the scan read the table from its beginning */
static void
forget_blocks(QueueScanState *state)
{
	state->first = 0;
	state->mark_lsn = InvalidXLogRecPtr;
	state->nrevisits = 0;
	state->nholders = 0;
}

/*
 * queue_scan
 *		Calls visit for each row that the snapshot sees and that is not deleted by now,
 *		until visit returns false.  Returns false if it did.
 *
 * *position is 0, or the block where the scan goes on that stopped there before.
 * Afterwards it is the block where this scan has stopped, or the length of the table.
 * visit is called with the buffer locked: it must not do more than copy.
 */
bool
queue_scan(Relation rel, Snapshot snapshot, BlockNumber *position, queue_visitor visit, void *arg)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	QueueScanState *state = get_scan_state(rel, blocks);
	bool		stopped = false;
	BlockNumber block;

	if (*position == 0 && !revisit(state, rel, snapshot, visit, arg))
		return false;
	for (block = Max(*position, state->first); block < blocks && !stopped; block++)
	{
		BlockFindings found;

		CHECK_FOR_INTERRUPTS();
		scan_block(rel, block, snapshot, visit, arg, &found);
		stopped = found.stopped;
		if (!stopped && found.pending == found.in_progress && block + 1 < blocks &&
			block == state->first)
		{
			add_revisit(state, block, &found);
			state->first = block + 1;
		}
	}
	*position = stopped ? block - 1 : blocks;
	close_blocks(state, rel);
	return !stopped;
}

/*
 * revisit
 *		Reads those blocks in the list again to which something may have happened.  Returns
 *		false if visit has returned false.
 */
static bool
revisit(QueueScanState *state, Relation rel, Snapshot snapshot, queue_visitor visit, void *arg)
{
	TransactionId ended = InvalidTransactionId;
	TransactionId in_progress = InvalidTransactionId;

	for (int i = 0; i < state->nrevisits; i++)
	{
		Revisit    *r = &state->revisits[i];
		BlockFindings found;

		CHECK_FOR_INTERRUPTS();
		/* Neighbouring blocks often have rows of the same transaction. */
		if (TransactionIdIsValid(r->blocker) && r->blocker != in_progress && r->blocker != ended)
		{
			if (TransactionIdIsInProgress(r->blocker))
				in_progress = r->blocker;
			else
				ended = r->blocker;
		}
		if (!XLogRecPtrIsInvalid(r->lsn) &&
			!(TransactionIdIsValid(r->blocker) && r->blocker == ended) &&
			unchanged(rel, r->block, r->lsn))
			continue;
		scan_block(rel, r->block, snapshot, visit, arg, &found);
		r->empty = (found.pending == 0);
		r->blocker = found.blocker;
		r->lsn = found.lsn;
		if (found.stopped)
			return false;
	}
	return true;
}

/* add_revisit: puts a block into the list, with what was found in it */
static void
add_revisit(QueueScanState *state, BlockNumber block, BlockFindings *found)
{
	Revisit    *r;

	if (state->nrevisits == state->maxrevisits)
		state->revisits = grow_array(state->revisits, &state->maxrevisits, 64, sizeof(Revisit), TopMemoryContext);
	r = &state->revisits[state->nrevisits++];
	r->block = block;
	r->empty = (found->pending == 0);
	r->lsn = found->lsn;
	r->blocker = found->blocker;
	r->epoch = state->epoch;
}

/* unchanged: returns whether a block still has this LSN, and so is as it was then */
static bool
unchanged(Relation rel, BlockNumber block, XLogRecPtr lsn)
{
	Buffer		buffer = ReadBuffer(rel, block);
	bool		same = (BufferGetLSNAtomic(buffer) == lsn);

	ReleaseBuffer(buffer);
	return same;
}

/*
 * close_blocks
 *		Takes the blocks off the list that are closed, and begins a new epoch, if none of the
 *		transactions holds its lock any more that held one when this epoch began.
 *
 * Then nobody can add to blocks of earlier epochs any more, and if no other session holds
 * a lock at all, nobody can add to any block of the list.  This session itself cannot
 * either: append() looks for the last block each time.  A row may still have been added
 * to a block after it was read and before the lock was released.  So the LSN is compared
 * after the locks were looked at: if it is the same, the block is still empty, and it
 * stays so.
 */
static void
close_blocks(QueueScanState *state, Relation rel)
{
	LOCKTAG		tag;
	VirtualTransactionId *holders;
	int			nholders;
	bool		all;
	int			keep = 0;

	/* A standby does not know the locks of writers on its primary. */
	if (state->nrevisits == 0 || RecoveryInProgress())
		return;
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, RelationGetRelid(rel));
	holders = GetLockConflicts(&tag, ShareLock, &nholders);
	all = (nholders == 0);
	if (!all && any_same(holders, nholders, state->holders, state->nholders))
	{
		pfree(holders);
		return;
	}
	for (int i = 0; i < state->nrevisits; i++)
	{
		Revisit    *r = &state->revisits[i];

		if (!r->empty || !(all || r->epoch < state->epoch) || !unchanged(rel, r->block, r->lsn))
			state->revisits[keep++] = *r;
		else if (XLogRecPtrIsInvalid(state->mark_lsn) || r->block > state->mark)
		{
			state->mark = r->block;
			state->mark_lsn = r->lsn;
		}
	}
	state->nrevisits = keep;

	/* Only these transactions may add to the blocks that are left. */
	state->epoch++;
	if (state->holders != NULL)
		pfree(state->holders);
	state->holders = MemoryContextAlloc(TopMemoryContext,
										sizeof(VirtualTransactionId) * Max(nholders, 1));
	memcpy(state->holders, holders, sizeof(VirtualTransactionId) * nholders);
	state->nholders = nholders;
	pfree(holders);
}

/* any_same: returns whether a transaction is in both arrays */
static bool
any_same(VirtualTransactionId *a, int na, VirtualTransactionId *b, int nb)
{
	for (int i = 0; i < na; i++)
		for (int k = 0; k < nb; k++)
			if (VirtualTransactionIdEquals(a[i], b[k]))
				return true;
	return false;
}

/*
 * get_tuple
 *		Sets *tuple to the row of an item of a page, which is locked, and of which nothing
 *		is copied; returns false if the item has none.
 */
static bool
get_tuple(Relation rel, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	ItemId		item = PageGetItemId(page, offset);

	if (!ItemIdIsNormal(item))
		return false;
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(rel);
	ItemPointerSet(&tuple->t_self, block, offset);
	return true;
}

/*
 * scan_block
 *		Reads a block, calls visit, unless it is NULL, as queue_scan() does, and notes in
 *		*found which rows the block has.
 */
static void
scan_block(Relation rel, BlockNumber block, Snapshot snapshot, queue_visitor visit, void *arg,
		   BlockFindings *found)
{
	Buffer		buffer = ReadBuffer(rel, block);
	Page		page;
	OffsetNumber max;
	OffsetNumber offset;
	bool		several = false;

	memset(found, 0, sizeof(BlockFindings));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	max = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (offset = FirstOffsetNumber; offset <= max; offset++)
	{
		HeapTupleData tuple;
		TransactionId dead_after;
		HTSV_Result state;

		if (!get_tuple(rel, page, block, offset, &tuple))
			continue;
		state = HeapTupleSatisfiesVacuumHorizon(&tuple, buffer, &dead_after);
		if (state == HEAPTUPLE_DEAD || state == HEAPTUPLE_RECENTLY_DEAD)
			continue;
		found->pending++;
		if (state == HEAPTUPLE_INSERT_IN_PROGRESS &&
			!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple.t_data)))
		{
			TransactionId xmin = HeapTupleHeaderGetXmin(tuple.t_data);

			found->in_progress++;
			several |= TransactionIdIsValid(found->blocker) && found->blocker != xmin;
			found->blocker = xmin;
		}
		else if (visit != NULL && !found->stopped &&
				 HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer))
			found->stopped = !visit(&tuple, arg);
	}
	/* Any of several may end first, and that does not change the block. */
	if (several)
		found->blocker = InvalidTransactionId;
	found->lsn = several || found->pending > found->in_progress ? InvalidXLogRecPtr :
		BufferGetLSNAtomic(buffer);
	UnlockReleaseBuffer(buffer);
}

/*
 * queue_count_pending_blocks
 *		Returns how many blocks there are from the first one on with rows that are not
 *		deleted for good.
 *
 * It is an estimate, found by halving: rows are deleted roughly in the order in which they
 * were added.
 */
BlockNumber
queue_count_pending_blocks(Relation rel)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber low = get_scan_state(rel, blocks)->first;
	BlockNumber high = blocks;

	while (low < high)
	{
		BlockNumber middle = low + (high - low) / 2;
		BlockFindings found;

		scan_block(rel, middle, NULL, NULL, NULL, &found);
		if (found.pending > 0)
			high = middle;
		else
			low = middle + 1;
	}
	return blocks - low;
}

/*
 * queue_is_removable
 *		Returns whether no snapshot sees a row of the table.  If the table is locked against
 *		writers, that stays so.
 */
bool
queue_is_removable(Relation rel)
{
	BlockNumber block = RelationGetNumberOfBlocks(rel);
	TransactionId oldest = GetOldestNonRemovableTransactionId(rel);
	bool		removable = true;

	/* The youngest rows, the most likely to be seen, are at the end. */
	while (removable && block-- > 0)
	{
		Buffer		buffer = ReadBuffer(rel, block);
		Page		page;
		OffsetNumber offset;

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		for (offset = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page); removable && offset > 0; offset--)
		{
			HeapTupleData tuple;
			HTSV_Result state;

			if (!get_tuple(rel, page, block, offset, &tuple))
				continue;
			state = HeapTupleSatisfiesVacuum(&tuple, oldest, buffer);
			removable = (state == HEAPTUPLE_DEAD);
		}
		UnlockReleaseBuffer(buffer);
	}
	return removable;
}
