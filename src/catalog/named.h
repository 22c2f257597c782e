/*-------------------------------------------------------------------------
 *
 * named.h
 *	  Finds the index tables that users name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NAMED_H
#define INDEXTABLE_NAMED_H

#include "nodes/pg_list.h"

#include "../util/compat.h"

extern List *index_tables_of(Oid relid);
pg_noreturn extern void report_not_index_table(Oid relid);

#endif							/* INDEXTABLE_NAMED_H */
