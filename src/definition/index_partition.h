/*-------------------------------------------------------------------------
 *
 * index_partition.h
 *	  Offers the partitions of index tables: which one has an entry, and what its indexes are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_INDEX_PARTITION_H
#define INDEXTABLE_INDEX_PARTITION_H

#include "partitioning/partdefs.h"
#include "utils/rel.h"

#include "../indextable.h"

extern bool definition_complete_partitions(IndexDef *def, Relation rel);
extern IndexPartition *find_index_partition(IndexDef *def, Relation leaf);
extern bool is_partition_of_definition(IndexDef *def, Oid relid);
extern Oid	find_partition_for_value(Relation rel, Datum value);
extern Oid	index_table_of(Oid relid);
pg_noreturn extern void report_no_partition(IndexDef *def);

extern Oid	route_key(FactDef *def, Relation root, Datum *key);
extern int	partition_of(PartitionKey key, PartitionDesc desc, Datum *values, bool *isnull);

#endif							/* INDEXTABLE_INDEX_PARTITION_H */
