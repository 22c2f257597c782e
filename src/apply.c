/*-------------------------------------------------------------------------
 *
 * apply.c
 *	  Writes index tables, straight through the table and index access methods.
 *
 * The only code that does: called by batch.c with the operations of a statement,
 * by drain.c with those of many changes, and by build.c with the entries of a
 * whole index table.
 *
 * Entries are looked for with SnapshotSelf: as they are at this moment, not as
 * the transaction's snapshot shows them.  The writer of a fact row has it
 * locked, or the drain the queue, and so has its entries to itself.  An insertion never relies on not
 * having seen the entry: the index says whether there is one.  If somebody is
 * just writing or deleting an equal key, we wait for the outcome; where keys are
 * unique, before our own entry is in the index for others to wait for, as a
 * unique index does.  An entry of another row that is in the way may be there for
 * the time being only: see claim.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "indextable.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "usage.h"
#include "utils/datum.h"
#include "utils/partcache.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

/* Entries handed to the table at a time. */
#define CHUNK				256

/* How the entries of a new index table are written. */
#define LOAD_OPTIONS		(TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN)

/* An entry that the index on the fact row's primary key lacks. */
typedef struct Deferred
{
	HeapTuple	tuple;			/* NULL: none */
	ItemPointerData tid;
} Deferred;

typedef struct Writer
{
	IndexDef   *def;
	Relation	rel;
	int			nindexes;
	Relation   *indexes;
	IndexInfo **infos;
	int			primary;		/* which of them is the primary key */
	int			row;			/* which is on the fact row's primary key, or -1 */
	Deferred   *deferred;		/* for that, by sequence; NULL: it is written at once */
	int			ndeferred;
	EState	   *estate;			/* for indexes with expressions or predicates */
	CommandId	cid;
	IndexScanDesc scan;			/* on the primary key, SnapshotSelf; opened on demand */
	TupleTableSlot *found;		/* what it found */
	SnapshotData dirty;
	IndexScanDesc rivals;		/* the same with that: what others are writing, too */
	TupleTableSlot *rival;		/* what it found */
	int			nslots;
	int			nqueued;
	TupleTableSlot *slots[CHUNK];
	int			seqs[CHUNK];	/* -1: not to be deferred */
} Writer;

/* The last command of this transaction that wrote entries. */
static bool have_written = false;
static CommandId last_cid;

pg_noreturn static void no_partition(IndexDef *def);
static void apply_to(Writer *w, OpList *list, bool keep);
static void apply_to_parts(IndexDef *def, Relation rel, OpList *list, bool keep);
static void open_writer(Writer *w, IndexDef *def, Relation rel);
static bool same_columns(TupleDesc a, TupleDesc b);
static void close_writer(Writer *w);
static void new_command(Writer *w);
static inline int compare_ops(const Op *a, const Op *b, IndexDef *def);
static void write_op(Writer *w, Op *op, bool alone, bool keep);
static void sort_ops(IndexDef *def, OpList *list);
static void queue_insert(Writer *w, HeapTuple tuple, int seq);
static void flush_inserts(Writer *w);
static bool insert_index_entries(Writer *w, TupleTableSlot *slot, bool update,
								 TU_UpdateIndexes which, bool defer);
static void insert_deferred(Writer *w);
static bool may_insert(Writer *w, TupleTableSlot *slot);
static bool find_rival(Writer *w, TupleTableSlot *slot, bool *same);
static void await(Writer *w, TransactionId xid);
static void take_back(Writer *w, TupleTableSlot *slot);
static void keep_old(Writer *w, TupleTableSlot *slot);
static void put_entry(Writer *w, HeapTuple tuple);
static void delete_entry(Writer *w, Op *op);
static bool find_entry(Writer *w, HeapTuple tuple);
static bool update_found(Writer *w, HeapTuple tuple);
static void set_search_keys(Writer *w, HeapTuple tuple, ScanKey keys);
static bool same_row(Writer *w, HeapTuple tuple, TupleTableSlot *slot);

