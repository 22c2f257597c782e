/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  Looks up what the server knows of a table: whether it still exists, its primary
 *	  key, its tablespace, its subscriptions, and how its values are compared; keeps what
 *	  is known of tables by their OIDs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RELATION_H
#define INDEXTABLE_RELATION_H

#include "access/attnum.h"
#include "access/genam.h"
#include "access/skey.h"
#include "catalog/pg_depend.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapshot.h"
#include "utils/sortsupport.h"

/* A scan of a catalog of the server for the rows with an OID in a column. */
typedef struct CatalogScan
{
	Relation	rel;
	SysScanDesc scan;
} CatalogScan;

extern CatalogScan catalog_scan_begin(Oid catalog, Oid index, AttrNumber column, Oid value, Snapshot snapshot);
extern HeapTuple catalog_scan_next(CatalogScan *scan);
extern void catalog_scan_end(CatalogScan *scan);
extern bool is_deleted_here(HeapTupleHeader header);
extern Oid	get_equality_operator(Oid type);
extern char *equality_sql(const char *left, const char *right, Oid type, bool any);
extern void prepare_sort(SortSupport sort, Oid type, Oid collation, bool abbreviate);
extern void init_equality_key(ScanKey key, AttrNumber attno, Oid type, Oid collation, MemoryContext cxt);
extern void require_owner(Oid relid);
extern bool may_read_some(Oid relid);
extern bool can_read_blocks(Oid relid);
extern bool is_damage(ErrorData *error);
extern Relation lock_and_open(Oid relid, LOCKMODE mode);
extern bool open_if_free(Oid relid, Relation *rel);
extern Relation open_existing(Oid relid, LOCKMODE mode);
extern bool lock_if_exists(Oid relid, LOCKMODE mode);
extern HTAB *hash_by_oid(const char *name, long n, Size entry_size, MemoryContext cxt);
extern void *hash_forget(HTAB *entries, Oid relid);
extern List *subscriptions_of(Oid relid);
extern char *tablespace_of(Relation rel);
extern char *in_tablespace(const char *clause, const char *name);
extern Relation open_primary_key(Relation rel);
extern bool is_identity_index(Relation index, bool sparse);
extern Relation open_identity_index(Relation rel, bool sparse);
extern bool same_columns(TupleDesc a, TupleDesc b);
extern void record_table_dependency(Oid relid, Oid other);
extern bool find_table_dependencies(Oid relid, bool (*matches) (Form_pg_depend form, void *arg), void *arg,
									bool forget);
extern bool has_table_dependency(Oid relid, Oid on);

#endif							/* INDEXTABLE_RELATION_H */
