/*-------------------------------------------------------------------------
 *
 * dependencies.h
 *	  Records and finds in pg_depend what a table depends on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DEPENDENCIES_H
#define INDEXTABLE_DEPENDENCIES_H

#include "catalog/pg_depend.h"

extern void record_table_dependency(Oid relid, Oid other);
extern bool find_table_dependencies(Oid relid, bool (*matches) (Form_pg_depend form, Oid arg), Oid arg,
									bool forget);
extern bool has_table_dependency(Oid relid, Oid on);

#endif							/* INDEXTABLE_DEPENDENCIES_H */
