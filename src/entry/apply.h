/*-------------------------------------------------------------------------
 *
 * apply.h
 *	  Applies a list of operations to an index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_APPLY_H
#define INDEXTABLE_APPLY_H

#include "../indextable.h"
#include "entries.h"

extern bool apply_ops(IndexDef *def, OpList *ops, bool keep);

#endif							/* INDEXTABLE_APPLY_H */
