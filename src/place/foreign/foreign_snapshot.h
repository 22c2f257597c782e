/*-------------------------------------------------------------------------
 *
 * foreign_snapshot.h
 *	  Takes snapshots of the same moment on all servers that have partitions of a fact
 *	  table, and warns and refuses where that is not enough.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_SNAPSHOT_H
#define INDEXTABLE_FOREIGN_SNAPSHOT_H

#include "access/xact.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../../indextable.h"

extern void release_foreign_snapshot(void);
extern void forget_foreign_snapshot(void);
extern void foreign_snapshot_at_abort_of_sub(void);
extern void check_servers_unused(Oid fact, const char *what);
extern void note_writers_locked_out(Oid fact);
extern Snapshot get_synchronized_snapshot(FactDef *def, Relation fact);
extern void warn_foreign(Oid fact, bool async);

#endif							/* INDEXTABLE_FOREIGN_SNAPSHOT_H */
