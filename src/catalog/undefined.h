/*-------------------------------------------------------------------------
 *
 * undefined.h
 *	  Finds the tables that a dump has brought as index tables without their definitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNDEFINED_H
#define INDEXTABLE_UNDEFINED_H

#include "nodes/pg_list.h"

extern bool is_undefined(Oid index_table);
extern List *undefined_tables(void);
extern List *undefined_of(List *undefined, Oid fact_table);
extern char *told_remaking(List *undefined);

#endif							/* INDEXTABLE_UNDEFINED_H */
