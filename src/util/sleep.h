/*-------------------------------------------------------------------------
 *
 * sleep.h
 *	  Sleeps for a while, interruptibly.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SLEEP_H
#define INDEXTABLE_SLEEP_H

#include "datatype/timestamp.h"

extern void sleep_interruptibly(int64 ms);
extern bool sleep_longer(long *length, TimestampTz until);

#endif							/* INDEXTABLE_SLEEP_H */
