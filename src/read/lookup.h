/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  From a key to fact rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOOKUP_H
#define INDEXTABLE_LOOKUP_H

#include "access/skey.h"
#include "utils/jsonb.h"

#include "../indextable.h"
#include "fetch.h"

extern void lookup_open(Lookup *l, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *l);
extern void lookup_close(Lookup *l);
extern int	lookup_key(IndexDef *def, Jsonb *key, ScanKey keys);
extern char *key_columns(IndexDef *def);

#endif							/* INDEXTABLE_LOOKUP_H */
