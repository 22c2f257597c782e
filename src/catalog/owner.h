/*-------------------------------------------------------------------------
 *
 * owner.h
 *	  Tells who owns the extension, and keeps other roles away from what it makes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_OWNER_H
#define INDEXTABLE_OWNER_H

extern Oid	get_extension_owner(void);
extern void revoke_all(Oid relid, Oid owner);
extern void record_extension_dependency(Oid relid);
extern bool is_extension_table(Oid relid);

#endif							/* INDEXTABLE_OWNER_H */
