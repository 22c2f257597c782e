/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Tells what a table is to Citus.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CITUS_H
#define INDEXTABLE_CITUS_H

#include "nodes/pg_list.h"

typedef enum CitusKind
{
	CITUS_NONE,					/* nothing: an ordinary table */
	CITUS_DISTRIBUTED,			/* its rows are in shards: by hash, range or
								 * append, or all in a single one */
	CITUS_REFERENCE,			/* each node has all of its rows */
	CITUS_LOCAL,				/* the coordinator has all of its rows, in a
								 * shard */
	CITUS_SHARD					/* a shard of one of these */
} CitusKind;

extern CitusKind citus_kind(Oid relid);
extern Oid	citus_table_of_shard(Oid relid);
extern bool citus_makes_shard(Oid relid, const char *name);
extern Oid	citus_shard(Oid table, int64 number);

/* How a table is distributed. */
typedef struct CitusTable
{
	bool		by_hash;
	bool		replicated;		/* a shard has more than one placement */
	char	   *column;			/* by which rows are distributed, or NULL */
	int			nshards;
} CitusTable;

/* A shard of a fact table, and that of its queue, both of the same rows. */
typedef struct ShardPair
{
	int64		fact_shard;		/* the numbers that Citus has given them */
	int64		queue_shard;
	Oid			fact;			/* the tables that they are on this node */
	Oid			queue;
	int32		min;			/* they have the rows whose hash is in these */
	int32		max;			/* bounds, both included */
	int			column;			/* of the primary key, from 0, by which Citus
								 * distributes rows */
} ShardPair;

extern bool citus_is_installed(void);
extern int	citus_local_group(void);
extern bool citus_is_governed_elsewhere(Oid relid);
extern void citus_read_table(Oid relid, CitusTable *table);
extern Oid	citus_colocated_shard(Oid shard, Oid table, Oid other);
extern List *citus_local_shards(Oid fact, Oid queue);
extern char *citus_shard_numbers(Oid relid);
extern void citus_lock_shards(List *pairs);
extern int	begin_citus_settings(void);
extern void end_citus_settings(int nestlevel);

#endif							/* INDEXTABLE_CITUS_H */
