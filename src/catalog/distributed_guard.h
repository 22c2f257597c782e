/*-------------------------------------------------------------------------
 *
 * distributed_guard.h
 *	  Reads what the guard of a distributed index table says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DISTRIBUTED_GUARD_H
#define INDEXTABLE_DISTRIBUTED_GUARD_H

extern int64 guard_number(Oid index_table);

#endif							/* INDEXTABLE_DISTRIBUTED_GUARD_H */
