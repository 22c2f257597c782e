/*-------------------------------------------------------------------------
 *
 * index_partition.c
 *	  The partitions of index tables: which one has an entry, and its indexes.
 *
 * Called by apply.c to write and by entryscan.c to read, by definition.c, and by
 * whoever deals with an index table as a whole.  An index table is partitioned
 * by one of its key fields; the columns of its partitions are numbered as its own.
 *
 * Which partitions it has is known as of when it was locked, by whoever reads or
 * writes it: what gives it others locks it against everybody, and none are attached
 * or detached.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "nodes/execnodes.h"
#include "partitioning/partdefs.h"
#include "partitioning/partdesc.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "../catalog/definition_rows.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "index_partition.h"
#include "invalidation.h"
#include "routing.h"

/* report_no_partition: the error for an entry that has no place */
void
report_no_partition(IndexDef *def)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("no partition of index table \"%s\" found for entry", def->name),
			 errdetail("The value of its key field \"%s\" is within the bounds of no partition.",
					   NameStr(TupleDescAttr(def->desc, def->fields[def->part_field].attno - 1)->attname)),
			 errhint("Add a partition, or a default partition.")));
}

/* definition_complete_partitions: false if an index table is not partitioned as we do it */
bool
definition_complete_partitions(IndexDef *def, Relation rel)
{
	PartitionKey key;
	HASHCTL		ctl;

	def->parts = NULL;
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return rel->rd_rel->relkind == RELKIND_RELATION;
	key = RelationGetPartitionKey(rel);
	for (def->part_field = 0; def->part_field < def->nkeys; def->part_field++)
		if (def->fields[def->part_field].attno == key->partattrs[0])
			break;
	if (key->partnatts != 1 || def->part_field == def->nkeys)
		return false;
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(IndexPartition);
	ctl.hcxt = CurrentMemoryContext;
	def->parts = hash_create("index table partitions", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return true;
}

/* find_index_partition: of an open partition, as long as the definition lasts */
IndexPartition *
find_index_partition(IndexDef *def, Relation leaf)
{
	Oid			relid = RelationGetRelid(leaf);
	IndexPartition *part = hash_search(def->parts, &relid, HASH_FIND, NULL);
	MemoryContext old;
	Relation	index;
	Oid			primary_index;
	Oid			row_index;
	IndexInfo  *primary_info;
	bool		found;

	/*
	 * One that has become stale since its index table was locked may name
	 * indexes that are gone.
	 */
	if (part != NULL && !def->fact->stale)
		return part;
	index = open_primary_key(leaf, AccessShareLock);
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" of index table \"%s\" has no primary key",
						RelationGetRelationName(leaf), def->name)));
	primary_index = RelationGetRelid(index);
	row_index = OidIsValid(def->row_index) ? index_get_partition(leaf, def->row_index) : InvalidOid;
	/* A definition may be stale for long, as it is used. */
	if (part != NULL && part->primary_index == primary_index)
		primary_info = part->primary_info;
	else
	{
		/* All that can fail comes before the entry, which lasts. */
		old = MemoryContextSwitchTo(def->fact->cxt);
		primary_info = BuildIndexInfo(index);
		MemoryContextSwitchTo(old);
	}
	watch_relation(relid);
	watch_relation(primary_index);
	watch_relation(row_index);
	part = hash_search(def->parts, &relid, HASH_ENTER, &found);
	part->primary_index = primary_index;
	part->primary_info = primary_info;
	part->row_index = row_index;
	index_close(index, AccessShareLock);
	return part;
}

/* is_partition_of_definition: whether a relation is a partition that a definition knows, or an index of one */
bool
is_partition_of_definition(IndexDef *def, Oid relid)
{
	HASH_SEQ_STATUS seq;
	IndexPartition *part;

	if (def->parts == NULL)
		return false;
	hash_seq_init(&seq, def->parts);
	while ((part = hash_seq_search(&seq)) != NULL)
	{
		if (part->relid == relid || part->primary_index == relid || part->row_index == relid)
		{
			hash_seq_term(&seq);
			return true;
		}
	}
	return false;
}

/* find_partition_for_value: the partition that takes entries with a value in the field it goes by; InvalidOid: none */
Oid
find_partition_for_value(Relation rel, Datum value)
{
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	bool		isnull = false;
	int			partition = desc->nparts == 0 ? -1 :
		partition_of(RelationGetPartitionKey(rel), desc, &value, &isnull);

	return partition < 0 ? InvalidOid : desc->oids[partition];
}

/* index_table_of: the index table that a relation is, or is a partition of; InvalidOid: none */
Oid
index_table_of(Oid relid)
{
	if (OidIsValid(relid) && !OidIsValid(catalog_fact_of(relid)) && get_rel_relispartition(relid))
		relid = get_partition_parent(relid, true);
	return OidIsValid(relid) && OidIsValid(catalog_fact_of(relid)) ? relid : InvalidOid;
}
