/*-------------------------------------------------------------------------
 *
 * drop.h
 *	  Drops an index table, and forgets what was dropped in another way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DROP_H
#define INDEXTABLE_DROP_H

#include "nodes/parsenodes.h"

extern void drop_index_table(Oid relid);
extern void forget_dropped_relation(Oid relid, bool wait, DropBehavior behavior);

#endif							/* INDEXTABLE_DROP_H */
