/*-------------------------------------------------------------------------
 *
 * lock.h
 *	  Takes locks on tables: with a timeout, on a whole partition tree, or only if the
 *	  table exists.
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
extern bool lock_if_exists(Oid relid, LOCKMODE mode);

#endif							/* INDEXTABLE_LOCK_H */
