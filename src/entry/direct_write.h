/*-------------------------------------------------------------------------
 *
 * direct_write.h
 *	  Writes the entries of one row straight into an index table that needs nothing
 *	  special.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DIRECT_WRITE_H
#define INDEXTABLE_DIRECT_WRITE_H

#include "../indextable.h"
#include "entries.h"

extern bool is_straight(IndexDef *def, OpList *list);
extern bool apply_straight(IndexDef *def, OpList *list);

#endif							/* INDEXTABLE_DIRECT_WRITE_H */
