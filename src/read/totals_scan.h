/*-------------------------------------------------------------------------
 *
 * totals_scan.h
 *	  Executes a plan that answers aggregates from a table of totals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TOTALS_SCAN_H
#define INDEXTABLE_TOTALS_SCAN_H

extern void totals_scan_init(void);

#endif							/* INDEXTABLE_TOTALS_SCAN_H */
