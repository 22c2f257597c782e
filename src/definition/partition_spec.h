/*-------------------------------------------------------------------------
 *
 * partition_spec.h
 *	  How index tables are partitioned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARTITION_SPEC_H
#define INDEXTABLE_PARTITION_SPEC_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "cache.h"

extern Partitioning *partitioning_asked(PartitioningRequest *request, List *columns);
extern void partitioning_request_current(PartitioningRequest *r, Partitioning *now);
extern Partitioning *partitioning_of(Relation rel);

#endif							/* INDEXTABLE_PARTITION_SPEC_H */
