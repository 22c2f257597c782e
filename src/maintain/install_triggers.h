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

#include "nodes/nodes.h"

extern void triggers_install(Oid fact);
extern void triggers_install_on(Oid relid, Oid fact);
extern void triggers_remove_from(Oid relid);
extern bool triggers_intact(Oid fact);
extern bool guards_intact(Oid index_table);
extern bool triggers_remove(Oid fact, bool wait);
extern void triggers_install_guard(Oid index_table);

/*
 * The index table that the extension truncates, or alters, at this moment, or
 * InvalidOid.  Who sets one of them restores what it was, also after an error: code of
 * others runs in such a command, and may bring about another one.
 */
extern Oid	truncated_by_us;
extern Oid	altered_by_us;

extern bool is_own_alter(Node *command);

#endif							/* INDEXTABLE_INSTALL_TRIGGERS_H */
