/*-------------------------------------------------------------------------
 *
 * apply.c
 *	  Applies a list of operations to an index table, straight through the table and
 *	  index access methods.
 *
 * All changes of existing index tables are made here, whatever collects the
 * operations: the triggers for one statement, the drain for many rows.  Only a new
 * index table is filled in another way: see table_writer.c.
 *
 * This file sorts the operations, and distributes them over the partitions of an
 * index table.  direct_write.c writes the few entries of a single row.  For all others
 * write_entry.c writes one entry, and says which snapshot it looks
 * for entries with, and why no other transaction interferes; table_writer.c keeps
 * the indexes in step, and begins a new command where one is needed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "utils/acl.h"
#include "utils/partcache.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "apply.h"

#define ST_SORT sort_by_place
#define ST_ELEMENT_TYPE Op
#define ST_COMPARE(a, b) ItemPointerCompare(unconstify(ItemPointer, &(a)->place.tid), unconstify(ItemPointer, &(b)->place.tid))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Fewer operations than this are not worth a walk; see key_walk.c. */
#define MIN_WALK			16

static void apply_to_partitions(IndexDef *def, Relation rel, OpList *list, bool keep);
static void apply_to_table(IndexDef *def, Relation rel, OpList *list, bool keep);
static void apply_op_list(Writer *w, OpList *list, bool keep);
static void delete_in_known_places(Writer *w, OpList *list);
static inline int compare_ops(const Op *a, const Op *b, IndexDef *def);
static bool sort_and_mark_ops(IndexDef *def, OpList *list);

/*
 * apply_ops
 *		Applies operations to an index table; returns false if the index table does
 *		not exist any more.
 *
 * The operations have been collected in sequence, and of several on one entry only
 * the last counts.  With keep, their tuples are left as they are, because the
 * caller may have to apply them again.
 */
bool
apply_ops(IndexDef *def, OpList *list, bool keep)
{
	Relation	rel;

	if (def->layout.covering && list->widest > def->layout.max_covered_bytes)
		uncover_key_for_ops(def, list);
	else if (!keep && is_straight(def, list) && sort_and_mark_ops(def, list) && apply_straight(def, list))
		return true;
	rel = try_relation_open(def->relid, NoLock);	/* locked by the caller */
	if (rel == NULL)
		return false;
	if (def->layout.parts != NULL)
		apply_to_partitions(def, rel, list, keep);
	else
		apply_to_table(def, rel, list, keep);
	relation_close(rel, NoLock);
	return true;
}

/*
 * apply_to_partitions
 *		Applies the operations on each partition of an index table, in the order of
 *		the partitions.
 *
 * All writers keep to that order, so that two statements do not wait for each other
 * in different partitions.
 */
