/*-------------------------------------------------------------------------
 *
 * key_hint.h
 *	  Writes hints for keys and conditions that are not as they have to be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_KEY_HINT_H
#define INDEXTABLE_KEY_HINT_H

#include "utils/jsonb.h"

#include "../indextable.h"

extern char *key_columns(IndexDef *def);
extern char *key_example(IndexDef *def, JsonbContainer *key);
extern char *condition_example(const char *column, const char *op, JsonbValue *value);
extern char *hint_for_key_column(IndexDef *def, const char *name);
extern const char *operator_meant(const char *op);

#endif							/* INDEXTABLE_KEY_HINT_H */
