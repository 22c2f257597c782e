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

#include "access/xact.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

extern void queue_rows_of_partition(FactDef *def, Oid partition);
extern void delete_entries_of_whole(Oid root, Oid partition, List *whole);
extern void update_entries_of_partition(Oid root, Oid partition, bool attached, List **whole);
extern void note_detaching(Oid partition);
extern bool is_detaching(Oid partition);
extern void forget_detaching(Oid partition);
extern void refuse_write_to_detaching(Relation written);
extern void refuse_to_stay(void);
extern void maintain_truncate(Relation fact);
extern void prepare_truncate(Relation rel);
extern void truncate_index_table(Oid relid);
extern void forget_truncating(void);

#endif							/* INDEXTABLE_PARTITION_ENTRIES_H */
