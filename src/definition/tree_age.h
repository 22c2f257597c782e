/*-------------------------------------------------------------------------
 *
 * tree_age.h
 *	  Offers whether tables are stored as they were when a snapshot was taken.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TREE_AGE_H
#define INDEXTABLE_TREE_AGE_H

#include "utils/snapshot.h"

/* A snapshot in use is never older than so many transactions, though one that was imported may be older than others. */
#define MAX_SNAPSHOT_AGE	1000000000

extern bool tree_is_older(Oid relid, Snapshot snapshot);
extern Oid	truncated_partition(Oid relid, Snapshot snapshot);

#endif							/* INDEXTABLE_TREE_AGE_H */
