/*-------------------------------------------------------------------------
 *
 * inherit.h
 *	  Lists the partitions of a table, however deep, locked or not: those that exist now,
 *	  or those that a snapshot sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_INHERIT_H
#define INDEXTABLE_INHERIT_H

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

extern List *tree_of(Oid relid, Snapshot snapshot, LOCKMODE mode, bool detached);
extern List *tree_children(Oid parent, Snapshot snapshot, bool detached);
extern Oid	tree_parent(Oid relid, TransactionId *detached);
extern List *lock_leaves(Oid relid, Snapshot snapshot);
extern List *list_with_partitions(Oid relid);
extern Oid	foreign_table_in_use(List *servers);
extern bool is_locked_here(Oid relid);

#endif							/* INDEXTABLE_INHERIT_H */
