/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Reads a queue table from where it may still hold something.
 *
 * Called by drain.c, wait.c, backlog.c and rotate.c.
 *
 * A queue is appended to at one end and deleted from at the other.  While some
 * old snapshot keeps the server from removing what was deleted, reading it from
 * the beginning would take longer and longer.  So each backend remembers, for
 * each queue table, which blocks it need not look at any more.  Such a block is
 * closed: all its rows are deleted for good, and no further ones can come.
 *
 * Writers append to what is the last block when they look for room; see queue.c.
 * So once another block follows, only those can still add to it who were at it
 * by then: they hold a lock on the table.  When they have all released it, a
 * block without rows is closed.  Until then, and as long as transactions with
 * rows in it are under way, a block is kept in a list, which holds up nobody
 * else; it is looked at again when its LSN has changed, or when such a
 * transaction has ended, which leaves no trace in it.
 *
 * All of that is a cache of what is committed and cannot change any more: it
 * may be lost at any time, and is wrong for no transaction.  A table that was
 * truncated shows by its file, by its length, or by the LSN of a closed block.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lockdefs.h"
#include "storage/procarray.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "scan.h"

/* A block before the first that is not closed. */
typedef struct Revisit
{
	BlockNumber block;
	bool		empty;			/* all its rows are deleted for good */
	XLogRecPtr	lsn;			/* when it was looked at; invalid: look in any
								 * case */
	TransactionId blocker;		/* under way, with rows in it; invalid: none */
	uint64		epoch;			/* when it was followed by another block
								 * already */
} Revisit;

typedef struct QueueScanState
{
	Oid			relid;			/* hash key */
	RelFileNumber file;			/* another one: emptied since */
	BlockNumber first;			/* every block before it is closed, or in the
								 * list */
	BlockNumber mark;			/* the last closed block, and ... */
	XLogRecPtr	mark_lsn;		/* ... its LSN; invalid: none is closed */
	int			nrevisits;
	int			maxrevisits;
	Revisit    *revisits;
	uint64		epoch;			/* of blocks that are put into the list */
	int			nholders;		/* those who may add to blocks of earlier
								 * epochs */
	VirtualTransactionId *holders;
} QueueScanState;

/* What looking at a block has found. */
typedef struct Findings
{
	int			pending;		/* rows that are not deleted for good */
	int			in_progress;	/* of those, inserted by transactions under
								 * way */
	TransactionId blocker;		/* the only one of these; invalid: none or
								 * several */
	bool		stopped;		/* the caller had enough */
	XLogRecPtr	lsn;			/* invalid: look again in any case */
} Findings;

static HTAB *segments = NULL;

static QueueScanState *get_segment(Relation rel, BlockNumber blocks);
static void forget_blocks(QueueScanState *segment);
static bool revisit(QueueScanState *segment, Relation rel, Snapshot snapshot, queue_visitor visit,
					void *arg);
static void add_revisit(QueueScanState *segment, BlockNumber block, Findings *found);
static bool unchanged(Relation rel, BlockNumber block, XLogRecPtr lsn);
static void close_blocks(QueueScanState *segment, Relation rel);
static bool any_same(VirtualTransactionId *a, int na, VirtualTransactionId *b, int nb);
static void scan_block(Relation rel, BlockNumber block, Snapshot snapshot, queue_visitor visit,
					   void *arg, Findings *found);

/*
 * queue_open_to_read
 *		Opens a queue table for those who only look, and must not be held up by a
 *		lock; false if there is one.  NULL if the table is gone.
 */
bool
queue_open_to_read(Oid relid, Relation *rel)
{
	*rel = NULL;
	if (!OidIsValid(relid))
		return true;
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	*rel = try_relation_open(relid, NoLock);
	return true;
}

