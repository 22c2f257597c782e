/*-------------------------------------------------------------------------
 *
 * misfit.h
 *	  The error for an index table that does not fit its fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MISFIT_H
#define INDEXTABLE_MISFIT_H

#include "utils/relcache.h"

#include "../indextable.h"

pg_noreturn extern void report_altered_index_table(Oid index_table, Relation fact, const char *why);

#endif							/* INDEXTABLE_MISFIT_H */
