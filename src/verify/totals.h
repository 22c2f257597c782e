/*-------------------------------------------------------------------------
 *
 * totals.h
 *	  Compares a table of totals with its fact table, and mends it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VERIFY_TOTALS_H
#define INDEXTABLE_VERIFY_TOTALS_H

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "discrepancy.h"

extern uint32 verify_totals(FactDef *factdef, IndexDef *def, Relation fact, Relation index_table, Snapshot snapshot,
							discrepancy_handler handler, void *arg);
extern int64 add_missing_totals(Oid index_table, bool report);
extern bool repair_if_totals(Oid index_table, int64 *wrong);

#endif							/* INDEXTABLE_VERIFY_TOTALS_H */
