/*-------------------------------------------------------------------------
 *
 * distributed_triggers.h
 *	  Puts our triggers on distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_TRIGGERS_H
#define INDEXTABLE_DISTRIBUTED_TRIGGERS_H

extern void distributed_install_fact(Oid fact, const char *trigger, const char *event, const char *level);
extern void distributed_install_guard(Oid index_table, int64 number);
extern void distributed_renew_guard(Oid index_table);

#endif							/* INDEXTABLE_DISTRIBUTED_TRIGGERS_H */
