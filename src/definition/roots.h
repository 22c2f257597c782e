/*-------------------------------------------------------------------------
 *
 * roots.h
 *	  Offers the fact table that a partition belongs to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROOTS_H
#define INDEXTABLE_ROOTS_H

#include "utils/rel.h"

extern Oid	root_of(Relation rel);
extern Oid	registered_root(Oid relid);
extern Oid	find_root_detached_from(Oid relid);
extern void check_not_detached(Relation rel);

#endif							/* INDEXTABLE_ROOTS_H */
