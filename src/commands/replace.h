/*-------------------------------------------------------------------------
 *
 * replace.h
 *	  Makes the replacement of an index table, and puts it in its place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REPLACE_H
#define INDEXTABLE_REPLACE_H

#include "../indextable.h"

extern bool has_filter_dependencies(Oid index_table);
extern void replace_code_dependencies(Oid index_table);
extern Oid	make_replacement(DefinitionRow *row, Oid index_table);
extern void check_not_in_use(Oid relid);
extern void replace_index_table(DefinitionRow *replacement);

#endif							/* INDEXTABLE_REPLACE_H */
