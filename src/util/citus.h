/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Tells what a table is to Citus.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CITUS_H
#define INDEXTABLE_CITUS_H

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
extern Oid	citus_shard(Oid table, int64 number);
extern bool citus_makes_shard(Oid relid, const char *name);

#endif							/* INDEXTABLE_CITUS_H */
