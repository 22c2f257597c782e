/*-------------------------------------------------------------------------
 *
 * follow_ddl.h
 *	  Keeps the catalog in step with fact tables and index tables that were altered, or
 *	  marks index tables as invalid.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOLLOW_DDL_H
#define INDEXTABLE_FOLLOW_DDL_H

#include "utils/rel.h"

#include "../indextable.h"

extern bool sync_index_table_owner(Oid index_table, Relation fact, bool change);
extern void update_definitions(Oid fact, bool fact_altered, bool renamed);
extern void update_definition(IndexDef *def, Relation fact, bool entries_changed);
extern void invalidate_without_triggers(Oid relid);
extern void invalidate_broken_definitions(Oid relid);
extern void warn_undefined(Oid index_table);
extern void refuse_undefined(Oid fact_table, Oid written);

#endif							/* INDEXTABLE_FOLLOW_DDL_H */
