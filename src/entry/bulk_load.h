/*-------------------------------------------------------------------------
 *
 * bulk_load.h
 *	  Sorts and writes the entries of a whole index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BULK_LOAD_H
#define INDEXTABLE_BULK_LOAD_H

#include "utils/rel.h"

#include "../indextable.h"

struct Tuplesortstate;

extern void bulk_load_write(IndexDef *def, Relation index_table, struct Tuplesortstate *sorted);
extern struct Tuplesortstate *bulk_load_begin_sort(IndexDef *def);

#endif							/* INDEXTABLE_BULK_LOAD_H */
