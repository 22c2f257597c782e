/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  Has the planner and the executor know what this folder adds to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_HOOKS_H
#define INDEXTABLE_HOOKS_H

/* Each is called once, when the library is loaded: those of the planner ... */
extern void served_init(void);
extern void planner_statistics_init(void);
extern void unexpanded_init(void);
extern void path_init(void);
extern void aggregate_path_init(void);
extern void found_rows_init(void);

/* ... and those of nodes. */
extern void scan_node_init(void);
extern void totals_scan_init(void);
extern void keyed_scan_init(void);

#endif							/* INDEXTABLE_HOOKS_H */
