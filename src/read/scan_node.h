/*-------------------------------------------------------------------------
 *
 * scan_node.h
 *	  Has the executor know scans of index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_NODE_H
#define INDEXTABLE_SCAN_NODE_H

extern void scan_node_init(void);

#endif							/* INDEXTABLE_SCAN_NODE_H */
