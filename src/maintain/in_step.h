/*-------------------------------------------------------------------------
 *
 * in_step.h
 *	  Offers whether a snapshot sees just the entries of the fact rows that it sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_IN_STEP_H
#define INDEXTABLE_IN_STEP_H

#include "access/xact.h"
#include "utils/snapshot.h"

#include "../indextable.h"

extern void in_step_init(void);
extern bool entries_in_step(IndexDef *def, Snapshot snapshot, const char **why);
extern bool written_by_us(FactDef *def);
extern void in_step_lost(Oid fact);
extern void in_step_at_end(void);
extern void in_step_at_abort_of(SubTransactionId sub);

#endif							/* INDEXTABLE_IN_STEP_H */
