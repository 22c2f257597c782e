/*-------------------------------------------------------------------------
 *
 * completeness.h
 *	  Records that fact rows lack entries, and tells which queries an index table can
 *	  answer by itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPLETENESS_H
#define INDEXTABLE_COMPLETENESS_H

#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* The bit of rows that lack an entry though their first so many key fields are not null. */
#define LACKING_BIT(fields)	((uint32) 1 << (fields))

extern bool index_table_complete(IndexDef *def, int fields, Snapshot snapshot);
extern uint32 lacking_unrecorded(IndexDef *def, uint32 lacking, Snapshot snapshot);
extern bool lacking_is_news(IndexDef *def, uint32 lacking);
extern void record_lacking(IndexDef *def, uint32 lacking);
extern List *lock_records(IndexDef *def);
extern void unlock_records(IndexDef *def, List *locked, uint32 lacking);
extern void completeness_begin(Oid index_table);
extern void completeness_move(Oid from, Oid to);

#endif							/* INDEXTABLE_COMPLETENESS_H */
