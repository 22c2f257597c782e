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
#include "diff.h"

extern void narrow_key_for_ops(IndexDef *def, OpList *list);
extern void narrow_keys_at_commit(void);
extern void narrow_keys_at_abort_of(SubTransactionId sub);
extern void narrow_keys_at_xact_end(void);

#endif							/* INDEXTABLE_UNCOVERED_KEY_H */
