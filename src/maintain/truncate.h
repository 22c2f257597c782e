/*-------------------------------------------------------------------------
 *
 * truncate.h
 *	  Truncates the index tables of a fact table that is truncated, and deletes the
 *	  entries of a partition that is truncated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TRUNCATE_H
#define INDEXTABLE_TRUNCATE_H

#include "utils/rel.h"

extern void maintain_truncate(Relation fact);
extern void prepare_truncate(Relation rel);
extern void truncate_index_table(Oid relid);
extern void forget_truncating(void);

#endif							/* INDEXTABLE_TRUNCATE_H */
