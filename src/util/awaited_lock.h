/*-------------------------------------------------------------------------
 *
 * awaited_lock.h
 *	  Tells which lock this process has waited for in vain, whether it is free by now, and
 *	  who is in the way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_AWAITED_LOCK_H
#define INDEXTABLE_AWAITED_LOCK_H

#include "nodes/pg_list.h"
#include "storage/lock.h"

/* A lock that was waited for; the mode is NoLock if there is none, or if it is not known. */
typedef struct AwaitedLock
{
	LOCKTAG		tag;
	LOCKMODE	mode;
} AwaitedLock;

extern void awaited_lock_watch(void);
extern AwaitedLock awaited_lock_end(void);
extern AwaitedLock awaited_table_lock(Oid relid, LOCKMODE mode);
extern bool awaited_lock_is_free(const AwaitedLock *lock);
extern List *awaited_lock_blockers(const AwaitedLock *lock);
extern char *awaited_lock_text(const AwaitedLock *lock);

#endif							/* INDEXTABLE_AWAITED_LOCK_H */
