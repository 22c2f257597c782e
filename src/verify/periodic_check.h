/*-------------------------------------------------------------------------
 *
 * periodic_check.h
 *	  The periodic check.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PERIODIC_CHECK_H
#define INDEXTABLE_PERIODIC_CHECK_H

extern void run_periodic_checks(void);

#endif							/* INDEXTABLE_PERIODIC_CHECK_H */
