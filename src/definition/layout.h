/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Offers the columns that an index table has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LAYOUT_H
#define INDEXTABLE_LAYOUT_H

#include "utils/relcache.h"
#include "access/tupdesc.h"
#include "catalog/pg_attribute.h"
#include "nodes/pg_list.h"

#include "../indextable.h"

/*
 * The storage parameters of index tables.  Autovacuum comes early, because index-only
 * scans need the visibility map, and entries are narrow.
 */
#define STORAGE_PARAMETERS \
	"autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, " \
	"autovacuum_analyze_scale_factor = 0.05"

extern List *key_names(IndexDef *def);
extern TupleDesc layout_desc(IndexDef *def, Relation fact);
extern char *layout_columns(IndexDef *def, Relation fact);
extern char *layout_type(Oid type, int32 typmod, Oid collation);
extern char *layout_column(Form_pg_attribute att);
extern bool *find_kept_columns(TupleDesc desc, int nkept, int first_own);
extern char *layout_like(IndexDef *def, Relation fact, Relation old, int nkept, int first_own,
						 List **dropped);
pg_noreturn extern void report_altered_index_table(Oid index_table, Relation fact, const char *why);

#endif							/* INDEXTABLE_LAYOUT_H */
