/*-------------------------------------------------------------------------
 *
 * undefined.h
 *	  Tables that are named as index tables, with a definition or without.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNDEFINED_H
#define INDEXTABLE_UNDEFINED_H

#include "nodes/pg_list.h"

#include "../util/compat.h"

extern List *index_tables_of(Oid relid);
pg_noreturn extern void report_not_index_table(Oid relid);
extern bool is_undefined(Oid index_table);
extern List *undefined_tables(void);
extern List *undefined_of(List *undefined, Oid fact_table);
extern char *told_remaking(List *undefined);

#endif							/* INDEXTABLE_UNDEFINED_H */
