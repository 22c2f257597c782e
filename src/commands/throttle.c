/*-------------------------------------------------------------------------
 *
 * throttle.c
 *	  Has an online build rest, so that writers of its fact table keep most of their rate.
 *
 * What a build takes away from writers depends on the machine: nothing where a core is
 * idle, half of their rate where they have kept all cores busy, and more where a disk is
 * what they wait for.  So it is measured.  While an index table is being built, all
 * writers of its fact table append to the queue, whose length therefore tells how fast
 * they are, in both of the states that a build alternates between: it works, batch after
 * batch, for a slice of time, and then it rests, without a transaction and without locks.
 * If
 *
 *		kept = rate while it works / rate while it rests
 *
 * and d is the fraction of time that it works, they have d * kept + (1 - d) of the rate
 * that they have without it.  This is KEEP if
 *
 *		rest / work = (1 - d) / d = (KEEP - kept) / (1 - KEEP).
 *
 * Nothing is adapted step by step that could swing: the rest follows from what was seen,
 * of which each slice has less weight the older it is.  It does not follow where nothing
 * is left to measure, so that a build beside writers always rests a little, and for once
 * as long as it has worked if that was not enough to see how fast they are.  If nobody
 * writes, it does not rest at all.
 *
 * A build ends: as kept is at least 0, a rest is at most KEEP / (1 - KEEP) times as long
 * as the work before it, and reading the rows is finite.  Applying the queue is not, as
 * writers go on; but what it rests then is what it could have rested more while it read,
 * and when that is used up, it does not rest any more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "portability/instr_time.h"

#include "../queue/backlog.h"
#include "../util/sleep.h"
#include "../util/wait_point.h"
#include "throttle.h"

/*
 * The fraction of their rate beside a resting build that writers are to keep.  This is
 * more than users are promised, because queueing costs them some, too, and because there
 * are moments when the build cannot rest, as while it swaps files.
 */
#define KEEP				0.8

/* The longest and the shortest rest beside writers, and one to see how fast they are; by the work before it. */
#define LONGEST			(KEEP / (1 - KEEP))
#define SHORTEST			(1.0 / 16)
#define PROBE				1.0

/*
 * How long it works between two rests, in seconds, if not for a batch that takes longer.
 * Writers append when they commit, so transactions should be shorter than this.
 */
#define SLICE				0.25

/* What was seen in a slice counts so much of what was seen in the next one. */
#define FADE				(7.0 / 8)

/* With fewer bytes than this in the queue, lately, there are no writers to speak of: some 90 rows. */
#define FEW_BYTES			4096

static double rest_after(const Throttle *t);

/*
 * throttle_look
 *		Notes what writers have appended to the queue of the fact table since the last
 *		look; worked says whether the build has worked meanwhile, or rested.  It looks
 *		when a batch begins and before it commits.
 */
void
throttle_look(Throttle *t, Oid fact_table, bool worked)
{
	Seen	   *seen = worked ? &t->work : &t->rest;
	int64		bytes = queue_growth(fact_table, &t->ends);
	instr_time	now;
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(now);
	if (!INSTR_TIME_IS_ZERO(t->looked_at))
	{
		elapsed = now;
		INSTR_TIME_SUBTRACT(elapsed, t->looked_at);
		seen->seconds += INSTR_TIME_GET_DOUBLE(elapsed);
		seen->bytes += bytes;
		if (worked)
			t->slice += INSTR_TIME_GET_DOUBLE(elapsed);
	}
	t->looked_at = now;
}

/*
 * throttle_rest
 *		Sleeps, if it is time for that, as long as writers need; reading says whether the
 *		build reads rows, or applies the queue.  The caller has no transaction under way
 *		that holds anything up.
 */
void
throttle_rest(Throttle *t, bool reading)
{
	double		rest;

	if (t->slice < SLICE)
		return;
	if (reading)
		t->allowance += t->slice * LONGEST;
	rest = Min(t->slice * rest_after(t), t->allowance);
	t->allowance -= rest;
	t->slice = 0;
	t->work.seconds *= FADE;
	t->work.bytes *= FADE;
	t->rest.seconds *= FADE;
	t->rest.bytes *= FADE;
	if (rest > 0)
	{
		wait_point("a build rests");
		sleep_interruptibly((int64) (rest * 1000));
	}
}

/* rest_after: returns how long the build is to rest, by how long it has worked */
static double
rest_after(const Throttle *t)
{
	double		kept;

	if (t->work.bytes + t->rest.bytes < FEW_BYTES)
		return 0;
	if (t->rest.bytes <= 0 || t->rest.seconds < t->work.seconds * SHORTEST)
		return PROBE;
	kept = (t->work.bytes / t->work.seconds) / (t->rest.bytes / t->rest.seconds);
	return Max((KEEP - kept) / (1 - KEEP), SHORTEST);
}
