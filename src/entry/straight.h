/*-------------------------------------------------------------------------
 *
 * straight.h
 *	  Writes the entries of one row straight into an index table that needs nothing
 *	  special.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_STRAIGHT_H
#define INDEXTABLE_STRAIGHT_H

#include "../indextable.h"
#include "diff.h"

extern bool is_straight(IndexDef *def, OpList *list);
extern bool apply_straight(IndexDef *def, OpList *list);

#endif							/* INDEXTABLE_STRAIGHT_H */
