/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Offers the columns, the primary key and the row index that an index table has, and makes
 *	  the indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LAYOUT_H
#define INDEXTABLE_LAYOUT_H

#include "access/tupdesc.h"
#include "catalog/pg_attribute.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

extern TupleDesc layout_desc(IndexDef *def, Relation fact);
extern char *layout_columns(IndexDef *def, Relation fact);
extern char *layout_column(Form_pg_attribute att);
extern bool *find_kept_columns(TupleDesc desc, int nkept, int first_own);
extern char *layout_like(IndexDef *def, Relation fact, Relation old, int nkept, int first_own,
						 List **dropped);
extern void layout_drop_columns(Oid relid, List *names);
extern char *layout_primary_key(IndexDef *def, bool covering);
extern void layout_add_primary_key(IndexDef *def, bool covering, const char *tablespace, const char *drop);
extern void layout_mark_key(Oid relid, const char *constraint, bool clustered, bool identity);
extern char *layout_row_index(IndexDef *def);
extern void layout_make_row_index(Oid index_table, const char *columns);
extern void layout_drop_row_index(Oid index_table);
extern bool layout_covers(IndexDef *def, Relation primary_key);
extern bool layout_can_cover(IndexDef *def);
extern Size layout_max_covered_bytes(IndexDef *def);

#endif							/* INDEXTABLE_LAYOUT_H */
