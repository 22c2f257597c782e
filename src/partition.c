/*-------------------------------------------------------------------------
 *
 * partition.c
 *	  The partitions of fact tables: which table's they are, how their columns are
 *	  numbered, and what follows when one comes or goes with its rows.
 *
 * Called by trigger.c for every row, by liverow.c and sample.c, and by alter.c and
 * drop.c.  Index tables are registered under the partitioned table, the root.  Rows
 * come from its leaf partitions, whose columns may be numbered in another way; to
 * everything else they are shown as the root has them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Rows of a partition that comes or goes, of which entries are written together. */
#define MAX_ROWS			10000

typedef struct Root
{
	Oid			relid;			/* hash key: any table */
	Oid			root;			/* the fact table that it is part of, or itself */
} Root;

static HTAB *roots = NULL;

static void forget_roots(Datum arg, Oid relid);
static void read_partition(FactDef *def, Relation root, Relation rel, bool comes);
static void flush(FactDef *def, OpList *lists, MemoryContext cxt);

/* partition_init: called once, when the library is loaded */
void
partition_init(void)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(Root);
	roots = hash_create("indextable roots", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(forget_roots, (Datum) 0);
}

static void
forget_roots(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS seq;
	Root	   *root;

	if (OidIsValid(relid))
	{
		hash_search(roots, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&seq, roots);
	while ((root = hash_seq_search(&seq)) != NULL)
		hash_search(roots, &root->relid, HASH_REMOVE, NULL);
}

/* root_of: the fact table that a table is a partition of, however deep; or the table itself */
Oid
root_of(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	Root	   *root;
	bool		found;
	Oid			result;

	if (!rel->rd_rel->relispartition)
		return relid;
	root = hash_search(roots, &relid, HASH_FIND, NULL);
	if (root != NULL)
		return root->root;
	result = registered_root(relid);
	root = hash_search(roots, &relid, HASH_ENTER, &found);
	root->root = result;
	return result;
}

/* registered_root: the same by the catalogs */
Oid
registered_root(Oid relid)
{
	Oid			result = relid;

	/* One that is about to be detached is written still. */
	while (get_rel_relispartition(relid))
	{
		relid = get_partition_parent(relid, true);
		if (catalog_has_fact(relid))
			result = relid;
	}
	return result;
}

/* with_partitions: a relation, and its partitions, which may be fact tables */
List *
with_partitions(Oid relid)
{
	if (!OidIsValid(relid))
		return NIL;
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(relid, NoLock, NULL) : list_make1_oid(relid);
}

/* leaves_of: the tables that hold the rows of a table, locked */
List *
leaves_of(Oid relid, LOCKMODE mode)
{
	List	   *result = NIL;
	ListCell   *cell;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relid);
	foreach(cell, find_all_inheritors(relid, mode, NULL))
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			result = lappend_oid(result, lfirst_oid(cell));
	return result;
}

/* foreign_leaves: those of them that are on other servers, not locked */
List *
foreign_leaves(Oid relid)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, with_partitions(relid))
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			result = lappend_oid(result, lfirst_oid(cell));
	return result;
}

/* lock_tree: a table, and the partitions that can be written without it */
void
lock_tree(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		(void) find_all_inheritors(relid, mode, NULL);
}

/* lock_tree_now: the same without waiting; false, and none is locked, if one is not to be had */
bool
lock_tree_now(Oid relid, LOCKMODE mode)
{
	List	   *tables = with_partitions(relid);
	int			i;

	for (i = 0; i < list_length(tables); i++)
	{
		if (ConditionalLockRelationOid(list_nth_oid(tables, i), mode))
			continue;
		while (--i >= 0)
			UnlockRelationOid(list_nth_oid(tables, i), mode);
		return false;
	}
	return true;
}

/* unlock_tree: before the transaction ends, as nothing was done under the lock */
void
unlock_tree(Oid relid, LOCKMODE mode)
{
	ListCell   *cell;

	foreach(cell, with_partitions(relid))
		UnlockRelationOid(lfirst_oid(cell), mode);
}

/* leaf_of: how the columns of a partition are numbered, as long as the definition lasts */
Leaf *
leaf_of(FactDef *def, Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	bool		found;
	Leaf	   *leaf;
	MemoryContext old;

	if (!def->partitioned)
		return NULL;
	if (def->last_leaf != NULL && def->last_leaf->relid == relid)
		return def->last_leaf;
	leaf = hash_search(def->leaves, &relid, HASH_FIND, NULL);
	if (leaf == NULL)
	{
		bool		is_foreign = rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
		Oid			pk_index = is_foreign ? InvalidOid : row_key_index(def, rel);
		AttrMap    *map;

		old = MemoryContextSwitchTo(def->cxt);
		map = attribute_map(RelationGetDescr(rel), def->desc);
		leaf = hash_search(def->leaves, &relid, HASH_ENTER, &found);
		leaf->is_foreign = is_foreign;
		leaf->pk_index = pk_index;
		leaf->map = map;
		leaf->slots[0] = leaf->slots[1] = NULL;
		if (leaf->map != NULL)
		{
			leaf->slots[0] = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
			leaf->slots[1] = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
		}
		MemoryContextSwitchTo(old);
	}
	def->last_leaf = leaf;
	return leaf;
}

