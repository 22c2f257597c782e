/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Opens an index table for reading, and checks access.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOOKUP_H
#define INDEXTABLE_LOOKUP_H

#include "fetch.h"

extern void lookup_open(Lookup *lookup, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *lookup);
extern void lookup_close(Lookup *lookup);

#endif							/* INDEXTABLE_LOOKUP_H */
