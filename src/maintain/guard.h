/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  The trigger function of index tables, which refuses writes by hand.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_GUARD_H
#define INDEXTABLE_GUARD_H

extern Oid	guard_lifted;		/* the index table that we truncate or alter */

#endif							/* INDEXTABLE_GUARD_H */
