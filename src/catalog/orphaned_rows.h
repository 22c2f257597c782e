/*-------------------------------------------------------------------------
 *
 * orphaned_rows.h
 *	  Deletes rows of the catalog that are about nothing any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ORPHANED_ROWS_H
#define INDEXTABLE_ORPHANED_ROWS_H

#include "../indextable.h"

extern void forget_orphaned_rows(Oid named);
extern List *lock_records(IndexDef *def);
extern void unlock_records(IndexDef *def, List *locked, uint32 lacking);

#endif							/* INDEXTABLE_ORPHANED_ROWS_H */
