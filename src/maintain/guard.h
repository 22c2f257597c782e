/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  Tells the guard of index tables, which refuses writes by hand, to let the
 *	  extension itself pass.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_GUARD_H
#define INDEXTABLE_GUARD_H

/* The index table that the extension truncates or alters at this moment, or InvalidOid. */
extern Oid	guard_lifted;

#endif							/* INDEXTABLE_GUARD_H */