/* apply_at_end_of_transaction: command ids begin anew */
void
apply_at_end_of_transaction(void)
{
	have_written = false;
}

/*
 * apply_ops
 *		Writes operations in their sequence, of which only the last on an entry
 *		counts.  With keep they may have to be applied again.  False if the index
 *		table is gone.
 */
bool
apply_ops(IndexDef *def, OpList *list, bool keep)
{
	Writer		writer;
	Relation	rel;

	if (def->covering && list->widest > def->roomy)
		demote_for(def, list);
	rel = try_relation_open(def->relid, NoLock);	/* batch_lock() has locked it */
	if (rel == NULL)
		return false;
	if (def->parts != NULL)
		apply_to_parts(def, rel, list, keep);
	else
	{
		open_writer(&writer, def, rel);
		apply_to(&writer, list, keep);
		close_writer(&writer);
	}
	relation_close(rel, NoLock);
	return true;
}

/* no_partition: the error for an entry that has no place */
static void
no_partition(IndexDef *def)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("no partition of index table \"%s\" found for entry", def->name),
			 errdetail("The value of its key field \"%s\" is within the bounds of no partition.",
					   NameStr(TupleDescAttr(def->desc, def->fields[def->part_field].attno - 1)->attname)),
			 errhint("Add a partition, or a default partition.")));
}

/*
 * apply_to_parts
 *		The operations on each partition, in the order of partitions: all writers take
 *		entries in the same order.
 */
