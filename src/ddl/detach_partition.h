/*-------------------------------------------------------------------------
 *
 * detach_partition.h
 *	  Deletes the entries of partitions of fact tables that a command is about to detach or
 *	  drop.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DETACH_PARTITION_H
#define INDEXTABLE_DETACH_PARTITION_H

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* A partition that is about to leave its fact table. */
typedef struct Detach
{
	RangeVar   *name;			/* as the command has it */
	Oid			partition;
	Oid			parent;
	Oid			root;			/* the fact table */
	List	   *whole;			/* partitions of index tables that are to be
								 * emptied */
} Detach;

extern bool prepare_detaches(List *detaches);
extern bool detach_under_locks(List *detaches);
extern Oid	partition_parent(Oid relid);
extern Oid	root_to_detach_from(Oid relid);
extern void delete_entries_before_detach(Oid root, Oid partition, List **whole);

#endif							/* INDEXTABLE_DETACH_PARTITION_H */
