/*-------------------------------------------------------------------------
 *
 * compare.h
 *	  Compares an index table with what its fact table asks for, and tells a
 *	  callback of each discrepancy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPARE_H
#define INDEXTABLE_COMPARE_H

#include "discrepancy.h"
#include "sums.h"

extern void verify_index_table(Oid index_table, double sample, discrepancy_handler handler, void *arg);
extern void compare_entries(Verify *v);
extern void report_rejected(Verify *v);

#endif							/* INDEXTABLE_COMPARE_H */
