/*-------------------------------------------------------------------------
 *
 * lost_partitions.h
 *	  Finds the partitions that a command has dropped without naming them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOST_PARTITIONS_H
#define INDEXTABLE_LOST_PARTITIONS_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"

extern void note_partitions(Node *command);
extern void note_new_partition(Oid root, Oid partition);
extern List *lost_partitions(Node *command, List *dropped);

#endif							/* INDEXTABLE_LOST_PARTITIONS_H */
