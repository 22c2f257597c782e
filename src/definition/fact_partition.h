/*-------------------------------------------------------------------------
 *
 * fact_partition.h
 *	  Offers the rows of a fact table's partitions with the columns of the fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_PARTITION_H
#define INDEXTABLE_FACT_PARTITION_H

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "../indextable.h"

extern Leaf *leaf_of(FactDef *def, Relation rel);
extern TupleTableSlot *convert_row(struct AttrMap *map, TupleTableSlot *row, TupleTableSlot *slot);
extern TupleTableSlot *convert_to_root_row(FactDef *def, Leaf *leaf, TupleTableSlot *row, int slot_no);
extern Oid	root_of(Relation rel);
extern Oid	registered_root(Oid relid);
extern Oid	find_root_detached_from(Oid relid);
extern void check_not_detached(Relation rel);

#endif							/* INDEXTABLE_FACT_PARTITION_H */
