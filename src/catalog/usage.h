/*-------------------------------------------------------------------------
 *
 * usage.h
 *	  How much index tables are read; and usage.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_USAGE_H
#define INDEXTABLE_USAGE_H

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "../util/compat.h"

extern List *usage_keys(Oid index_table);
extern void usage_follows(Oid index_table, List *old_keys);
extern void usage_from_now(Oid index_table);
extern void usage_note_reads(void);
extern PGDLLEXPORT Datum indextable_reset_stats(PG_FUNCTION_ARGS);

#endif							/* INDEXTABLE_USAGE_H */
