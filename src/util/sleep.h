/*-------------------------------------------------------------------------
 *
 * sleep.h
 *	  Sleeps, so that it can be interrupted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SLEEP_H
#define INDEXTABLE_SLEEP_H

#include "datatype/timestamp.h"

extern void sleep_interruptibly(int64 ms);
extern bool sleep_longer(long *length, long longest, TimestampTz until);

#endif							/* INDEXTABLE_SLEEP_H */
