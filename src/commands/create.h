/*-------------------------------------------------------------------------
 *
 * create.h
 *	  Fills and registers an index table whose table exists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CREATE_H
#define INDEXTABLE_CREATE_H

#include "utils/rel.h"

#include "../indextable.h"

extern void register_index_table(DefinitionRow *row, IndexDef *def, Relation fact,
								 Relation index_table, const char *tablespace);

extern bool fill_index_table(IndexDef *def, Relation fact, Relation index_table);

#endif							/* INDEXTABLE_CREATE_H */
