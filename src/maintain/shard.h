/*-------------------------------------------------------------------------
 *
 * shard.h
 *	  Finds the definition that a shard of a distributed table belongs to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARD_H
#define INDEXTABLE_SHARD_H

#include "commands/trigger.h"
#include "utils/rel.h"

#include "../indextable.h"

extern bool is_shard_trigger(Trigger *trigger);
extern FactDef *shard_definition(Relation shard);
extern void distributed_install_fact(Oid fact, const char *trigger, const char *event, const char *level);
extern void distributed_install_guard(Oid index_table, int64 number);
extern void distributed_renew_guard(Oid index_table);

#endif							/* INDEXTABLE_SHARD_H */
