/*-------------------------------------------------------------------------
 *
 * drop.h
 *	  indextable.drop(): drops an index table, and forgets it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DROP_H
#define INDEXTABLE_DROP_H

extern void drop_index_table(Oid relid);
extern void forget_dropped_relation(Oid relid, bool wait, DropBehavior behavior);

#endif							/* INDEXTABLE_DROP_H */
