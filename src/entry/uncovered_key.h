/*-------------------------------------------------------------------------
 *
 * uncovered_key.h
 *	  Takes the included fields out of an index table's primary key, where entries
 *	  are too wide for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNCOVERED_KEY_H
#define INDEXTABLE_UNCOVERED_KEY_H

#include "../indextable.h"
#include "entries.h"

extern void uncover_key_for_ops(IndexDef *def, OpList *list);
extern void uncover_keys_at_commit(void);

#endif							/* INDEXTABLE_UNCOVERED_KEY_H */
