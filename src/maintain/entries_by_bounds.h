/*-------------------------------------------------------------------------
 *
 * entries_by_bounds.h
 *	  Deletes the entries of a partition by its bounds, without reading its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRIES_BY_BOUNDS_H
#define INDEXTABLE_ENTRIES_BY_BOUNDS_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

extern bool delete_entries_if_cheaper(FactDef *def, Relation partition, List *left_alone);
extern void delete_entries_in_bounds(FactDef *def, Relation partition, List *left_alone, bool queued_only);
extern void delete_entries_of_partitions(FactDef *def, Relation partition, List *leaves);
extern List *partitions_in_bounds(FactDef *def, Relation partition);
extern bool *settled_index_tables(FactDef *def, Relation partition, List *left_alone);

#endif							/* INDEXTABLE_ENTRIES_BY_BOUNDS_H */