static void
apply_to_partitions(IndexDef *def, Relation rel, OpList *list, bool keep)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	int		   *target = palloc_extended(sizeof(int) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	int		   *first = palloc0(sizeof(int) * (partitions->nparts + 1));
	Op		   *ops = palloc_extended(sizeof(Op) * Max(list->n, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < list->n; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(list->ops[i].tuple, key->partattrs[0], def->layout.desc, &isnull);

		target[i] = partitions->nparts == 0 ? -1 : partition_of(key, partitions, &value, &isnull);

		/*
		 * An entry may have been found in another partition than the one that
		 * its value belongs to, if the collation has changed since, as its
		 * order and its hashes are others then.  It is deleted where it was
		 * found.
		 */
		if (list->ops[i].kind == OP_DELETE && ItemPointerIsValid(&list->ops[i].place.tid) &&
			(target[i] < 0 || partitions->oids[target[i]] != list->ops[i].place.table))
			for (int p = 0; p < partitions->nparts; p++)
				if (partitions->oids[p] == list->ops[i].place.table)
					target[i] = p;
		if (target[i] < 0)
			report_no_partition(def);
		first[target[i] + 1]++;
	}
	for (int p = 0; p < partitions->nparts; p++)
		first[p + 1] += first[p];
	for (int i = 0; i < list->n; i++)
		ops[first[target[i]]++] = list->ops[i];
	/* Now the operations of partition p end at first[p]. */
	for (int p = 0; p < partitions->nparts; p++)
	{
		OpList		sub = *list;
		int			from = p == 0 ? 0 : first[p - 1];
		Relation	leaf;

		sub.ops = ops + from;
		sub.n = first[p] - from;
		if (sub.n == 0)
			continue;

		/*
		 * The numbers of a writer's operations are subscripts of its array
		 * deferred.
		 */
		for (int i = 0; i < sub.n; i++)
			sub.ops[i].seq = i;
		leaf = relation_open(partitions->oids[p], RowExclusiveLock);
		apply_to_table(def, leaf, &sub, keep);
		relation_close(leaf, NoLock);
	}
	pfree(target);
	pfree(first);
	pfree(ops);
}

/* apply_to_table: applies operations to an index table, or to one of its partitions */
static void
apply_to_table(IndexDef *def, Relation rel, OpList *list, bool keep)
{
	MemoryContext cxt = CurrentMemoryContext;
	Writer		writer;

	BEGIN_WRITER(&writer, def, rel);
	{
		if (def->spec.is_unique || writer.users_code)
		{
			PG_TRY();
			{
				apply_op_list(&writer, list, keep);
			}
			PG_CATCH();
			{
				rethrow_duplicate(&writer, cxt);
			}
			PG_END_TRY();
		}
		else
			apply_op_list(&writer, list, keep);
	}
	END_WRITER(&writer);
}

/* apply_op_list: applies operations to one table, in the order that the kind of its key asks for */
static void
apply_op_list(Writer *w, OpList *list, bool keep)
{
	IndexDef   *def = w->def;
	bool		in_order;

	/*
	 * A unique key is checked row by row, as a unique index checks it: where
	 * entries are deleted as well as inserted, their order decides what is a
	 * conflict.  An index table with unique keys is asynchronous only while
	 * it is being built: the drain that does so does not know the order of
	 * the changes, and only the outcome counts.
	 */
	in_order = def->spec.is_unique && list->deletes && !def->spec.async;
	new_command(w);
	if (!in_order)
	{
		if (list->deletes && def->spec.async && !keep)
			delete_in_known_places(w, list);
		(void) sort_and_mark_ops(def, list);
	}

	if (in_order)
	{
		for (int i = 0; i < list->n; i++)
		{
			write_op(w, &list->ops[i], true, keep);
			flush_inserts(w);
			new_command(w);
		}
	}
	else
	{
		/*
		 * A drain takes rows in the order of their primary key, so the index
		 * on that is best written in the sequence of the operations, after
		 * the others.
		 */
		if (w->row_index >= 0 && list->n > 1)
		{
			w->deferred = palloc_extended(sizeof(Deferred) * list->n, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
			w->ndeferred = list->n;
		}

		/*
		 * What is sorted by identity is in about the order of the primary
		 * key.
		 */
		w->walks = list->n >= MIN_WALK && def->layout.nsearch == def->layout.nident;

		/*
		 * Deletions come before insertions: a user's unique index on the
		 * index table must not meet the old entry of a row together with the
		 * new one.
		 */
		for (int pass = 0; pass < (list->deletes ? 2 : 1); pass++)
		{
			for (int i = 0; i < list->n; i++)
			{
				Op		   *op = &list->ops[i];

				if (op->last && (!list->deletes || (op->kind == OP_DELETE) == (pass == 0)))
					write_op(w, op, op->alone, keep);
			}
		}
	}
	flush_inserts(w);
	insert_deferred(w);
}

/*
 * delete_in_known_places
 *		Deletes the entries whose places are known, and takes these operations off the list.
 *
 * So only the others have to be sorted by identity.  Where places are known, no other
 * transaction writes entries: the order does not matter to others, and that of the
 * places is the cheapest.  Two keys of a row that are equal, but written otherwise, as
 * 1.0 and 1.00, may both have led to an entry.
 */
static void
delete_in_known_places(Writer *w, OpList *list)
{
	Op		   *known = palloc_extended(sizeof(Op) * list->n, MCXT_ALLOC_HUGE);
	int			nknown = 0;
	int			n = 0;

	list->deletes = false;
	for (int i = 0; i < list->n; i++)
	{
		Op		   *op = &list->ops[i];

		if (op->kind == OP_DELETE && ItemPointerIsValid(&op->place.tid))
		{
			known[nknown++] = *op;
			continue;
		}
		list->deletes |= op->kind != OP_INSERT;
		list->ops[n] = *op;
		/* The numbers are subscripts of w->deferred. */
		list->ops[n].seq = n;
		n++;
	}
	list->n = n;
	sort_by_place(known, nknown);
	for (int i = 0; i < nknown; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i == 0 || !ItemPointerEquals(&known[i].place.tid, &known[i - 1].place.tid))
			write_op(w, &known[i], true, false);
	}
	pfree(known);
}

/*
 * compare_ops
 *		Compares entries by their identity, the first two columns of which operations have at
 *		hand.
 */
static inline int
compare_ops(const Op *a, const Op *b, IndexDef *def)
{
	SortSupport sort = def->layout.write_sort;
	bool		a_null;
	bool		b_null;
	int			c;

	if (a->first_null || b->first_null)
		c = a->first_null - b->first_null;
	else if (def->layout.brief_text)
	{
		if (a->abbreviated != b->abbreviated)
			return a->abbreviated < b->abbreviated ? -1 : 1;
		if (a->first != b->first)
			return a->first < b->first ? -1 : 1;
		c = 0;
		if (a->long_first || b->long_first)
		{
			Datum		x = heap_getattr(a->tuple, def->layout.ident[0], def->layout.desc, &a_null);
			Datum		y = heap_getattr(b->tuple, def->layout.ident[0], def->layout.desc, &b_null);

			c = ApplySortAbbrevFullComparator(x, false, y, false, &sort[0]);
		}
	}
	else
	{
		c = ApplySortComparator(a->abbreviated, false, b->abbreviated, false, &sort[0]);
		if (c == 0 && sort[0].abbrev_converter != NULL)
			c = ApplySortAbbrevFullComparator(a->first, false, b->first, false, &sort[0]);
	}
	if (c != 0 || def->layout.nident == 1)
		return c;
	c = ApplySortComparator(a->second, a->second_null, b->second, b->second_null, &sort[1]);
	for (int i = 2; c == 0 && i < def->layout.nident; i++)
	{
		Datum		a_value = heap_getattr(a->tuple, def->layout.ident[i], def->layout.desc, &a_null);
		Datum		b_value = heap_getattr(b->tuple, def->layout.ident[i], def->layout.desc, &b_null);

		c = ApplySortComparator(a_value, a_null, b_value, b_null, &sort[i]);
	}
	return c;
}

/*
 * compare_ops_in_sequence
 *		Compares operations by the identity of their entries, and those on one entry by their sequence.
 */
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
 * sort_and_mark_ops
 *		Sorts operations by identity, then sequence, and notes for each whether it is the
 *		last one on its entry, and the first.  Returns whether all are both.
 *
 * Neighbours share pages.  Writers that sort come to entries in the same order, so
 * that two statements do not wait for each other.
 */
static bool
sort_and_mark_ops(IndexDef *def, OpList *list)
{
	bool		first = true;
	bool		distinct = true;

	if (list->n > 1)
		sort_op_array(list->ops, list->n, def);
	for (int i = 0; i < list->n; i++)
	{
		Op		   *op = &list->ops[i];

		op->last = i + 1 == list->n || compare_ops(op, &op[1], def) != 0;
		op->alone = first;
		first = op->last;
		distinct = distinct && op->last;
	}
	return distinct;
}
