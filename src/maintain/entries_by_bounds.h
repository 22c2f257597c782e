/*-------------------------------------------------------------------------
 *
 * entries_by_bounds.h
 *	  Deletes the entries of a partition by its bounds, without reading its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ENTRIES_BY_BOUNDS_H
#define INDEXTABLE_ENTRIES_BY_BOUNDS_H

#include "utils/rel.h"

#include "../indextable.h"

extern bool delete_entries_if_cheaper(FactDef *def, Relation partition);
extern void delete_entries_in_bounds(FactDef *def, Relation partition, bool queued_only);

#endif							/* INDEXTABLE_ENTRIES_BY_BOUNDS_H */
