/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Opens an index table for reading, checks access, and reads keys from JSON.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOOKUP_H
#define INDEXTABLE_LOOKUP_H

#include "access/skey.h"
#include "utils/jsonb.h"

#include "../indextable.h"
#include "fetch.h"

extern void lookup_open(Lookup *lookup, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *lookup);
extern void lookup_close(Lookup *lookup);
extern int	lookup_key(IndexDef *def, Jsonb *key, ScanKey keys);

#endif							/* INDEXTABLE_LOOKUP_H */
