/*-------------------------------------------------------------------------
 *
 * lock.h
 *	  Locks a table or its whole partition tree: with a timeout, without waiting, or
 *	  telling whether the lock is new; or several tables that others lock in any order; or
 *	  what a relation is called.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOCK_H
#define INDEXTABLE_LOCK_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

/*
 * How many ms at most to wait for a lock, as others would wait behind that, before it is
 * tried again later.
 */
#define LOCK_TIMEOUT		200

/*
 * Pauses between looks at what costs little, by sleep_longer(), become no longer than this, in
 * ms.
 */
#define LOOK_PAUSE			10

/* A table that lock_all_in_turns() locks. */
typedef struct TableLock
{
	Oid			relid;
	LOCKMODE	mode;
	bool		with_partitions;
} TableLock;

extern char *held_name(Oid relid);
extern const char *held_schema_name(Oid schema);
extern void lock_tree(Oid relid, LOCKMODE mode);
extern bool lock_tree_now(Oid relid, LOCKMODE mode);
extern void unlock_tree(Oid relid, LOCKMODE mode);
extern bool lock_once(Oid relid, LOCKMODE mode, uint64 *time);
extern void locks_are_released(void);
extern bool lock_newly(Oid relid, LOCKMODE mode);
extern bool is_database_lock_awaited(Oid database);
extern ErrorData *run_with_lock_timeout(void (*run) (void *arg), void *arg, int ms);
extern bool lock_with_timeout(Oid relid, LOCKMODE mode);
extern bool lock_in_turns(List *tables, List *trees, List *others, LOCKMODE mode);
extern void lock_tree_in_turns(Oid relid, LOCKMODE mode);
extern bool lock_tables_now(List *tables, LOCKMODE mode);
extern void lock_all_in_turns(const TableLock *locks, int n);
extern bool measure_now(List *tables, int64 *table_size, int64 *indexes_size);

#endif							/* INDEXTABLE_LOCK_H */
