/*-------------------------------------------------------------------------
 *
 * swap_files.h
 *	  Exchanges the files of two tables, and what belongs to that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SWAP_FILES_H
#define INDEXTABLE_SWAP_FILES_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

extern Oid	find_matching_index(Relation index, Relation rel);
extern float4 truncate_without_replication(Oid relid);
extern void swap_indexes(Oid old, Oid new);
extern void swap_files(Oid old, Oid new, float4 rows);
extern List *toast_tables(Oid relid);
extern void rename_toast_table(Oid relid);

#endif							/* INDEXTABLE_SWAP_FILES_H */
