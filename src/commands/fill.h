/*-------------------------------------------------------------------------
 *
 * fill.h
 *	  Fills an index table whose fact table is locked against writers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FILL_H
#define INDEXTABLE_FILL_H

#include "utils/rel.h"

#include "../indextable.h"

extern bool fill_index_table(IndexDef *def, Relation fact, Relation index_table);

#endif							/* INDEXTABLE_FILL_H */
