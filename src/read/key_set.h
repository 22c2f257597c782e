/*-------------------------------------------------------------------------
 *
 * key_set.h
 *	  Reads from JSON the keys that are looked up, and keeps them sorted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_KEY_SET_H
#define INDEXTABLE_KEY_SET_H

#include "utils/jsonb.h"
#include "utils/sortsupport.h"

#include "../indextable.h"

/* Keys: values of the leading key columns, as many of each key. */
typedef struct KeySet
{
	int			ncolumns;
	int			n;				/* so many keys; 0: nothing can match */
	Datum	   *values;			/* those of one key after those of another, in
								 * the order of the index table, none twice */
} KeySet;

/* The values of key number i. */
#define KEY_VALUES(set, i)	(&(set)->values[(i) * (set)->ncolumns])

extern void key_set_read(IndexDef *def, Jsonb *json, bool all_allowed, KeySet *set);
extern void key_set_restrict(IndexDef *def, JsonbValue *value, KeySet *set);
extern bool key_set_has(IndexDef *def, KeySet *set, Datum *entry);
extern int	key_set_find(IndexDef *def, KeySet *set, Datum *key);
extern bool key_set_is(IndexDef *def, KeySet *set, int i, Datum *key);
extern int	sort_key_values(Datum *keys, int n, int ncolumns, SortSupport sort);
extern char *key_columns(IndexDef *def);
extern const char *key_column_name(IndexDef *def, int i);
extern int	find_key_column(IndexDef *def, const char *name);
extern char *condition_example(const char *column, const char *op, JsonbValue *value);
extern const char *operator_meant(const char *op);

#endif							/* INDEXTABLE_KEY_SET_H */
