/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  Its functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CACHE_H
#define INDEXTABLE_CACHE_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

/* What create() and alter() are given. */
typedef struct PartitioningRequest
{
	int			partitions;
	char	   *by;				/* NULL: hash of the first key field */
	List	   *bounds;
	List	   *tablespaces;
} PartitioningRequest;

extern FactDef *definition_of_fact(Relation fact, Oid root);
extern IndexDef *definition_of_index_table(Oid index_table, FactDef **fact);
extern IndexDef *definition_open(Oid index_table, FactDef **factdef, Relation *fact, Relation *rel);
extern bool definition_lock(FactDef *fact, int from, int to);
extern bool definition_settled(FactDef *fact, bool more_locks);
extern void definition_pin(FactDef *fact);
extern void definition_unpin(FactDef *fact);

#endif							/* INDEXTABLE_CACHE_H */
