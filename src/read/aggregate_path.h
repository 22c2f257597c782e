/*-------------------------------------------------------------------------
 *
 * aggregate_path.h
 *	  Gives the planner paths that aggregate entries of index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_AGGREGATE_PATH_H
#define INDEXTABLE_AGGREGATE_PATH_H

extern void aggregate_path_init(void);

#endif							/* INDEXTABLE_AGGREGATE_PATH_H */
