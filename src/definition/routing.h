/*-------------------------------------------------------------------------
 *
 * routing.h
 *	  Offers the partition that holds a row, by its primary key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROUTING_H
#define INDEXTABLE_ROUTING_H

#include "partitioning/partdefs.h"
#include "utils/rel.h"

#include "../indextable.h"

extern Oid	route_key(FactDef *def, Relation root, Datum *key);
extern int	partition_of(PartitionKey key, PartitionDesc desc, Datum *values, bool *isnull);

#endif							/* INDEXTABLE_ROUTING_H */
