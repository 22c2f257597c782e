/*-------------------------------------------------------------------------
 *
 * all_shards.h
 *	  Has each node compare its shards of a distributed fact table with their entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ALL_SHARDS_H
#define INDEXTABLE_ALL_SHARDS_H

#include "discrepancy.h"

extern void verify_all_shards(IndexDef *def, double sample, int64 repair, discrepancy_handler handler, void *arg);

#endif							/* INDEXTABLE_ALL_SHARDS_H */
