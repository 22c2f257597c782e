/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  Shows scans of index tables in EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_EXPLAIN_H
#define INDEXTABLE_EXPLAIN_H

#include "commands/explain.h"
#include "nodes/extensible.h"

extern void explain_scan(CustomScanState *node, List *ancestors, ExplainState *es);
extern void explain_totals_table(Oid index_table, bool is_totals, const char *why, ExplainState *es);
extern void explain_later(const char *statement, Oid index_table, ExplainState *es);
extern void explain_found(int nrows, ExplainState *es);

#endif							/* INDEXTABLE_EXPLAIN_H */
