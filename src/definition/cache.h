/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  Offers the definitions of fact tables and index tables, which are cached in the backend:
 *	  finds, locks and pins them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CACHE_H
#define INDEXTABLE_CACHE_H

#include "utils/rel.h"

#include "../indextable.h"

extern FactDef *definition_of_fact(Relation fact, Oid root);
extern FactDef *definition_for_writer(Relation fact, Oid root);
extern FactDef *fresh_definition(Oid root);
extern IndexDef *find_index_def(FactDef *fact, Oid index_table);
extern IndexDef *definition_of_index_table(Oid index_table, FactDef **factdef);
extern IndexDef *definition_open(Oid index_table, FactDef **factdef, Relation *fact, Relation *rel);
extern bool definition_lock(FactDef *fact, int from, int to);
extern bool definition_settled(FactDef *fact, bool more_locks);
extern void definition_pin(FactDef *fact);
extern void definition_unpin(FactDef *fact);
extern void definition_hold(FactDef *fact, MemoryContext cxt);

#endif							/* INDEXTABLE_CACHE_H */
