/*-------------------------------------------------------------------------
 *
 * create_distributed.h
 *	  Makes index tables over tables that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CREATE_DISTRIBUTED_H
#define INDEXTABLE_CREATE_DISTRIBUTED_H

#include "utils/rel.h"

#include "../indextable.h"

extern void check_distributed(DefinitionRow *row, FactDef *factdef, Relation fact, bool populate, bool partitioned);
extern void register_distributed(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
								 int nshards);

extern void refuse_distributed(Oid index_table, const char *function);
extern void build_distributed(Oid index_table, Oid fact_table);

#endif							/* INDEXTABLE_CREATE_DISTRIBUTED_H */
