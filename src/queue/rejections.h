/*-------------------------------------------------------------------------
 *
 * rejections.h
 *	  Keeps the rows that have no entries in an asynchronous index table because of an
 *	  error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REJECTIONS_H
#define INDEXTABLE_REJECTIONS_H

#include "nodes/pg_list.h"

#include "../indextable.h"

extern void reject_rows(FactDef *def, List *rejected);
extern void rejections_delete_resolved(FactDef *def, int defno, Datum *keys, int n, List *rejected);
extern List *rejections_due(FactDef *def);
extern void rejections_retry_now(Oid index_table, bool values);
extern char *rejection_of(FactDef *def, Oid index_table, Datum *key);

#endif							/* INDEXTABLE_REJECTIONS_H */
