/*-------------------------------------------------------------------------
 *
 * parallel_sums.h
 *	  Has parallel workers help to sum up the entries of an index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARALLEL_SUMS_H
#define INDEXTABLE_PARALLEL_SUMS_H

#include "sums.h"

extern bool sum_up_in_parallel(Verify *v);

#endif							/* INDEXTABLE_PARALLEL_SUMS_H */
