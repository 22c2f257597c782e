/*-------------------------------------------------------------------------
 *
 * sleep.c
 *	  Sleeps, so that it can be interrupted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "sleep.h"

/*
 * sleep_interruptibly
 *		Sleeps for a number of ms.
 *
 * It takes a loop, as the latch may be set earlier, and can be waited for only for 24
 * days at once.
 */
void
sleep_interruptibly(int64 ms)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
	TimestampTz now;

	while ((now = GetCurrentTimestamp()) < until)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 Min((until - now + 999) / 1000, INT_MAX), WAIT_EVENT_PG_SLEEP);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * sleep_longer
 *		Sleeps for *length ms, but not far beyond until, and doubles *length for the next
 *		time, up to longest; returns false, without sleeping, once until has passed.
 */
bool
sleep_longer(long *length, long longest, TimestampTz until)
{
	static uint32 wait_event = 0;
	TimestampTz now = GetCurrentTimestamp();
	long		ms;

	if (now >= until)
		return false;
	if (wait_event == 0)
		wait_event = new_wait_event("IndextableWait");
	ms = Min(*length, 1 + (until - now) / 1000);
	WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
			  wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	*length = Min(*length * 2, longest);
	return true;
}