static void
apply_to_parts(IndexDef *def, Relation rel, OpList *list, bool keep)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	int		   *part = palloc_extended(sizeof(int) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	int		   *first = palloc0(sizeof(int) * (partitions->nparts + 1));
	Op		   *ops = palloc_extended(sizeof(Op) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	int			p;
	int			i;

	for (i = 0; i < list->n; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(list->ops[i].tuple, key->partattrs[0], def->desc, &isnull);

		part[i] = partitions->nparts == 0 ? -1 : partition_of(key, partitions, &value, &isnull);
		/* An entry may have been found elsewhere: another collation has another order, and other hashes. */
		if (list->ops[i].kind == OP_DELETE && ItemPointerIsValid(&list->ops[i].place.tid) &&
			(part[i] < 0 || partitions->oids[part[i]] != list->ops[i].place.table))
			for (p = 0; p < partitions->nparts; p++)
				if (partitions->oids[p] == list->ops[i].place.table)
					part[i] = p;
		if (part[i] < 0)
			no_partition(def);
		first[part[i] + 1]++;
	}
	for (p = 0; p < partitions->nparts; p++)
		first[p + 1] += first[p];
	for (i = 0; i < list->n; i++)
		ops[first[part[i]]++] = list->ops[i];
	for (p = 0; p < partitions->nparts; p++)
	{
		OpList		sub = *list;
		int			from = p == 0 ? 0 : first[p - 1];
		Writer		writer;
		Relation	leaf;

		sub.ops = ops + from;
		sub.n = first[p] - from;
		if (sub.n == 0)
			continue;
		/* Numbered anew: see Deferred. */
		for (i = 0; i < sub.n; i++)
			sub.ops[i].seq = i;
		leaf = relation_open(partitions->oids[p], RowExclusiveLock);
		open_writer(&writer, def, leaf);
		apply_to(&writer, &sub, keep);
		close_writer(&writer);
		relation_close(leaf, NoLock);
	}
	pfree(part);
	pfree(first);
	pfree(ops);
}

static void
apply_to(Writer *w, OpList *list, bool keep)
{
	IndexDef   *def = w->def;
	bool		in_order;
	int			pass;
	int			i;
	int			j;

	/*
	 * A unique key is checked row by row, as a unique index checks it: where
	 * entries go as well as come, their order decides what is a conflict.  The
	 * drain, while it is built, knows no order: only the outcome counts.
	 */
	in_order = def->is_unique && list->deletes && !def->async;
	if (!in_order)
		sort_ops(def, list);
	new_command(w);

	if (in_order)
	{
		for (i = 0; i < list->n; i++)
		{
			write_op(w, &list->ops[i], true, keep);
			flush_inserts(w);
			new_command(w);
		}
	}
	else
	{
		/*
		 * The drain and the build take rows in the order of their primary key,
		 * and so had better write the index on that in this order.
		 */
		if (w->row >= 0 && list->n > 1)
		{
			w->deferred = palloc_extended(sizeof(Deferred) * list->n, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
			w->ndeferred = list->n;
		}

		/*
		 * What goes, goes first: a user's unique index on the index table must
		 * not meet the old entry of a row together with the new.
		 */
		for (pass = 0; pass < (list->deletes ? 2 : 1); pass++)
		{
			for (i = 0; i < list->n; i = j)
			{
				for (j = i + 1; j < list->n; j++)
					if (compare_ops(&list->ops[i], &list->ops[j], def) != 0)
						break;
				if (!list->deletes || (list->ops[j - 1].kind == OP_DELETE) == (pass == 0))
					write_op(w, &list->ops[j - 1], j == i + 1, keep);
			}
		}
	}
	flush_inserts(w);
	insert_deferred(w);
}

/* write_op: the last operation on an entry; alone if there are no others */
static void
write_op(Writer *w, Op *op, bool alone, bool keep)
{
	if (op->kind == OP_DELETE)
		delete_entry(w, op);
	else if (op->kind == OP_INSERT && alone)
		queue_insert(w, keep ? heap_copytuple(op->tuple) : op->tuple, op->seq);
	else
		put_entry(w, op->tuple);
}

/* compare_ops: by identity; the first two columns are at hand */
static inline int
compare_ops(const Op *a, const Op *b, IndexDef *def)
{
	SortSupport sort = def->write_sort;
	bool		null;
	int			c;
	int			i;

	c = ApplySortComparator(a->abbreviated, false, b->abbreviated, false, &sort[0]);
	if (c == 0 && sort[0].abbrev_converter != NULL && !(a->short_first && b->short_first))
		c = ApplySortAbbrevFullComparator(a->first, false, b->first, false, &sort[0]);
	if (c != 0 || def->nident == 1)
		return c;
	c = ApplySortComparator(a->second, false, b->second, false, &sort[1]);
	for (i = 2; c == 0 && i < def->nident; i++)
		c = ApplySortComparator(heap_getattr(a->tuple, def->ident[i], def->desc, &null), false,
								heap_getattr(b->tuple, def->ident[i], def->desc, &null), false,
								&sort[i]);
	return c;
}

static inline int
compare_ops_in_sequence(const Op *a, const Op *b, IndexDef *def)
{
	int			c = compare_ops(a, b, def);

	return c != 0 ? c : a->seq < b->seq ? -1 : 1;
}

#define ST_SORT sort_op_array
#define ST_ELEMENT_TYPE Op
#define ST_COMPARE(a, b, def) compare_ops_in_sequence(a, b, def)
#define ST_COMPARE_ARG_TYPE IndexDef
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * sort_ops
 *		Neighbours share pages, and all writers take entries in the same order.
 */
static void
sort_ops(IndexDef *def, OpList *list)
{
	if (list->n > 1)
		sort_op_array(list->ops, list->n, def);
}

/* open_writer: of an index table, or of one partition */
static void
open_writer(Writer *w, IndexDef *def, Relation rel)
{
	IndexPart  *part = def->parts == NULL ? NULL : index_part(def, rel);
	Oid			primary_index = part != NULL ? part->primary_index : def->primary_index;
	Oid			row_index = part != NULL ? part->row_index : def->row_index;
	List	   *indexes;
	ListCell   *cell;
	int			i = 0;

	memset(w, 0, offsetof(Writer, slots));
	w->def = def;
	w->rel = rel;
	indexes = RelationGetIndexList(w->rel);
	w->primary = w->row = -1;
	w->nindexes = list_length(indexes);
	w->indexes = palloc(sizeof(Relation) * Max(w->nindexes, 1));
	w->infos = palloc(sizeof(IndexInfo *) * Max(w->nindexes, 1));
	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), RowExclusiveLock);

		if (!index->rd_index->indisready)
		{
			index_close(index, NoLock);
			w->nindexes--;
			continue;
		}
		if (index->rd_index->indisprimary && index->rd_index->indnkeyatts == def->nsearch)
			w->primary = i;
		else if (def->async && RelationGetRelid(index) == row_index && !index->rd_index->indisunique)
			w->row = i;
		w->infos[i] = RelationGetRelid(index) != primary_index ? BuildIndexInfo(index) :
			part != NULL ? part->primary_info : def->primary_info;
		if (w->infos[i]->ii_ExclusionOps != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index table \"%s\" has an exclusion constraint", def->name),
					 errdetail("Maintenance does not check exclusion constraints when it writes entries."),
					 errhint("Drop constraint \"%s\".", RelationGetRelationName(index))));
		if (w->estate == NULL &&
			(w->infos[i]->ii_Expressions != NIL || w->infos[i]->ii_Predicate != NIL))
			w->estate = CreateExecutorState();
		w->indexes[i++] = index;
	}

	/* Altered by the statement itself, in a nested one? */
	if (w->primary < 0 || (def->fact->stale && !same_columns(RelationGetDescr(w->rel), def->desc)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("index table \"%s\" was altered while a statement was writing it", def->name)));
}

