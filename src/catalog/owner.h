/*-------------------------------------------------------------------------
 *
 * owner.h
 *	  Tells who owns the extension, and keeps other roles away from what it makes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_OWNER_H
#define INDEXTABLE_OWNER_H

#include "utils/relcache.h"

extern Oid	get_extension_owner(void);
extern Oid	table_owner(Oid relid);
extern void revoke_all(Oid relid, Oid owner);
extern void grant_default_select(Oid relid, Relation fact);
extern void record_extension_dependency(Oid relid);
extern bool is_extension_table(Oid relid);

#endif							/* INDEXTABLE_OWNER_H */
