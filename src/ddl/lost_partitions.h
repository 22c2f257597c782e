/*-------------------------------------------------------------------------
 *
 * lost_partitions.h
 *	  Finds fact tables and index tables that have lost partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOST_PARTITIONS_H
#define INDEXTABLE_LOST_PARTITIONS_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"

extern List *lost_partitions(List *dropped);

#endif							/* INDEXTABLE_LOST_PARTITIONS_H */
