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

#include "access/htup_details.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/itemptr.h"
#include "storage/lockdefs.h"
#include "utils/partcache.h"
#include "utils/sortsupport.h"

#include "../definition/index_partition.h"
#include "../definition/routing.h"
#include "../indextable.h"
#include "apply.h"
#include "diff.h"
#include "narrow_key.h"
#include "table_writer.h"
#include "write_entry.h"

static void apply_to_parts(IndexDef *def, Relation rel, OpList *list, bool keep);
static void apply_op_list(Writer *w, OpList *list, bool keep);
static inline int compare_ops(const Op *a, const Op *b, IndexDef *def);
static void sort_ops(IndexDef *def, OpList *list);

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

	if (def->covering && list->widest > def->max_covered_bytes)
		narrow_key_for_ops(def, list);
	rel = try_relation_open(def->relid, NoLock);	/* batch_lock() has locked
													 * it */
	if (rel == NULL)
		return false;
	if (def->parts != NULL)
		apply_to_parts(def, rel, list, keep);
	else
	{
		open_writer(&writer, def, rel);
		apply_op_list(&writer, list, keep);
		close_writer(&writer);
	}
	relation_close(rel, NoLock);
	return true;
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

		/*
		 * An entry may have been found elsewhere: another collation has
		 * another order, and other hashes.
		 */
		if (list->ops[i].kind == OP_DELETE && ItemPointerIsValid(&list->ops[i].place.tid) &&
			(part[i] < 0 || partitions->oids[part[i]] != list->ops[i].place.table))
			for (p = 0; p < partitions->nparts; p++)
				if (partitions->oids[p] == list->ops[i].place.table)
					part[i] = p;
		if (part[i] < 0)
			report_no_partition(def);
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
		apply_op_list(&writer, &sub, keep);
		close_writer(&writer);
		relation_close(leaf, NoLock);
	}
	pfree(part);
	pfree(first);
	pfree(ops);
}

static void
apply_op_list(Writer *w, OpList *list, bool keep)
{
	IndexDef   *def = w->def;
	bool		in_order;
	int			pass;
	int			i;
	int			j;

	/*
	 * A unique key is checked row by row, as a unique index checks it: where
	 * entries go as well as come, their order decides what is a conflict. The
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
		 * The drain and the build take rows in the order of their primary
		 * key, and so had better write the index on that in this order.
		 */
		if (w->row >= 0 && list->n > 1)
		{
			w->deferred = palloc_extended(sizeof(Deferred) * list->n, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
			w->ndeferred = list->n;
		}

		/*
		 * What goes, goes first: a user's unique index on the index table
		 * must not meet the old entry of a row together with the new.
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
