/*-------------------------------------------------------------------------
 *
 * tree_age.h
 *	  Offers whether tables are stored as they were when a snapshot was taken, or when they
 *	  were read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TREE_AGE_H
#define INDEXTABLE_TREE_AGE_H

#include "utils/rel.h"
#include "utils/snapshot.h"

/* A snapshot in use is never older than so many transactions, though one that was imported may be older than others. */
#define MAX_SNAPSHOT_AGE	1000000000

extern bool tree_is_older(Oid relid, Snapshot snapshot);
extern bool was_rewritten(Oid relid, Oid root, Snapshot snapshot);
extern void refuse_rewritten(Relation rel, Oid root, Snapshot snapshot);
extern List *lock_leaves_to_read(Oid relid, Snapshot snapshot);
extern void refuse_truncated(Oid relid, Snapshot snapshot, CommandId begun);
extern void note_read_by_entries(Oid relid);
extern void check_read_by_entries(List *rtable, Snapshot snapshot);

#endif							/* INDEXTABLE_TREE_AGE_H */
