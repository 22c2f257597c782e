/*-------------------------------------------------------------------------
 *
 * shard_check.h
 *	  Compares a shard of a distributed fact table, on the node that has it, with the
 *	  entries of its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_CHECK_H
#define INDEXTABLE_SHARD_CHECK_H

#include "discrepancy.h"

extern void verify_shard(Oid index_table, int64 shard, int64 number, discrepancy_handler handler, void *arg);

#endif							/* INDEXTABLE_SHARD_CHECK_H */
