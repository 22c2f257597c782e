/*-------------------------------------------------------------------------
 *
 * lock.h
 *	  Locks a table or its whole partition tree: with a timeout, without waiting, or
 *	  telling whether the lock is new.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOCK_H
#define INDEXTABLE_LOCK_H

#include "storage/lockdefs.h"

extern void lock_tree(Oid relid, LOCKMODE mode);
extern bool lock_tree_now(Oid relid, LOCKMODE mode);
extern void unlock_tree(Oid relid, LOCKMODE mode);
extern bool lock_newly(Oid relid, LOCKMODE mode);
extern bool is_database_lock_awaited(Oid database);
extern bool lock_with_timeout(Oid relid, LOCKMODE mode, int ms);

#endif							/* INDEXTABLE_LOCK_H */
