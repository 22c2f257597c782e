/*-------------------------------------------------------------------------
 *
 * partition_entries.h
 *	  Writes or deletes the entries of a partition that is attached, detached, dropped
 *	  or truncated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARTITION_ENTRIES_H
#define INDEXTABLE_PARTITION_ENTRIES_H

#include "../indextable.h"

extern void queue_rows_of_partition(FactDef *def, Oid partition);
extern void update_entries_of_partition(Oid root, Oid partition, bool attached);

#endif							/* INDEXTABLE_PARTITION_ENTRIES_H */
