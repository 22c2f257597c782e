/*-------------------------------------------------------------------------
 *
 * table_access.h
 *	  Finds the extension's own tables, and reads and writes their rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TABLE_ACCESS_H
#define INDEXTABLE_TABLE_ACCESS_H

#include "access/attnum.h"
#include "access/genam.h"
#include "access/htup.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "../util/compat.h"

extern Oid	catalog_relid(const char *name, bool missing_ok);
extern const char *catalog_table(const char *name);
extern Oid	catalog_schema(void);
extern bool is_own_schema(Oid schema);
extern bool is_extension_member(Oid class, Oid object);
extern List *all_rows(const char *table, void *(*read) (HeapTuple tuple, TupleDesc desc));
extern List *array_strings(Datum array, Oid type);
extern Oid	catalog_index(Relation rel, const char *name);
extern bool catalog_table_has_columns(const char *table, int natts);
extern const char *extension_version(void);
extern void check_version(TupleDesc desc, int natts);
pg_noreturn extern void report_other_version(void);
extern bool delete_by_oid(const char *table, const char *index, AttrNumber column, Oid value);
extern void insert_row(const char *table, Datum *values, bool *isnull);
extern SysScanDesc scan_by_oid(Relation rel, const char *index, AttrNumber column, Oid value);
extern Datum string_array(List *strings, Oid type);
extern bool wait_for_row_writer(Relation rel, HeapTuple tuple);

#endif							/* INDEXTABLE_TABLE_ACCESS_H */
