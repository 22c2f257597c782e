/*-------------------------------------------------------------------------
 *
 * validity.h
 *	  Decides which definitions in the catalog are to be believed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VALIDITY_H
#define INDEXTABLE_VALIDITY_H

#include "../indextable.h"

extern bool is_adopted(Oid index_table, Oid fact_table);
extern bool definition_matches_tables(DefinitionRow *row);

#endif							/* INDEXTABLE_VALIDITY_H */
