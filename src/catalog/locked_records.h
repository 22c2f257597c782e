/*-------------------------------------------------------------------------
 *
 * locked_records.h
 *	  Removes records of rows without entries that are about no row any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOCKED_RECORDS_H
#define INDEXTABLE_LOCKED_RECORDS_H

#include "../indextable.h"

extern List *lock_records(IndexDef *def);
extern void unlock_records(IndexDef *def, List *locked, uint32 lacking);

#endif							/* INDEXTABLE_LOCKED_RECORDS_H */
