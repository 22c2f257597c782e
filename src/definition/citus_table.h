/*-------------------------------------------------------------------------
 *
 * citus_table.h
 *	  Refuses tables of Citus as fact tables and as index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CITUS_TABLE_H
#define INDEXTABLE_CITUS_TABLE_H

#include "utils/rel.h"

#include "../indextable.h"

extern void check_citus_fact(Relation fact, bool async);
extern void check_citus_unique(Oid fact);
extern void check_citus_created(Oid relid);
extern const char *citus_problem(Oid fact, Oid index_table, bool async);
extern void check_citus_index_table(Oid index_table);
extern void report_citus_problem(const char *index_table, const char *problem);

#endif							/* INDEXTABLE_CITUS_TABLE_H */
