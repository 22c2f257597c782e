/*-------------------------------------------------------------------------
 *
 * usage.h
 *	  Keeps the counters of how much index tables are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_USAGE_H
#define INDEXTABLE_USAGE_H

#include "nodes/pg_list.h"

extern List *usage_keys(Oid index_table);
extern void usage_follows(Oid index_table, List *old_keys);
extern void usage_from_now(Oid index_table);
extern void usage_note_reads(void);

#endif							/* INDEXTABLE_USAGE_H */
