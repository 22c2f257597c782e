/*-------------------------------------------------------------------------
 *
 * narrow_key.h
 *	  Included fields that are too wide for the primary key leave it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NARROW_KEY_H
#define INDEXTABLE_NARROW_KEY_H

#include "access/xact.h"

#include "../indextable.h"
#include "diff.h"

extern void narrow_key_for_ops(IndexDef *def, OpList *list);
extern void narrow_keys_at_commit(void);
extern void narrow_keys_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent);
extern void narrow_keys_at_xact_end(void);

#endif							/* INDEXTABLE_NARROW_KEY_H */
