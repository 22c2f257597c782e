/*-------------------------------------------------------------------------
 *
 * routing.c
 *	  Finds the partition of a fact table that holds a row, by its primary key.
 *
 * The primary key of a partitioned table has all columns that the table is partitioned by.
 * So no other partition needs to be looked at.  It is done without a plan, because planning
 * costs time for each partition.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/relation.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "routing.h"

/*
 * route_key
 *		Returns the leaf partition of a fact table, root, that takes rows with this primary
 *		key, or InvalidOid if there is none.
 */
Oid
route_key(FactDef *def, Relation root, Datum *key)
{
	Relation	rel = root;
	Oid			result = InvalidOid;

	for (;;)
	{
		PartitionKey partition_key = RelationGetPartitionKey(rel);
		PartitionDesc desc = RelationGetPartitionDesc(rel, true);
		Datum		values[PARTITION_MAX_KEYS];
		bool		isnull[PARTITION_MAX_KEYS] = {0};
		int			partition;
		bool		is_leaf;
		Oid			relid;
		int			i;
		int			k;

		for (i = 0; i < partition_key->partnatts; i++)
		{
			AttrNumber	attno = partition_key->partattrs[i];

			if (rel != root)
				attno = get_attnum(def->relid, NameStr(TupleDescAttr(RelationGetDescr(rel), attno - 1)->attname));
			for (k = 0; k < def->npk && def->pk_attno[k] != attno; k++)
				;
			if (k == def->npk)
				elog(ERROR, "partition key of \"%s\" is not part of its primary key", def->name);
			values[i] = key[k];
		}
		partition = desc->nparts == 0 ? -1 : partition_of(partition_key, desc, values, isnull);
		relid = partition < 0 ? InvalidOid : desc->oids[partition];
		is_leaf = partition >= 0 && desc->is_leaf[partition];
		if (rel != root)
			relation_close(rel, NoLock);
		if (partition < 0)
			break;
		if (is_leaf)
		{
			result = relid;
			break;
		}
		rel = relation_open(relid, AccessShareLock);
	}
	return result;
}

/*
 * partition_of
 *		Returns the number, in desc, of the partition that takes rows with these values in
 *		the columns that a table is partitioned by, or -1 if there is none.
 */
int
partition_of(PartitionKey key, PartitionDesc desc, Datum *values, bool *isnull)
{
	PartitionBoundInfo bounds = desc->boundinfo;
	int			result = -1;
	int			offset;
	bool		equal = false;

	switch (key->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			return bounds->indexes[compute_partition_hash_value(key->partnatts, key->partsupfunc,
																key->partcollation, values, isnull) %
								   bounds->nindexes];
		case PARTITION_STRATEGY_LIST:
			offset = partition_list_bsearch(key->partsupfunc, key->partcollation, bounds,
											values[0], &equal);
			if (offset >= 0 && equal)
				result = bounds->indexes[offset];
			break;
		case PARTITION_STRATEGY_RANGE:
			offset = partition_range_datum_bsearch(key->partsupfunc, key->partcollation, bounds,
												   key->partnatts, values, &equal);
			result = bounds->indexes[offset + 1];
			break;
		default:
			elog(ERROR, "unexpected partition strategy: %d", (int) key->strategy);
	}
	return result < 0 ? bounds->default_index : result;
}