static bool
same_columns(TupleDesc a, TupleDesc b)
{
	int			i;

	if (a->natts != b->natts)
		return false;
	for (i = 0; i < a->natts; i++)
		if (TupleDescAttr(a, i)->atttypid != TupleDescAttr(b, i)->atttypid ||
			TupleDescAttr(a, i)->attisdropped != TupleDescAttr(b, i)->attisdropped)
			return false;
	return true;
}

static void
close_writer(Writer *w)
{
	int			i;

	if (w->scan != NULL)
	{
		index_endscan(w->scan);
		ExecDropSingleTupleTableSlot(w->found);
	}
	if (w->rivals != NULL)
	{
		index_endscan(w->rivals);
		ExecDropSingleTupleTableSlot(w->rival);
	}
	for (i = 0; i < w->nslots; i++)
		ExecDropSingleTupleTableSlot(w->slots[i]);
	for (i = 0; i < w->nindexes; i++)
	{
		index_insert_cleanup(w->indexes[i], w->infos[i]);
		index_close(w->indexes[i], NoLock);
	}
	if (w->estate != NULL)
		FreeExecutorState(w->estate);
}

/*
 * new_command
 *		What was written before becomes changeable: a command cannot delete or
 *		update a row version of its own.
 */
static void
new_command(Writer *w)
{
	if (have_written && last_cid == GetCurrentCommandId(false))
		CommandCounterIncrement();
	w->cid = 0;
}

/* command_id: of the command that writes */
static CommandId
command_id(Writer *w)
{
	if (w->cid == 0)
		w->cid = GetCurrentCommandId(true);
	have_written = true;
	last_cid = w->cid;
	return w->cid;
}

static TupleTableSlot *
next_slot(Writer *w, HeapTuple tuple, int seq)
{
	TupleTableSlot *slot;

	if (w->nqueued == w->nslots)
		w->slots[w->nslots++] = MakeSingleTupleTableSlot(RelationGetDescr(w->rel),
														 &TTSOpsHeapTuple);
	w->seqs[w->nqueued] = seq >= 0 && seq < w->ndeferred ? seq : -1;
	slot = w->slots[w->nqueued];
	w->nqueued++;
	ExecStoreHeapTuple(tuple, slot, true);
	slot->tts_tableOid = RelationGetRelid(w->rel);
	return slot;
}

/* queue_insert: takes over the tuple, and frees it if it is not needed any more */
static void
queue_insert(Writer *w, HeapTuple tuple, int seq)
{
	next_slot(w, tuple, seq);
	if (w->nqueued == CHUNK)
		flush_inserts(w);
}

