/*-------------------------------------------------------------------------
 *
 * shard_guard.h
 *	  Refuses writes by hand to distributed index tables and their shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_GUARD_H
#define INDEXTABLE_SHARD_GUARD_H

/* This session is writing entries of distributed index tables. */
extern bool writing_distributed;

extern void shard_guard_init(void);

#endif							/* INDEXTABLE_SHARD_GUARD_H */
