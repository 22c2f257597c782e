/*-------------------------------------------------------------------------
 *
 * fact_partition.c
 *	  Shows the rows of a fact table's partitions with the columns of the fact table.
 *
 * Index tables are registered under the partitioned table, the root (roots.c).  Rows come
 * from its leaf partitions, whose columns may be numbered in another way.  All other code
 * sees them as rows of the root.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/attnum.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/tupconvert.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../place/place.h"
#include "fact_key.h"
#include "fact_partition.h"
#include "invalidation.h"

static bool same_map(AttrMap *a, AttrMap *b);
static bool is_deferrable(Oid index);

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

	if (def->leaves == NULL || relid == def->relid)
		return NULL;

	/*
	 * If the definition has become stale, the partition may have been altered
	 * before it was locked, and what is known of it be out of date.
	 */
	if (def->last_leaf != NULL && def->last_leaf->relid == relid && !def->stale)
		return def->last_leaf;
	leaf = hash_search(def->leaves, &relid, HASH_FIND, NULL);
	if (leaf == NULL || def->stale)
	{
		const RowSource *source = rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE ? def->place->leaves : NULL;
		Oid			pk_index = source != NULL ? InvalidOid : row_key_index(def, rel);
		AttrMap    *map = build_attrmap_by_name_if_req_compat(RelationGetDescr(rel), def->desc);
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
			old = MemoryContextSwitchTo(def->cxt);
			map = build_attrmap_by_name_if_req_compat(RelationGetDescr(rel), def->desc);
			slots[0] = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
			slots[1] = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
			MemoryContextSwitchTo(old);
		}
		leaf = hash_search(def->leaves, &relid, HASH_ENTER, &found);
		if (!found)
			leaf->queue = InvalidOid;
		leaf->source = source;
		leaf->pk_index = pk_index;

		/*
		 * The key of a partition may be checked later than that of the table:
		 * ATTACH PARTITION allows it.
		 */
		def->pk_deferrable |= OidIsValid(pk_index) && is_deferrable(pk_index);
		leaf->map = map;
		memcpy(leaf->slots, slots, sizeof(slots));
	}
	def->last_leaf = leaf;
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
					   MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual) : leaf->slots[slot_no]);
}

/* convert_row: puts a row of a partition into a slot with the columns of the root, and with the row's place */
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

/* is_deferrable: returns whether the constraint of an index may be checked later than at each row */
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
