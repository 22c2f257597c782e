/*-------------------------------------------------------------------------
 *
 * direct_write.c
 *	  Writes the entries of one row straight into an index table that needs nothing
 *	  special.
 *
 * The general path, of table_writer.c and write_entry.c, opens all indexes, makes slots and
 * gathers insertions, which pays where there are many.  Most statements change one row,
 * whose few entries cost more there to prepare than to write.  They can be written without
 * preparation if the index table is a heap that has no other index than its primary key, and
 * that key does not have to be checked as a unique one.
 *
 * Whatever comes up here that has to be looked at more closely is left to the general path:
 * the whole list, before anything is written, or one operation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/compat.h"
#include "../util/lock.h"
#include "../util/uncounted_reads.h"
#include "../util/unpruned.h"
#include "apply.h"

/* More operations than this are better off in the general path, and so are more insertions. */
#define MAX_OPS				64
#define MAX_INSERTIONS		2

/* An index table that is being written. */
typedef struct Straight
{
	IndexDef   *def;
	Relation	rel;
	Relation	index;			/* the primary key */
	IndexScanDesc scan;			/* on it, with SnapshotSelf; opened on demand */
	Buffer		buffer;			/* the page of rel that it is at */
} Straight;

static bool open_straight(Straight *s, IndexDef *def);
static void close_straight(Straight *s);
static void insert_straight(Straight *s, Op *op);
static void delete_straight(Straight *s, Op *op);
static bool find_place(Straight *s, Op *op, ItemPointer tid);

/*
 * is_straight
 *		Returns whether operations may be written in this way, as far as they and the
 *		definition tell.
 */
bool
is_straight(IndexDef *def, OpList *list)
{
	int			insertions = 0;

#ifdef INDEXTABLE_GENERAL_PATH
	return false;
#endif
	if (list->n > MAX_OPS || def->spec.is_unique || def->spec.async || def->layout.parts != NULL ||
		def->fact->run.stale)
		return false;
	for (int i = 0; i < list->n; i++)
	{
		if (list->ops[i].kind == OP_PUT || ItemPointerIsValid(&list->ops[i].place.tid))
			return false;
		insertions += list->ops[i].kind == OP_INSERT;
	}
	return insertions <= MAX_INSERTIONS;
}

/*
 * apply_straight
 *		Applies operations, for which is_straight() is true; returns false if nothing was
 *		done, since the table or its indexes are not as they have to be.
 *
 * They are sorted, and no two of them are on the same entry.
 */
bool
apply_straight(IndexDef *def, OpList *list)
{
	Straight	s;

	if (!open_straight(&s, def))
		return false;
	begin_command();
	/* Deletions come first, as in the general path. */
	for (int i = 0; i < list->n && list->deletes; i++)
		if (list->ops[i].kind == OP_DELETE)
			delete_straight(&s, &list->ops[i]);
	for (int i = 0; i < list->n; i++)
		if (list->ops[i].kind == OP_INSERT)
			insert_straight(&s, &list->ops[i]);
	close_straight(&s);
	return true;
}

/*
 * open_straight
 *		Opens the table and its primary key; returns false, with nothing open, if they are
 *		not as they have to be, or if the table does not exist any more.
 *
 * The list of indexes that the relcache has is up to date, or marked as not valid: a
 * session that adds an index waits for the end of those transactions that had locked the
 * table before, and all others hear of it when they get their lock.  It is not made here,
 * but in the general path.
 */
static bool
open_straight(Straight *s, IndexDef *def)
{
	Relation	rel = RelationIdGetRelation(def->relid);
	Relation	index;

	if (rel == NULL)
		return false;
	Assert(CheckRelationLockedByMe(rel, RowExclusiveLock, true));
	if (rel->rd_tableam != GetHeapamTableAmRoutine() || !rel->rd_indexvalid ||
		list_length(rel->rd_indexlist) != 1 || linitial_oid(rel->rd_indexlist) != def->layout.primary_index)
	{
		RelationClose(rel);
		return false;
	}
	(void) lock_once(def->layout.primary_index, RowExclusiveLock, &def->run.index_locked);
	index = RelationIdGetRelation(def->layout.primary_index);
	if (index == NULL || def->fact->run.stale ||
		!(def->layout.has_primary_key ? index->rd_index->indisprimary : index->rd_index->indnullsnotdistinct) ||
		!index->rd_index->indisready || index->rd_index->indnkeyatts != def->layout.nident)
	{
		/* The lock has brought news. */
		if (index != NULL)
			RelationClose(index);
		RelationClose(rel);
		return false;
	}
	Assert(CheckRelationLockedByMe(index, RowExclusiveLock, true));
	pgstat_init_relation(rel);
	pgstat_init_relation(index);
	s->def = def;
	s->rel = rel;
	s->index = index;
	s->scan = NULL;
	s->buffer = InvalidBuffer;
	return true;
}

