/*-------------------------------------------------------------------------
 *
 * fact_table.h
 *	  Opens a table that is to be a fact table, checks its partitions, and finds the
 *	  definition of one whose trigger has fired.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_TABLE_H
#define INDEXTABLE_FACT_TABLE_H

#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "../indextable.h"

extern Relation open_fact(Oid relid, LOCKMODE lock);
extern void check_partitions(Relation root);
extern FactDef *get_trigger_definition(Relation fact);

#endif							/* INDEXTABLE_FACT_TABLE_H */