static void
flush_inserts(Writer *w)
{
	TupleTableSlot *conflicts[CHUNK];
	int			nconflicts = 0;
	bool		same;
	int			i;

	if (w->nqueued == 0)
		return;
	if (w->nqueued == 1)
		table_tuple_insert(w->rel, w->slots[0], command_id(w), 0, NULL);
	else
		table_multi_insert(w->rel, w->slots, w->nqueued, command_id(w), 0, NULL);
	for (i = 0; i < w->nqueued; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (w->def->is_unique && !may_insert(w, w->slots[i]))
			w->seqs[i] = -1;
		else if (!insert_index_entries(w, w->slots[i], false, (TU_UpdateIndexes) 0, w->seqs[i] >= 0))
			conflicts[nconflicts++] = w->slots[i];
		if (w->seqs[i] >= 0)
		{
			w->deferred[w->seqs[i]].tuple = ExecFetchSlotHeapTuple(w->slots[i], false, NULL);
			w->deferred[w->seqs[i]].tid = w->slots[i]->tts_tid;
		}
	}
	for (i = 0; i < nconflicts; i++)
		if (find_rival(w, conflicts[i], &same) && same)
			keep_old(w, conflicts[i]);
	for (i = 0; i < w->nqueued; i++)
	{
		if (w->seqs[i] >= 0)
			w->slots[i]->tts_flags &= ~TTS_FLAG_SHOULDFREE; /* it is needed again */
		ExecClearTuple(w->slots[i]);
	}
	w->nqueued = 0;
}

/*
 * insert_index_entries
 *		False if the primary key may have the entry already.
 */
static bool
insert_index_entries(Writer *w, TupleTableSlot *slot, bool update, TU_UpdateIndexes which,
					 bool defer)
{
	bool		is_new = true;
	int			i;

	for (i = 0; i < w->nindexes; i++)
	{
		IndexInfo  *info = w->infos[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		IndexUniqueCheck check = !info->ii_Unique ? UNIQUE_CHECK_NO :
			i == w->primary && !w->def->is_unique ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES;

		if ((update && !index_needs_update(which, info)) || (defer && i == w->row))
			continue;
		if (w->estate != NULL)
		{
			ResetPerTupleExprContext(w->estate);
			GetPerTupleExprContext(w->estate)->ecxt_scantuple = slot;
			if (info->ii_Predicate != NIL)
			{
				if (info->ii_PredicateState == NULL)
					info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, w->estate);
				if (!ExecQual(info->ii_PredicateState, GetPerTupleExprContext(w->estate)))
					continue;
			}
		}
		FormIndexDatum(info, slot, w->estate, values, isnull);
		if (!index_insert(w->indexes[i], values, isnull, &slot->tts_tid, w->rel,
						  check, false, info) && i == w->primary)
			is_new = false;
	}
	return is_new;
}

