/*-------------------------------------------------------------------------
 *
 * lost_partitions.h
 *	  Finds the partitions that a command has dropped without naming them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOST_PARTITIONS_H
#define INDEXTABLE_LOST_PARTITIONS_H

#include "nodes/pg_list.h"

extern void note_partitions(void);
extern List *lost_partitions(void);

#endif							/* INDEXTABLE_LOST_PARTITIONS_H */
