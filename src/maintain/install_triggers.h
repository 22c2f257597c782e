/*-------------------------------------------------------------------------
 *
 * install_triggers.h
 *	  Creates, checks and drops our triggers on fact tables, and the guards of index
 *	  tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_INSTALL_TRIGGERS_H
#define INDEXTABLE_INSTALL_TRIGGERS_H

extern void triggers_install(Oid fact);
extern void triggers_install_on(Oid relid, Oid fact);
extern void triggers_remove_from(Oid relid);
extern bool triggers_intact(Oid fact);
extern bool guards_intact(Oid index_table);
extern bool triggers_remove(Oid fact, bool wait);
extern void triggers_install_guard(Oid index_table);

#endif							/* INDEXTABLE_INSTALL_TRIGGERS_H */
