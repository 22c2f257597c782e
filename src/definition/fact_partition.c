/*-------------------------------------------------------------------------
 *
 * fact_partition.c
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
#include "fact_key.h"
#include "fact_partition.h"
#include "invalidation.h"

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

	/*
	 * One of a definition that has become stale since may have been altered
	 * before it was locked.
	 */
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

		/*
		 * ATTACH PARTITION lets a partition have a key that is checked later
		 * than the table's.
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
 *		A row of a partition with the columns of the root; which of two slots to use.
 *		Where functions of users are called, which may write this table again, each
 *		row has a slot of its own, in the current memory context.
 */
TupleTableSlot *
convert_to_root_row(FactDef *def, Leaf *leaf, TupleTableSlot *row, int which)
{
	if (leaf == NULL || leaf->map == NULL || row == NULL)
		return row;
	return execute_attr_map_slot(leaf->map, row, def->users_code ?
								 MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual) : leaf->slots[which]);
}
