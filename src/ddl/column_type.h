/*-------------------------------------------------------------------------
 *
 * column_type.h
 *	  Has index tables follow a change of a fact table's column to another type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COLUMN_TYPE_H
#define INDEXTABLE_COLUMN_TYPE_H

#include "nodes/parsenodes.h"

#include "../indextable.h"

extern bool can_follow_type(FactDef *fact, const char *column);
extern void prepare_type_change(FactDef *fact);
extern void lock_for_type_change(Oid table);
extern void follow_type_change(Oid fact, AlterTableStmt *stmt);

#endif							/* INDEXTABLE_COLUMN_TYPE_H */
