/*-------------------------------------------------------------------------
 *
 * fact_partition.c
 *	  Finds the fact table that a partition belongs to, and shows the partition's rows with
 *	  the columns of the fact table.
 *
 * Index tables are registered under the partitioned table, the root.  Rows come
 * from its leaf partitions, whose columns may be numbered in another way.  All other code
 * sees them as rows of the root.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/htup_details.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "fact.h"

static bool same_map(AttrMap *a, AttrMap *b);
static bool is_deferrable(Oid index);

typedef struct Root
{
	Oid			relid;			/* hash key: any partition */
	Oid			root;			/* what root_of() returns */
} Root;

static HTAB *roots = NULL;

static void forget_roots(Oid relid);
static Oid	find_root(Oid relid, bool *detached);

static ChangeListener roots_listener = {.any_relation = forget_roots};

/*
 * leaf_of
 *		Returns how a partition of a fact table stores its rows, or NULL if the fact table is
 *		not partitioned.  The result lasts as long as the definition.
 */
Leaf *
leaf_of(FactDef *def, Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	bool		found;
	Leaf	   *leaf;
	MemoryContext old;

	if (def->run.leaves == NULL || relid == def->relid)
		return NULL;

	/*
	 * If the definition has become stale, the partition may have been altered
	 * before it was locked, and what is known of it be out of date.
	 */
	if (def->run.last_leaf != NULL && def->run.last_leaf->relid == relid && !def->run.stale)
		return def->run.last_leaf;
	leaf = hash_search(def->run.leaves, &relid, HASH_FIND, NULL);
	if (leaf == NULL || def->run.stale)
	{
		const RowSource *source = elsewhere->has(relid) ? elsewhere->rows : NULL;
		Oid			pk_index = source != NULL ? InvalidOid : row_key_index(def, rel);
		AttrMap    *map = build_attrmap_by_name_if_req_compat(RelationGetDescr(rel), def->layout.desc);
		TupleTableSlot *slots[2] = {NULL, NULL};

		watch_relation(relid);

		/*
		 * A definition that is in use may stay stale for long.  What is the
		 * same is therefore not allocated again, as it is freed with the
		 * definition only.
		 */
		if (leaf != NULL && same_map(leaf->map, map))
		{
			map = leaf->map;
			memcpy(slots, leaf->slots, sizeof(slots));
		}
		else if (map != NULL)
		{
			/*
			 * All that can fail is done before the hash entry is made, which
			 * stays.
			 */
			old = MemoryContextSwitchTo(def->run.cxt);
			map = build_attrmap_by_name_if_req_compat(RelationGetDescr(rel), def->layout.desc);
			slots[0] = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
			slots[1] = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
			MemoryContextSwitchTo(old);
		}
		leaf = hash_search(def->run.leaves, &relid, HASH_ENTER, &found);
		if (!found)
			leaf->queue = InvalidOid;
		leaf->source = source;
		leaf->pk_index = pk_index;

		/*
		 * The key of a partition may be checked later than that of the table:
		 * ATTACH PARTITION allows it.
		 */
		def->layout.pk_deferrable |= OidIsValid(pk_index) && is_deferrable(pk_index);
		leaf->map = map;
		memcpy(leaf->slots, slots, sizeof(slots));
	}
	def->run.last_leaf = leaf;
	return leaf;
}

/*
 * convert_to_root_row
 *		Returns a row of a partition with the columns of the root.  slot_no is which of the
 *		partition's two slots to use for it.
 *
 * Where functions of users are called, which may write this table again, each row gets a
 * slot of its own, in the current memory context.
 */
TupleTableSlot *
convert_to_root_row(FactDef *def, Leaf *leaf, TupleTableSlot *row, int slot_no)
{
	if (leaf == NULL || leaf->map == NULL || row == NULL)
		return row;
	return convert_row(leaf->map, row, def->users_code ?
					   MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual) : leaf->slots[slot_no]);
}

/*
 * convert_row
 *		Puts a row of a partition into a slot with the columns of the root, and with the row's
 *		place.
 */
TupleTableSlot *
convert_row(AttrMap *map, TupleTableSlot *row, TupleTableSlot *slot)
{
	(void) execute_attr_map_slot(map, row, slot);
	slot->tts_tid = row->tts_tid;
	return slot;
}

/* same_map: returns whether two maps of columns are the same; NULL: the columns need no map */
static bool
same_map(AttrMap *a, AttrMap *b)
{
	return a == NULL || b == NULL ? a == b :
		a->maplen == b->maplen && memcmp(a->attnums, b->attnums, sizeof(AttrNumber) * a->maplen) == 0;
}

/*
 * is_deferrable
 *		Returns whether the constraint of an index may be checked later than at each row.
 */
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

/*
 * root_of
 *		Returns the fact table that a table is a partition of, at whatever depth; the table
 *		itself, if it is a partition of none; or InvalidOid, if the table is being detached
 *		from its fact table, so that its rows belong to no fact table any more.
 *
 * What is cached is right for a writer that has locked the table.  The mark of a partition
 * that is being detached is set under a lock that keeps out writers of the partition, and
 * they hear of it when they have got their own lock.
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
		listen_to_changes(&roots_listener);
		roots = hash_by_oid("indextable roots", 64, sizeof(Root), NULL);
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

/*
 * registered_root
 *		Returns the same as root_of(), but from the catalogs, and for a table that is being
 *		detached from its fact table the table itself.
 */
Oid
registered_root(Oid relid)
{
	bool		detached;

	return find_root(relid, &detached);
}

/*
 * find_root_detached_from
 *		Returns the fact table that a table is being detached from, by itself or together
 *		with a table that it is a partition of; InvalidOid if there is none.
 */
Oid
find_root_detached_from(Oid relid)
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
 * check_not_detached
 *		Raises a serialization error if a table that is being detached from a fact table is
 *		still part of it to the snapshot of this transaction.
 *
 * Otherwise the rows of such a table belong to no fact table, and need no entries.  But to a
 * transaction that keeps to an older snapshot they are still rows of the fact table, in
 * which the rows that it writes would lack entries.
 */
void
check_not_detached(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	TransactionId mark;
	bool		gone = false;

	if (!IsolationUsesXactSnapshot() || !catalog_fact_in_use(find_root_detached_from(relid)))
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

/*
 * find_root
 *		Returns the fact table that a table is a partition of, or the table itself.
 *		Partitions that are being detached do not count; *detached is set to whether one of
 *		them is in the way up from the table.
 */
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
		if (catalog_has_fact(relid) || catalog_has_fact(place_table_of_part(relid)))
			result = relid;
	}
	return result;
}

/*
 * forget_roots
 *		Takes a table that has changed out of the cache, or all tables, if relid is
 *		InvalidOid.
 */
static void
forget_roots(Oid relid)
{
	(void) hash_forget(roots, relid);
}
