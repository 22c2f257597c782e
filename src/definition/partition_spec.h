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

extern Partitioning *partitioning_asked(PartitioningRequest *r, List *columns);
extern void partitioning_request_current(PartitioningRequest *r, Partitioning *now);
extern Partitioning *partitioning_of(Relation rel);
extern Partitioning *partitioning_lacking(Relation rel);

#endif							/* INDEXTABLE_PARTITION_SPEC_H */
