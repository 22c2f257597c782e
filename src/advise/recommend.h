/*-------------------------------------------------------------------------
 *
 * recommend.h
 *	  Lists the fields of a fact table's documents that are worth an index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RECOMMEND_H
#define INDEXTABLE_RECOMMEND_H

#include "nodes/execnodes.h"

extern void recommend_fields(ReturnSetInfo *rsinfo, Oid fact_table, const char *document, int rows);

#endif							/* INDEXTABLE_RECOMMEND_H */
