/*-------------------------------------------------------------------------
 *
 * partition_spec.h
 *	  Offers how an index table is partitioned, or is to be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARTITION_SPEC_H
#define INDEXTABLE_PARTITION_SPEC_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "request.h"

/* How an index table is, or is to be, partitioned. */
typedef struct Partitioning
{
	char	   *clause;			/* what follows PARTITION BY */
	List	   *parts;			/* of PartSpec * */
} Partitioning;

/* One of its partitions. */
typedef struct PartSpec
{
	char	   *bound;			/* FOR VALUES ..., or DEFAULT */
	char	   *tablespace;		/* NULL: that of the index table */
	char	   *suffix;			/* of its name */
	Oid			relid;			/* set once it exists */
} PartSpec;

extern Partitioning *partitioning_asked(PartitioningRequest *r, List *columns);
extern void partitioning_request_current(PartitioningRequest *r, Partitioning *now);
extern Partitioning *partitioning_of(Relation rel);
extern Partitioning *partitioning_lacking(Relation rel);

#endif							/* INDEXTABLE_PARTITION_SPEC_H */
