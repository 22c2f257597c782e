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

extern void truncate_init(void);
extern void maintain_truncate(Relation fact);
extern void prepare_truncate(Relation rel);

#endif							/* INDEXTABLE_TRUNCATE_H */