static QueueScanState *
get_segment(Relation rel, BlockNumber blocks)
{
	Oid			relid = RelationGetRelid(rel);
	QueueScanState *segment;
	bool		found;

	if (segments == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(QueueScanState);
		segments = hash_create("indextable queue positions", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	segment = hash_search(segments, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset(segment, 0, sizeof(QueueScanState));
		segment->relid = relid;
	}
	else if (segment->file == relation_file(rel) && segment->first <= blocks &&
			 !RecoveryInProgress())
	{
		/*
		 * A superuser's VACUUM may have truncated it, and writers filled it
		 * again.
		 */
		if (XLogRecPtrIsInvalid(segment->mark_lsn) ||
			unchanged(rel, segment->mark, segment->mark_lsn))
			return segment;
	}
	segment->file = relation_file(rel);
	forget_blocks(segment);
	return segment;
}

static void
forget_blocks(QueueScanState *segment)
{
	segment->first = 0;
	segment->mark_lsn = InvalidXLogRecPtr;
	segment->nrevisits = 0;
	segment->nholders = 0;
}

/*
 * queue_scan
 *		Calls visit for each row that the snapshot sees and that is not deleted by
 *		now, in the order of the table, until it returns false.
 *
 * A scan that goes on where another one stopped has that block in *position;
 * otherwise it is 0.  Afterwards it is the block where this one stopped, and the
 * result is false, or the end of the table.  visit is called with the buffer
 * locked: it must not do more than copy.
 */
bool
queue_scan(Relation rel, Snapshot snapshot, BlockNumber *position, queue_visitor visit, void *arg)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	QueueScanState *segment = get_segment(rel, blocks);
	bool		stopped = false;
	BlockNumber block;

	if (*position == 0 && !revisit(segment, rel, snapshot, visit, arg))
		return false;
	for (block = Max(*position, segment->first); block < blocks && !stopped; block++)
	{
		Findings	found;

		CHECK_FOR_INTERRUPTS();
		scan_block(rel, block, snapshot, visit, arg, &found);
		stopped = found.stopped;
		if (!stopped && found.pending == found.in_progress && block + 1 < blocks &&
			block == segment->first)
		{
			add_revisit(segment, block, &found);
			segment->first = block + 1;
		}
	}
	*position = stopped ? block - 1 : blocks;
	close_blocks(segment, rel);
	return !stopped;
}

/* revisit: looks at the blocks of the list again; false if visit had enough */
static bool
revisit(QueueScanState *segment, Relation rel, Snapshot snapshot, queue_visitor visit, void *arg)
{
	TransactionId over = InvalidTransactionId;
	TransactionId under_way = InvalidTransactionId;
	int			i;

	for (i = 0; i < segment->nrevisits; i++)
	{
		Revisit    *r = &segment->revisits[i];
		Findings	found;

		CHECK_FOR_INTERRUPTS();
		/* Neighbours often wait for the same transaction. */
		if (TransactionIdIsValid(r->blocker) && r->blocker != under_way && r->blocker != over)
		{
			if (TransactionIdIsInProgress(r->blocker))
				under_way = r->blocker;
			else
				over = r->blocker;
		}
		if (!XLogRecPtrIsInvalid(r->lsn) &&
			!(TransactionIdIsValid(r->blocker) && r->blocker == over) &&
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

static void
add_revisit(QueueScanState *segment, BlockNumber block, Findings *found)
{
	Revisit    *r;

	if (segment->nrevisits == segment->maxrevisits)
	{
		int			max = Max(segment->maxrevisits * 2, 64);

		segment->revisits = segment->revisits == NULL ?
			MemoryContextAlloc(TopMemoryContext, sizeof(Revisit) * max) :
			repalloc_huge(segment->revisits, sizeof(Revisit) * max);
		segment->maxrevisits = max;
	}
	r = &segment->revisits[segment->nrevisits++];
	r->block = block;
	r->empty = (found->pending == 0);
	r->lsn = found->lsn;
	r->blocker = found->blocker;
	r->epoch = segment->epoch;
}

/* unchanged: whether a block is as it was when it had this LSN */
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
 *		Takes those off the list that are closed: all empty ones, if nobody holds a
 *		lock on the table; those of earlier epochs, if nobody does who did when
 *		the present epoch began.  Only now that nobody can add to them any more it
 *		shows whether anybody has since they were looked at.
 */
static void
close_blocks(QueueScanState *segment, Relation rel)
{
	LOCKTAG		tag;
	VirtualTransactionId *holders;
	int			nholders;
	bool		all;
	int			keep = 0;
	int			i;

	/* Writers of a primary are not seen on its standby. */
	if (segment->nrevisits == 0 || RecoveryInProgress())
		return;
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, RelationGetRelid(rel));
	holders = GetLockConflicts(&tag, ShareLock, &nholders);
	all = (nholders == 0);
	if (!all && any_same(holders, nholders, segment->holders, segment->nholders))
	{
		pfree(holders);
		return;
	}
	for (i = 0; i < segment->nrevisits; i++)
	{
		Revisit    *r = &segment->revisits[i];

		if (!r->empty || !(all || r->epoch < segment->epoch) || !unchanged(rel, r->block, r->lsn))
			segment->revisits[keep++] = *r;
		else if (XLogRecPtrIsInvalid(segment->mark_lsn) || r->block > segment->mark)
		{
			segment->mark = r->block;
			segment->mark_lsn = r->lsn;
		}
	}
	segment->nrevisits = keep;

	/* Whoever may add to the blocks that are left is among these. */
	segment->epoch++;
	if (segment->holders != NULL)
		pfree(segment->holders);
	segment->holders = MemoryContextAlloc(TopMemoryContext,
										  sizeof(VirtualTransactionId) * Max(nholders, 1));
	memcpy(segment->holders, holders, sizeof(VirtualTransactionId) * nholders);
	segment->nholders = nholders;
	pfree(holders);
}

static bool
any_same(VirtualTransactionId *a, int na, VirtualTransactionId *b, int nb)
{
	int			i;
	int			k;

	for (i = 0; i < na; i++)
		for (k = 0; k < nb; k++)
			if (VirtualTransactionIdEquals(a[i], b[k]))
				return true;
	return false;
}

static void
scan_block(Relation rel, BlockNumber block, Snapshot snapshot, queue_visitor visit, void *arg,
		   Findings *found)
{
	Buffer		buffer = ReadBuffer(rel, block);
	Page		page;
	OffsetNumber max;
	OffsetNumber offset;
	bool		several = false;

	memset(found, 0, sizeof(Findings));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	max = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (offset = FirstOffsetNumber; offset <= max; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);
		HeapTupleData tuple;
		TransactionId dead_after;
		HTSV_Result state;

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationGetRelid(rel);
		ItemPointerSet(&tuple.t_self, block, offset);

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
	/* Any of several may end first, which leaves no trace in the block. */
	if (several)
		found->blocker = InvalidTransactionId;
	found->lsn = several || found->pending > found->in_progress ? InvalidXLogRecPtr :
		BufferGetLSNAtomic(buffer);
	UnlockReleaseBuffer(buffer);
}

/*
 * queue_count_pending_blocks
 *		How many blocks there are from the first on that has rows which are not
 *		deleted for good.  Found by halving: rows are deleted in the order in which
 *		they came, more or less.
 */
BlockNumber
queue_count_pending_blocks(Relation rel)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber low = get_segment(rel, blocks)->first;
	BlockNumber high = blocks;

	while (low < high)
	{
		BlockNumber middle = low + (high - low) / 2;
		Findings	found;

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
 *		Whether no snapshot sees a row of the table: for good if it is locked
 *		against writers.
 */
bool
queue_is_removable(Relation rel)
{
	BlockNumber block = RelationGetNumberOfBlocks(rel);
	TransactionId oldest = GetOldestNonRemovableTransactionId(rel);
	bool		removable = true;

	/* From the end, where the youngest are. */
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
			ItemId		item = PageGetItemId(page, offset);
			HeapTupleData tuple;
			HTSV_Result state;

			if (!ItemIdIsNormal(item))
				continue;
			tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
			tuple.t_len = ItemIdGetLength(item);
			tuple.t_tableOid = RelationGetRelid(rel);
			ItemPointerSet(&tuple.t_self, block, offset);
			state = HeapTupleSatisfiesVacuum(&tuple, oldest, buffer);
			removable = (state == HEAPTUPLE_DEAD);
		}
		UnlockReleaseBuffer(buffer);
	}
	return removable;
}
