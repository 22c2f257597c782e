/*-------------------------------------------------------------------------
 *
 * throttle.h
 *	  Has an online build rest, so that writers of its fact table keep most of their rate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_THROTTLE_H
#define INDEXTABLE_THROTTLE_H

#include "portability/instr_time.h"

#include "../queue/backlog.h"

/* What was seen of writers while the build worked, or while it rested. */
typedef struct Seen
{
	double		seconds;
	double		bytes;			/* that they have appended to the queue */
} Seen;

/* Zeroed before it is used. */
typedef struct Throttle
{
	QueueEnds	ends;			/* of the queue, when it was last looked at */
	instr_time	looked_at;		/* and when that was; zero: never */
	Seen		work;			/* lately */
	Seen		rest;
	double		slice;			/* seconds of work since the last rest */
	double		allowance;		/* seconds that it may rest at most, in all */
} Throttle;

extern void throttle_look(Throttle *t, Oid fact_table, bool worked);
extern void throttle_rest(Throttle *t, bool reading);

#endif							/* INDEXTABLE_THROTTLE_H */
