/*-------------------------------------------------------------------------
 *
 * foreign_snapshot.h
 *	  Has one moment for all servers that a fact table is spread over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_SNAPSHOT_H
#define INDEXTABLE_FOREIGN_SNAPSHOT_H

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"

extern void foreign_init(void);
extern void check_servers_unused(Oid fact, const char *what);
extern void note_writers_locked_out(Oid fact);
extern Snapshot get_synchronized_snapshot(FactDef *def, Relation fact);
extern void warn_foreign(Oid fact);

#endif							/* INDEXTABLE_FOREIGN_SNAPSHOT_H */