/* insert_deferred: into the index on the fact row's primary key, in its order */
static void
insert_deferred(Writer *w)
{
	TupleTableSlot *slot = w->deferred == NULL ? NULL :
		MakeSingleTupleTableSlot(RelationGetDescr(w->rel), &TTSOpsHeapTuple);
	int			i;

	for (i = 0; i < w->ndeferred; i++)
	{
		Deferred   *entry = &w->deferred[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		if (entry->tuple == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		ExecStoreHeapTuple(entry->tuple, slot, false);
		FormIndexDatum(w->infos[w->row], slot, w->estate, values, isnull);
		index_insert(w->indexes[w->row], values, isnull, &entry->tid, w->rel, UNIQUE_CHECK_NO,
					 false, w->infos[w->row]);
	}
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
}

/*
 * may_insert
 *		Whether an entry with a unique key is to go into the indexes; it is in the
 *		table already.  It is not if its row has it already, or has lost the key by
 *		now.  If another row's entry has the key by right, the index says so.
 */
static bool
may_insert(Writer *w, TupleTableSlot *slot)
{
	bool		same;
	TransactionId wait;
	ItemPointerData tid;
	TM_FailureData failure;
	TM_Result	result;

	while (find_rival(w, slot, &same))
	{
		if (same)
		{
			keep_old(w, slot);
			return false;
		}
		if (w->def->async)
			return true;
		switch (claim_key(w->def, w->rival, slot, &wait))
		{
			case CLAIM_STAYS:
				return true;
			case CLAIM_WAIT:
				await(w, wait);
				break;
			case CLAIM_NOT_NEW:
				take_back(w, slot);
				return false;
			case CLAIM_NEW:
				tid = w->rival->tts_tid;
				ExecClearTuple(w->rival);
				new_command(w);
				result = table_tuple_delete_compat(w->rel, &tid, command_id(w), true, &failure);
				if (result != TM_Ok && result != TM_Updated && result != TM_Deleted)
					elog(ERROR, "unexpected result %d of deleting an entry of index table \"%s\"",
						 (int) result, w->def->name);
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/*
 * find_rival
 *		Whether there is an entry with an equal key beside our own; rival then holds
 *		it.  If one is the same, of the same fact row, it is that.  Waits for whoever
 *		is just writing or deleting one.
 */
static bool
find_rival(Writer *w, TupleTableSlot *slot, bool *same)
{
	IndexDef   *def = w->def;
	Relation	index = w->indexes[w->primary];
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
	ScanKeyData keys[INDEX_MAX_KEYS];
	bool		found;

	if (w->rivals == NULL)
	{
		InitDirtySnapshot(w->dirty);
		w->rivals = index_beginscan_compat(w->rel, index, &w->dirty, def->nsearch);
		w->rival = table_slot_create(w->rel, NULL);
	}
	set_search_keys(w, tuple, keys);
	*same = false;
	for (;;)
	{
		TransactionId wait = InvalidTransactionId;

		found = false;
		stop_counting(index);
		index_rescan(w->rivals, keys, def->nsearch, NULL, 0);
		while (!found && index_getnext_slot(w->rivals, ForwardScanDirection, w->rival))
		{
			if (ItemPointerEquals(&w->rival->tts_tid, &slot->tts_tid))
				continue;
			wait = TransactionIdIsValid(w->dirty.xmin) ? w->dirty.xmin : w->dirty.xmax;
			found = true;
			*same = same_row(w, tuple, w->rival);
		}
		if (found)
		{
			/* No page is held while we wait. */
			ExecMaterializeSlot(w->rival);
			index_rescan(w->rivals, NULL, def->nsearch, NULL, 0);
		}
		go_on_counting(index);
		if (!TransactionIdIsValid(wait))
			break;
		await(w, wait);
	}
	return found;
}

/* await: the end of a transaction that decides whether the rival is one */
static void
await(Writer *w, TransactionId xid)
{
	ItemPointerData tid = w->rival->tts_tid;

	ExecClearTuple(w->rival);
	XactLockTableWait(xid, w->rel, &tid, XLTW_InsertIndex);
}

/* take_back: an entry that is in the table, but not to stay */
static void
take_back(Writer *w, TupleTableSlot *slot)
{
	TM_FailureData failure;

	new_command(w);
	if (table_tuple_delete_compat(w->rel, &slot->tts_tid, command_id(w), true, &failure) != TM_Ok)
		elog(ERROR, "could not take back an entry of index table \"%s\"", w->def->name);
}

/* keep_old: takes back an entry that was there already, which gets its payload */
static void
keep_old(Writer *w, TupleTableSlot *slot)
{
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);

	/* It is another row's, under the same primary key, which may go with it. */
	if (w->def->fact->pk_deferrable && !w->def->async)
		note_shared_key(w->def->fact, slot, w->def->pk_attno);
	take_back(w, slot);
	if (!find_entry(w, tuple) || !update_found(w, tuple))
		elog(ERROR, "an entry of index table \"%s\" vanished", w->def->name);
}

/* put_entry: replaces an entry's payload, or inserts it */
static void
put_entry(Writer *w, HeapTuple tuple)
{
	while (find_entry(w, tuple))
	{
		if (update_found(w, tuple))
			return;
		CHECK_FOR_INTERRUPTS();
	}
	queue_insert(w, heap_copytuple(tuple), -1);
}

static void
delete_entry(Writer *w, Op *op)
{
	ItemPointerData tid = op->place.tid;

	/* Where it is may be known already. */
	while (ItemPointerIsValid(&tid) || find_entry(w, op->tuple))
	{
		TM_FailureData failure;
		TM_Result	result;

		if (!ItemPointerIsValid(&tid))
		{
			tid = w->found->tts_tid;
			ExecClearTuple(w->found);
		}
		result = table_tuple_delete_compat(w->rel, &tid, command_id(w), true, &failure);
		if (result == TM_Ok)
			return;
		if (result != TM_Updated && result != TM_Deleted)
			elog(ERROR, "unexpected result %d of deleting an entry of index table \"%s\"",
				 (int) result, w->def->name);
		ItemPointerSetInvalid(&tid);
		CHECK_FOR_INTERRUPTS();
	}
}

/* find_entry: whether the entry is there; found then holds it */
static bool
find_entry(Writer *w, HeapTuple tuple)
{
	Relation	index = w->indexes[w->primary];
	ScanKeyData keys[INDEX_MAX_KEYS];
	bool		found = false;

	if (w->scan == NULL)
	{
		w->scan = index_beginscan_compat(w->rel, index, SnapshotSelf, w->def->nsearch);
		w->found = table_slot_create(w->rel, NULL);
	}
	set_search_keys(w, tuple, keys);
	stop_counting(index);
	index_rescan(w->scan, keys, w->def->nsearch, NULL, 0);
	while (!found && index_getnext_slot(w->scan, ForwardScanDirection, w->found))
		found = same_row(w, tuple, w->found);
	go_on_counting(index);
	return found;
}

/* update_found: gives the entry found the bytes of tuple; false if it is gone */
static bool
update_found(Writer *w, HeapTuple tuple)
{
	ItemPointerData tid = w->found->tts_tid;
	TU_UpdateIndexes which = TU_None;
	TM_FailureData failure;
	LockTupleMode lockmode;
	TM_Result	result;
	TupleTableSlot *slot;
	bool		same = true;
	int			i;

	for (i = 0; i < w->def->desc->natts && same; i++)
	{
		Form_pg_attribute att = TupleDescAttr(w->def->desc, i);
		Datum		was;
		Datum		is;
		bool		was_null;
		bool		is_null;

		was = slot_getattr(w->found, i + 1, &was_null);
		is = heap_getattr(tuple, i + 1, w->def->desc, &is_null);
		same = was_null == is_null &&
			(is_null || datum_image_eq(was, is, att->attbyval, att->attlen));
	}
	ExecClearTuple(w->found);
	if (same)
		return true;

	slot = MakeSingleTupleTableSlot(RelationGetDescr(w->rel), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(heap_copytuple(tuple), slot, true);
	result = table_tuple_update_compat(w->rel, &tid, slot, command_id(w), true, &failure,
									   &lockmode, &which);
	if (result == TM_Ok && which != TU_None)
		insert_index_entries(w, slot, true, which, false);
	ExecDropSingleTupleTableSlot(slot);
	if (result != TM_Ok && result != TM_Updated && result != TM_Deleted)
		elog(ERROR, "unexpected result %d of updating an entry of index table \"%s\"",
			 (int) result, w->def->name);
	return result == TM_Ok;
}

static void
set_search_keys(Writer *w, HeapTuple tuple, ScanKey keys)
{
	IndexDef   *def = w->def;
	bool		isnull;
	int			i;

	memcpy(keys, def->search_keys, sizeof(ScanKeyData) * def->nsearch);
	for (i = 0; i < def->nsearch; i++)
		keys[i].sk_argument = heap_getattr(tuple, def->search[i], def->desc, &isnull);
}

/* same_row: whether an entry with the same key is of the same fact row */
static bool
same_row(Writer *w, HeapTuple tuple, TupleTableSlot *slot)
{
	IndexDef   *def = w->def;
	bool		isnull;
	int			i;

	for (i = def->nsearch; i < def->nident; i++)
		if (ApplySortComparator(heap_getattr(tuple, def->ident[i], def->desc, &isnull), false,
								slot_getattr(slot, def->ident[i], &isnull), false,
								&def->ident_sort[i]) != 0)
			return false;
	return true;
}

/* Entries on their way into a new index table, or into one partition of it. */
typedef struct Load
{
	Oid			relid;			/* hash key */
	Relation	rel;
	BulkInsertState state;		/* or NULL */
	MemoryContext cxt;
	TupleTableSlot *slots[CHUNK];
	int			nslots;
	int			n;
} Load;

static void
flush_load(Load *load, CommandId cid)
{
	int			i;

	CHECK_FOR_INTERRUPTS();
	if (load->n > 0)
		table_multi_insert(load->rel, load->slots, load->n, cid, LOAD_OPTIONS, load->state);
	for (i = 0; i < load->n; i++)
		ExecClearTuple(load->slots[i]);
	load->n = 0;
	MemoryContextReset(load->cxt);
}

static Load *
find_load(HTAB *loads, IndexDef *def, Relation rel, TupleTableSlot *entry)
{
	Oid			relid = RelationGetRelid(rel);
	Load	   *load;
	bool		found;
	bool		isnull;

	if (def->parts != NULL)
		relid = part_for(rel, slot_getattr(entry, def->fields[def->part_field].attno, &isnull));
	if (!OidIsValid(relid))
		no_partition(def);
	load = hash_search(loads, &relid, HASH_ENTER, &found);
	if (!found)
	{
		load->rel = relation_open(relid, RowExclusiveLock);
		/* It keeps a buffer, and there may be more partitions than buffers. */
		load->state = def->parts == NULL ? GetBulkInsertState() : NULL;
		load->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable load", ALLOCSET_DEFAULT_SIZES);
		load->nslots = load->n = 0;
	}
	return load;
}

/*
 * apply_load
 *		Writes the sorted entries of a new index table without indexes.
 *
 * They are frozen, as the table was made in this transaction: all of them are
 * visible at once when it is, so that the first queries are index-only already.
 */
void
apply_load(IndexDef *def, Relation rel, Tuplesortstate *sorted)
{
	TupleTableSlot *source = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsMinimalTuple);
	CommandId	cid = GetCurrentCommandId(true);
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(Load),.hcxt = CurrentMemoryContext};
	HTAB	   *loads = hash_create("partitions loaded", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	HASH_SEQ_STATUS seq;
	Load	   *load;
	int			i;

	while (tuplesort_gettupleslot(sorted, true, false, source, NULL))
	{
		MemoryContext old;

		load = find_load(loads, def, rel, source);
		if (load->n == load->nslots)
			load->slots[load->nslots++] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
		old = MemoryContextSwitchTo(load->cxt);
		ExecStoreHeapTuple(ExecCopySlotHeapTuple(source), load->slots[load->n], true);
		load->slots[load->n++]->tts_tableOid = load->relid;
		MemoryContextSwitchTo(old);
		if (load->n == CHUNK)
			flush_load(load, cid);
	}
	hash_seq_init(&seq, loads);
	while ((load = hash_seq_search(&seq)) != NULL)
	{
		flush_load(load, cid);
		for (i = 0; i < load->nslots; i++)
			ExecDropSingleTupleTableSlot(load->slots[i]);
		if (load->state != NULL)
			FreeBulkInsertState(load->state);
		table_finish_bulk_insert(load->rel, LOAD_OPTIONS);
		relation_close(load->rel, NoLock);
		MemoryContextDelete(load->cxt);
	}
	hash_destroy(loads);
	ExecDropSingleTupleTableSlot(source);
}
