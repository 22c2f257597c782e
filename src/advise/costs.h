/*-------------------------------------------------------------------------
 *
 * costs.h
 *	  Says what writers pay for an index table, as multiples of what they pay for a native
 *	  index on the same field.
 *
 * These are ratios of the medians in test/bench/results.md, of CPU time above no index: tables
 * "single" and "enqueue" against an expression B-tree, "arrays" and "enqueue" against GIN.  The
 * times themselves are those of another machine; the ratios are about the same on all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COSTS_H
#define INDEXTABLE_COSTS_H

#define INSERT_COST			2.3
#define UPDATE_COST			0.4 /* leaves the key alone */
#define MOVE_COST			1.7 /* changes the key */
#define DELETE_COST			1.9 /* times an insert: a native index leaves
								 * deletes to VACUUM */
#define QUEUED_INSERT_COST	0.4
#define QUEUED_UPDATE_COST	0.3
#define QUEUED_MOVE_COST	0.4

/* The same for an array, against GIN. */
#define ARRAY_INSERT_COST	1.9
#define ARRAY_DELETE_COST	1.8
#define ARRAY_QUEUED_COST	0.2

#endif							/* INDEXTABLE_COSTS_H */
