/*-------------------------------------------------------------------------
 *
 * on_drop.h
 *	  The event trigger after a DROP: forgets what was dropped, and refuses what must
 *	  stay.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ON_DROP_H
#define INDEXTABLE_ON_DROP_H

#include "nodes/parsenodes.h"

struct DropStmt;

extern void prepare_drop(struct DropStmt *stmt);

#endif							/* INDEXTABLE_ON_DROP_H */
