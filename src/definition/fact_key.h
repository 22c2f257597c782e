/*-------------------------------------------------------------------------
 *
 * fact_key.h
 *	  Offers the columns that identify the rows of a fact table that has no primary key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_KEY_H
#define INDEXTABLE_FACT_KEY_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

extern List *stored_key(Oid fact);
extern bool resolve_row_key(FactDef *def, Relation fact, List *key, const char **names);
pg_noreturn extern void report_no_primary_key(Oid fact);
extern Oid	row_key_index(FactDef *def, Relation leaf);
extern void check_row_key(FactDef *def, Relation root);

#endif							/* INDEXTABLE_FACT_KEY_H */