static void
close_straight(Straight *s)
{
	if (BufferIsValid(s->buffer))
		ReleaseBuffer(s->buffer);
	if (s->scan != NULL)
		index_endscan(s->scan);
	RelationClose(s->index);
	RelationClose(s->rel);
}

/*
 * insert_straight
 *		Inserts an entry; if there seems to be one with its key already, the general path sees
 *		to that.
 */
static void
insert_straight(Straight *s, Op *op)
{
	IndexInfo  *info = s->def->layout.primary_info;
	HeapTuple	tuple = op->tuple;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	heap_insert(s->rel, tuple, writing_command(), 0, NULL);
	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		values[i] = op_value(s->def, op, info->ii_IndexAttrNumbers[i], &isnull[i]);
	if (!index_insert(s->index, values, isnull, &tuple->t_self, s->rel, UNIQUE_CHECK_PARTIAL, false, info))
	{
		Writer		writer;

		BEGIN_WRITER(&writer, s->def, s->rel);
		{
			settle_insert(&writer, tuple);
		}
		END_WRITER(&writer);
	}
}

/*
 * delete_straight
 *		Deletes an entry, if it exists; if it changes meanwhile, the general path deletes it.
 */
static void
delete_straight(Straight *s, Op *op)
{
	ItemPointerData tid;
	TM_FailureData failure;

	if (find_place(s, op, &tid) &&
		heap_delete_compat(s->rel, &tid, writing_command(), true, &failure) != TM_Ok)
	{
		Writer		writer;

		BEGIN_WRITER(&writer, s->def, s->rel);
		{
			write_op(&writer, op, true, false);
		}
		END_WRITER(&writer);
	}
}

/*
 * find_place
 *		Returns whether there is an entry with the identity of an operation, and its place in *tid.
 *
 * This is index_getnext_slot() without a slot, for a heap, and with no more pruning than
 * util/unpruned.h says.
 */
static bool
find_place(Straight *s, Op *op, ItemPointer tid)
{
	IndexDef   *def = s->def;
	ScanKeyData keys[INDEX_MAX_KEYS];
	bool		found = false;

	memcpy(keys, def->layout.search_keys, sizeof(ScanKeyData) * def->layout.nsearch);
	for (int i = 0; i < def->layout.nsearch; i++)
	{
		bool		isnull;
		Datum		value = op_value(def, op, def->layout.ident[i], &isnull);

		set_search_key(&keys[i], value, isnull);
	}
	if (s->scan == NULL)
		s->scan = index_beginscan_compat(s->rel, s->index, SnapshotSelf, def->layout.nsearch);
	stop_counting(s->index);
	index_rescan(s->scan, keys, def->layout.nsearch, NULL, 0);
	while (!found && index_getnext_tid(s->scan, ForwardScanDirection) != NULL)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&s->scan->xs_heaptid);
		HeapTupleData entry;
		bool		all_dead;

		*tid = s->scan->xs_heaptid;
		s->buffer = ReleaseAndReadBuffer(s->buffer, s->rel, block);
		if (serves_insertion(s->rel, block))
			heap_page_prune_opt_compat(s->rel, s->buffer);
		LockBuffer(s->buffer, BUFFER_LOCK_SHARE);
		found = heap_hot_search_buffer(tid, s->rel, s->buffer, SnapshotSelf, &entry, &all_dead, true);
		LockBuffer(s->buffer, BUFFER_LOCK_UNLOCK);
		/* The next search need not come here again. */
		s->scan->kill_prior_tuple = !found && all_dead;
	}
	go_on_counting(s->index);
	return found;
}
