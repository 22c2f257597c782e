/*-------------------------------------------------------------------------
 *
 * detach_entries.h
 *	  Deletes the entries of a partition by its bounds, without reading its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DETACH_ENTRIES_H
#define INDEXTABLE_DETACH_ENTRIES_H

#include "utils/rel.h"

#include "../indextable.h"

extern void note_partition_bounds(Oid partition);
extern void delete_entries_in_bounds(FactDef *def, Relation partition);

#endif							/* INDEXTABLE_DETACH_ENTRIES_H */
