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

extern bool tree_is_older(Oid relid, Snapshot snapshot);

#endif							/* INDEXTABLE_TREE_AGE_H */
