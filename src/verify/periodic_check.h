/*-------------------------------------------------------------------------
 *
 * periodic_check.h
 *	  Checks index tables periodically, between the batches of a worker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PERIODIC_CHECK_H
#define INDEXTABLE_PERIODIC_CHECK_H

extern void run_periodic_checks(void);

#endif							/* INDEXTABLE_PERIODIC_CHECK_H */
