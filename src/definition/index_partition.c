/*-------------------------------------------------------------------------
 *
 * index_partition.c
 *	  Finds the partition of an index table that has an entry, and the indexes of partitions.
 *
 * An index table is partitioned by one of its key fields.  The columns of its partitions
 * are numbered as its own.
 *
 * Readers and writers lock the index table first, and which partitions it has does not
 * change while they hold the lock: a command that gives it other partitions, also CREATE
 * TABLE PARTITION OF, locks it against everybody, and partitions of index tables cannot be
 * attached or detached.  So no news of them can be heard while the server makes their
 * list, and what it has cached is right, other than with fact tables: see partition_list.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "definition.h"

static AttrNumber same_column(Oid table, Relation part, AttrNumber attno);

/*
 * definition_complete_partitions
 *		Completes a definition with the key field that the index table is partitioned by, if
 *		it is.  Returns false if it is partitioned in a way that index tables are not.
 */
bool
definition_complete_partitions(IndexDef *def, Relation rel)
{
	PartitionKey key;

	def->layout.parts = NULL;
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return rel->rd_rel->relkind == RELKIND_RELATION;
	key = RelationGetPartitionKey(rel);
	for (def->spec.part_field = 0; def->spec.part_field < def->spec.nkeys; def->spec.part_field++)
		if (def->spec.fields[def->spec.part_field].attno == key->partattrs[0])
			break;
	if (key->partnatts != 1 || def->spec.part_field == def->spec.nkeys)
		return false;
	def->layout.parts = hash_by_oid("index table partitions", 16, sizeof(IndexPartition), CurrentMemoryContext);
	return true;
}

/*
 * find_index_partition
 *		Returns the indexes of a partition of an index table.  The partition is open.  The
 *		result lasts as long as the definition.
 */
IndexPartition *
find_index_partition(IndexDef *def, Relation leaf)
{
	Oid			relid = RelationGetRelid(leaf);
	IndexPartition *partition = hash_search(def->layout.parts, &relid, HASH_FIND, NULL);
	MemoryContext old;
	Relation	index;
	Oid			primary_index;
	Oid			row_index;
	IndexInfo  *primary_info;
	bool		found;

	/*
	 * If the definition has become stale since the index table was locked,
	 * what is known of the partition may name indexes that do not exist any
	 * more.
	 */
	if (partition != NULL && !def->fact->run.stale)
		return partition;
	index = open_index_of_entries(def, leaf);
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" of index table \"%s\" has no primary key",
						RelationGetRelationName(leaf), def->name)));
	primary_index = RelationGetRelid(index);
	row_index = OidIsValid(def->layout.row_index) ? index_get_partition(leaf, def->layout.row_index) : InvalidOid;

	/*
	 * A definition that is in use may stay stale for long.  What is the same
	 * is therefore not allocated again, as it is freed with the definition
	 * only.
	 */
	if (partition != NULL && partition->primary_index == primary_index)
		primary_info = partition->primary_info;
	else
	{
		/*
		 * All that can fail is done before the hash entry is made, which
		 * stays.
		 */
		old = MemoryContextSwitchTo(def->fact->run.cxt);
		primary_info = BuildIndexInfo(index);
		MemoryContextSwitchTo(old);
	}
	watch_relation(relid);
	watch_relation(primary_index);
	watch_relation(row_index);
	partition = hash_search(def->layout.parts, &relid, HASH_ENTER, &found);
	partition->primary_index = primary_index;
	partition->primary_info = primary_info;
	partition->row_index = row_index;
	index_close(index, AccessShareLock);
	return partition;
}

/* is_one_table: returns whether all entries are in one table, which plans of the server can read */
bool
is_one_table(IndexDef *def)
{
	return def->layout.parts == NULL && def->fact->place->entries->search == NULL;
}

/*
 * is_partition_of_definition
 *		Returns whether a relation is one of the partitions that a definition knows, or one of
 *		their indexes.
 */
bool
is_partition_of_definition(IndexDef *def, Oid relid)
{
	HASH_SEQ_STATUS seq;
	IndexPartition *partition;

	if (def->layout.parts == NULL)
		return false;
	hash_seq_init(&seq, def->layout.parts);
	while ((partition = hash_seq_search(&seq)) != NULL)
	{
		if (partition->relid == relid || partition->primary_index == relid || partition->row_index == relid)
		{
			hash_seq_term(&seq);
			return true;
		}
	}
	return false;
}