/*
 * as_of_root
 *		A row of a partition with the columns of the root; which of two slots to use.
 *		Where functions of users are called, which may write this table again, each
 *		row has a slot of its own, in the current memory context.
 */
TupleTableSlot *
as_of_root(FactDef *def, Leaf *leaf, TupleTableSlot *row, int which)
{
	if (leaf == NULL || leaf->map == NULL || row == NULL)
		return row;
	return execute_attr_map_slot(leaf->map, row, def->users_code ?
								 MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual) : leaf->slots[which]);
}

/*
 * partition_rows
 *		A table that is part of a fact table comes with its rows, or goes: has their
 *		entries written or deleted, or the rows queued.  It is locked against writers.
 *		What goes and is on another server may be out of reach: then the bounds tell
 *		which entries go, and nothing is read there.
 */
void
partition_rows(Oid root, Oid partition, bool comes)
{
	Relation	root_rel = relation_open(root, AccessShareLock);
	Relation	rel = relation_open(partition, NoLock);
	bool		by_bounds = !comes && foreign_leaves(partition) != NIL;
	FactDef    *def;

	do
	{
		def = definition_of_fact(root_rel, root);
		definition_lock(def, 0, def->nsync);
	} while (def->stale);
	definition_pin(def);
	PG_TRY();
	{
		if (by_bounds)
			entries_leave(def, rel);
		else
			read_partition(def, root_rel, rel, comes);
	}
	PG_FINALLY();
	{
		definition_unpin(def);
	}
	PG_END_TRY();
	relation_close(rel, NoLock);
	relation_close(root_rel, NoLock);
}

static void
read_partition(FactDef *def, Relation root, Relation rel, bool comes)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable partition",
											  ALLOCSET_DEFAULT_SIZES);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	OpList	   *lists = palloc0(sizeof(OpList) * Max(def->nsync, 1));
	BlockScan	scan;
	TupleTableSlot *row;
	int			n = 0;
	int			i;

	sample_begin(&scan, def, rel, snapshot, 100, 0);
	while ((row = sample_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		FactRow		factrow;

		CHECK_FOR_INTERRUPTS();
		if (scan.foreign != NULL)
			require_in_bounds(def, root, RelationGetRelid(scan.rel), row, true);
		if (def->queued != NULL)
			queue_collect(def, row);
		if (def->nsync > 0)
			factrow_init(&factrow, def, row);
		for (i = 0; i < def->nsync; i++)
		{
			Entries		none;
			Entries		entries;
			int			skipped;

			entries_init(&none, def->defs[i]);
			entries_init(&entries, def->defs[i]);
			skipped = extract_entries(def->defs[i], &factrow, comes, &entries);
			if (comes)
				lists[i].skipped += skipped;
			diff_entries(def->defs[i], comes ? &none : &entries, comes ? &entries : &none,
						 &lists[i], cxt);
		}
		MemoryContextSwitchTo(old);
		if (++n % MAX_ROWS == 0)
			flush(def, lists, cxt);
	}
	sample_end(&scan);
	flush(def, lists, cxt);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(cxt);
}

static void
flush(FactDef *def, OpList *lists, MemoryContext cxt)
{
	batch_write_lists(def, lists, false);
	memset(lists, 0, sizeof(OpList) * def->nsync);
	MemoryContextReset(cxt);
}

/* A partition of a fact table or an index table, noted before a command that may drop it. */
typedef struct Noted
{
	Oid			root;
	Oid			partition;
} Noted;

static List *noted = NIL;		/* of Noted *, as long as the transaction */

static void
forget_noted(void *arg)
{
	noted = NIL;
}

/*
 * note_partitions
 *		Before DROP SCHEMA and DROP OWNED, which may take partitions along: their rows
 *		cannot be read any more when that is known.
 */
void
note_partitions(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ListCell   *cell;
	ListCell   *inner;

	noted = NIL;
	callback->func = forget_noted;
	MemoryContextRegisterResetCallback(TopTransactionContext, callback);
	foreach(cell, list_concat(catalog_fact_tables(), catalog_index_tables()))
	{
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			continue;
		foreach(inner, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
		{
			Noted	   *n = palloc(sizeof(Noted));

			n->root = lfirst_oid(cell);
			n->partition = lfirst_oid(inner);
			noted = lappend(noted, n);
		}
	}
	MemoryContextSwitchTo(old);
}

/* lost_partitions: the fact tables and index tables that are still there, and have lost some; forgets what was noted */
List *
lost_partitions(void)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, noted)
	{
		Noted	   *n = lfirst(cell);

		if (get_rel_relkind(n->root) == RELKIND_PARTITIONED_TABLE && get_rel_name(n->partition) == NULL)
			result = list_append_unique_oid(result, n->root);
	}
	noted = NIL;
	return result;
}
