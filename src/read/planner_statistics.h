/*-------------------------------------------------------------------------
 *
 * planner_statistics.h
 *	  Lends the statistics of index tables to queries of their fact tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PLANNER_STATISTICS_H
#define INDEXTABLE_PLANNER_STATISTICS_H

extern void planner_statistics_init(void);

#endif							/* INDEXTABLE_PLANNER_STATISTICS_H */
