/*-------------------------------------------------------------------------
 *
 * fact_partition.h
 *	  Says how a partition of a fact table stores its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_PARTITION_H
#define INDEXTABLE_FACT_PARTITION_H

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "../indextable.h"

extern Leaf *leaf_of(FactDef *def, Relation rel);
extern TupleTableSlot *convert_to_root_row(FactDef *def, Leaf *leaf, TupleTableSlot *row, int which);

#endif							/* INDEXTABLE_FACT_PARTITION_H */
