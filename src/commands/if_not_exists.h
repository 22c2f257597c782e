/*-------------------------------------------------------------------------
 *
 * if_not_exists.h
 *	  Offers what create() does about an index table that exists, if it is asked to accept one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_IF_NOT_EXISTS_H
#define INDEXTABLE_IF_NOT_EXISTS_H

#include "utils/rel.h"

#include "../definition/request.h"
#include "../indextable.h"

extern Oid	find_named_table(const char *name, Oid fact_table);
extern bool is_bare_copy(Oid table, Oid fact_table);
extern Oid	replace_bare_copy(Oid existing, Relation fact);
pg_noreturn extern void refuse_existing(Oid existing);
extern void check_existing(Oid existing, DefinitionRow *row, IndexDef *asked, PartitioningRequest *parts, Relation fact);

#endif							/* INDEXTABLE_IF_NOT_EXISTS_H */