/*
 * find_partition_for_value
 *		Returns the partition of an index table that takes the entries with this value, or NULL, in
 *		the key field that it is partitioned by, or InvalidOid if there is none.
 */
Oid
find_partition_for_value(Relation rel, Datum value, bool isnull)
{
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	int			partition = desc->nparts == 0 ? -1 :
		partition_of(RelationGetPartitionKey(rel), desc, &value, &isnull);

	return partition < 0 ? InvalidOid : desc->oids[partition];
}

/*
 * index_table_of
 *		Returns the index table that a relation, which need not be locked, is or is a partition of;
 *		InvalidOid: none.
 */
Oid
index_table_of(Oid relid)
{
	TransactionId detached;

	if (OidIsValid(relid) && !OidIsValid(catalog_fact_of(relid)))
		relid = tree_parent(relid, &detached);
	return OidIsValid(relid) && OidIsValid(catalog_fact_of(relid)) ? relid : InvalidOid;
}

/* report_no_partition: raises the error for an entry that no partition takes */
void
report_no_partition(IndexDef *def)
{
	Field	   *field = &def->spec.fields[def->spec.part_field];

	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("no partition of index table \"%s\" found for entry", def->name),
			 errdetail("The value of its key field \"%s\" is within the bounds of no partition.",
					   NameStr(TupleDescAttr(def->layout.desc, field->attno - 1)->attname)),
			 errhint("Partitions were lost. Run %s", told_call("repair", def->relid))));
}

/*-------------------------------------------------------------------------
 * Finds the partition of a fact table that holds a row, by its primary key.
 *
 * The primary key of a partitioned table has all columns that the table is partitioned by.
 * So no other partition needs to be looked at.  It is done without a plan, because planning
 * costs time for each partition.
 *-------------------------------------------------------------------------
 */

/*
 * same_column
 *		Returns the number that a column of a part of a table has in the table, or 0 if the table has none of the
 *		name and type: its owner may have put another table in the place of the part.
 */
static AttrNumber
same_column(Oid table, Relation part, AttrNumber attno)
{
	Form_pg_attribute att = attno > 0 ? TupleDescAttr(RelationGetDescr(part), attno - 1) : NULL;
	AttrNumber	result = att == NULL ? InvalidAttrNumber : get_attnum(table, NameStr(att->attname));

	return result > 0 && get_atttype(table, result) == att->atttypid ? result : InvalidAttrNumber;
}

/*
 * route_key
 *		Returns the leaf partition of a fact table, or of a part of it, root, that takes rows with this
 *		primary key, or InvalidOid if there is none.
 */
Oid
route_key(FactDef *def, Relation root, Datum *key)
{
	Relation	rel = root;
	Oid			result = InvalidOid;

	for (;;)
	{
		PartitionKey partition_key = RelationGetPartitionKey(rel);
		PartitionDesc desc = partition_list(rel);
		Datum		values[PARTITION_MAX_KEYS];
		bool		isnull[PARTITION_MAX_KEYS] = {0};
		int			partition;
		bool		is_leaf;
		Oid			relid;
		int			k;

		for (int i = 0; i < partition_key->partnatts; i++)
		{
			AttrNumber	attno = partition_key->partattrs[i];

			if (RelationGetRelid(rel) != def->relid)
				attno = same_column(def->relid, rel, attno);
			for (k = 0; k < def->layout.npk && def->layout.pk_attno[k] != attno; k++)
				;
			if (k == def->layout.npk)
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
			if (isnull[0])
			{
				result = bounds->null_index;
				break;
			}
			offset = partition_list_bsearch(key->partsupfunc, key->partcollation, bounds,
											values[0], &equal);
			if (offset >= 0 && equal)
				result = bounds->indexes[offset];
			break;
		case PARTITION_STRATEGY_RANGE:
			for (int i = 0; i < key->partnatts; i++)
				if (isnull[i])
					return bounds->default_index;
			offset = partition_range_datum_bsearch(key->partsupfunc, key->partcollation, bounds,
												   key->partnatts, values, &equal);
			result = bounds->indexes[offset + 1];
			break;
		default:
			elog(ERROR, "unexpected partition strategy: %d", (int) key->strategy);
	}
	return result < 0 ? bounds->default_index : result;
}
