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
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Rows of a partition that comes or goes, of which entries are written together. */
#define MAX_ROWS			10000

typedef struct Root
{
	Oid			relid;			/* hash key: any table */
	Oid			root;			/* see root_of() */
} Root;

static HTAB *roots = NULL;

static void forget_roots(Oid relid);
static Oid	find_root(Oid relid, bool *detached);
static void read_partition(FactDef *def, Relation root, Relation rel, bool comes);
static void flush(FactDef *def, OpList *lists, MemoryContext cxt);

static ChangeListener roots_listener = {.any_relation = forget_roots};

/* forget_roots: of a table that has changed, or of all */
static void
forget_roots(Oid relid)
{
	HASH_SEQ_STATUS seq;
	Root	   *root;

	if (roots == NULL)
		return;
	if (OidIsValid(relid))
	{
		hash_search(roots, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&seq, roots);
	while ((root = hash_seq_search(&seq)) != NULL)
		hash_search(roots, &root->relid, HASH_REMOVE, NULL);
}

/*
 * root_of
 *		The fact table that a table is a partition of, however deep; or the table
 *		itself.  InvalidOid if its rows are nobody's any more, as it is being detached;
 *		the mark that says so is set under a lock that keeps out its writers, who hear
 *		of it when they have theirs.
 */
Oid
root_of(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	Root	   *root;
	bool		found;
	bool		detached;
	Oid			result;

	if (!rel->rd_rel->relispartition)
		return relid;
	if (roots == NULL)
	{
		HASHCTL		ctl;

		listen_to_changes(&roots_listener);
		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(Root);
		roots = hash_create("indextable roots", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	root = hash_search(roots, &relid, HASH_FIND, NULL);
	if (root != NULL)
		return root->root;
	result = find_root(relid, &detached);
	if (detached && result == relid && !catalog_has_fact(relid))
		result = InvalidOid;
	root = hash_search(roots, &relid, HASH_ENTER, &found);
	root->root = result;
	return result;
}

/* registered_root: the same by the catalogs; of one that is being detached, itself */
Oid
registered_root(Oid relid)
{
	bool		detached;

	return find_root(relid, &detached);
}

/* find_root: the fact table that a table is part of, or itself; *detached: whether it is being detached from another */
static Oid
find_root(Oid relid, bool *detached)
{
	Oid			result = relid;
	TransactionId mark;

	*detached = false;
	while (OidIsValid(relid = tree_parent(relid, &mark)))
	{
		if (TransactionIdIsValid(mark))
		{
			*detached = true;
			break;
		}
		if (catalog_has_fact(relid))
			result = relid;
	}
	return result;
}

/* root_before: the fact table that a table is being detached from, directly or with its parent; InvalidOid: none */
Oid
root_before(Oid relid)
{
	Oid			result = InvalidOid;
	bool		detached = false;
	TransactionId mark;

	while (OidIsValid(relid = tree_parent(relid, &mark)))
	{
		detached |= TransactionIdIsValid(mark);
		if (detached && catalog_has_fact(relid))
			result = relid;
	}
	return result;
}

/*
 * refuse_detached
 *		Rows of a partition that is being detached are of no concern, but where the
 *		transaction's snapshot is from before that: to it they are still those of the
 *		fact table, and what it writes would lack entries.
 */
void
refuse_detached(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	TransactionId mark;
	bool		gone = false;

	if (!IsolationUsesXactSnapshot() || !catalog_fact_in_use(root_before(relid)))
		return;
	while (!gone && OidIsValid(relid = tree_parent(relid, &mark)))
		gone = TransactionIdIsValid(mark) && !XidInMVCCSnapshot(mark, GetActiveSnapshot());
	if (!gone)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access because partition \"%s\" is being detached",
						RelationGetRelationName(rel)),
				 errhint("The transaction might succeed if retried.")));
}

/* with_partitions: a relation, and its partitions, which may be fact tables; not those that are being detached */
List *
with_partitions(Oid relid)
{
	if (!OidIsValid(relid))
		return NIL;
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		tree_of(relid, NULL, NoLock, false) : list_make1_oid(relid);
}

/* leaves_of: the tables that hold the rows of a table, as a snapshot sees it, or NULL: now; locked */
List *
leaves_of(Oid relid, Snapshot snapshot, LOCKMODE mode)
{
	List	   *result = NIL;
	ListCell   *cell;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relid);
	foreach(cell, tree_of(relid, snapshot, mode, false))
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
		(void) tree_of(relid, NULL, mode, false);
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

/* same_map: whether columns are numbered in the same way */
static bool
same_map(AttrMap *a, AttrMap *b)
{
	return a == NULL || b == NULL ? a == b :
		a->maplen == b->maplen && memcmp(a->attnums, b->attnums, sizeof(AttrNumber) * a->maplen) == 0;
}

/* is_deferrable: whether an index is of a constraint that is checked later than at each row */
static bool
is_deferrable(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	result = !((Form_pg_index) GETSTRUCT(tuple))->indimmediate;
	ReleaseSysCache(tuple);
	return result;
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
	/* One of a definition that has become stale since may have been altered before it was locked. */
	if (def->last_leaf != NULL && def->last_leaf->relid == relid && !def->stale)
		return def->last_leaf;
	leaf = hash_search(def->leaves, &relid, HASH_FIND, NULL);
	if (leaf == NULL || def->stale)
	{
		bool		is_foreign = rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
		Oid			pk_index = is_foreign ? InvalidOid : row_key_index(def, rel);
		AttrMap    *map = attribute_map(RelationGetDescr(rel), def->desc);
		TupleTableSlot *slots[2] = {NULL, NULL};

		watch_relation(relid);
		/* A definition may be stale for long, as it is used. */
		if (leaf != NULL && same_map(leaf->map, map))
		{
			map = leaf->map;
			memcpy(slots, leaf->slots, sizeof(slots));
		}
		else if (map != NULL)
		{
			/* All that can fail comes before the entry, which lasts. */
			old = MemoryContextSwitchTo(def->cxt);
			map = attribute_map(RelationGetDescr(rel), def->desc);
			slots[0] = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
			slots[1] = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
			MemoryContextSwitchTo(old);
		}
		leaf = hash_search(def->leaves, &relid, HASH_ENTER, &found);
		leaf->is_foreign = is_foreign;
		leaf->pk_index = pk_index;
		/* ATTACH PARTITION lets a partition have a key that is checked later than the table's. */
		def->pk_deferrable |= OidIsValid(pk_index) && is_deferrable(pk_index);
		leaf->map = map;
		memcpy(leaf->slots, slots, sizeof(slots));
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
 *		which entries go, and nothing is read there.  So they do for one that is being
 *		detached, whose entries are gone already, or else (an older version of this
 *		library has left them) not those of the rows that it has by now.
 */
void
partition_rows(Oid root, Oid partition, bool comes)
{
	Relation	root_rel = relation_open(root, AccessShareLock);
	Relation	rel = relation_open(partition, NoLock);
	bool		by_bounds = !comes && (foreign_leaves(partition) != NIL || OidIsValid(root_before(partition)));
	FactDef    *def;

	do
		def = definition_of_fact(root_rel, root);
	while (!definition_settled(def, definition_lock(def, 0, def->nsync)));
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

	/* What goes with what is the server's business from then on. */
	adopt_all();
	noted = NIL;
	callback->func = forget_noted;
	MemoryContextRegisterResetCallback(TopTransactionContext, callback);
	foreach(cell, list_concat(catalog_fact_tables(), catalog_index_tables()))
	{
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			continue;
		foreach(inner, with_partitions(lfirst_oid(cell)))
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
