/*-------------------------------------------------------------------------
 *
 * build_batch.h
 *	  Writes the entries of one batch of an online build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BUILD_BATCH_H
#define INDEXTABLE_BUILD_BATCH_H

#include "utils/rel.h"

#include "../indextable.h"

extern void build_batch(FactDef *def, Relation fact, void *arg);

#endif							/* INDEXTABLE_BUILD_BATCH_H */
