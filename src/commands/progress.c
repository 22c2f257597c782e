/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Notes how far an online build has come, tells where it goes on after an
 *	  interruption, and rests for writers.
 *
 * Each batch of a build writes the last key that it has read, in its own transaction,
 * to the table build of the extension.  The view progress shows the same row to
 * users.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "executor/spi.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/lock.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "commands.h"

/*
 * The fraction of their rate beside a resting build that writers are to keep.  This is
 * more than users are promised, because queueing costs them some, too, and because there
 * are moments when the build cannot rest, as while it swaps files.
 */
#define KEEP				0.8

/*
 * The longest and the shortest rest beside writers, and one to see how fast they are; by the
 * work before it.
 */
#define LONGEST			(KEEP / (1 - KEEP))
#define SHORTEST			(1.0 / 16)
#define PROBE				1.0

/*
 * How long it works between two rests, in seconds, if not for a batch that takes longer.
 * Writers append when they commit, so transactions should be shorter than this.
 */
#define SLICE				0.25

/* The weight of what was seen in a slice, relative to the next slice. */
#define FADE				(7.0 / 8)

/*
 * With fewer bytes than this in the queue, lately, there are no writers to speak of: some 90
 * rows.
 */
#define FEW_BYTES			4096

static double rest_after(const Throttle *t);

/*
 * progress_begin
 *		Shows in pg_stat_progress_create_index that an index table is being filled
 *		from its fact table, counted in rows.
 */
void
progress_begin(Relation fact, Oid index_table, int64 command)
{
	const int	params[] = {
		PROGRESS_CREATEIDX_COMMAND, PROGRESS_CREATEIDX_INDEX_OID,
		PROGRESS_CREATEIDX_PHASE, PROGRESS_CREATEIDX_TUPLES_TOTAL
	};
	int64		values[] = {
		command, index_table,
		PROGRESS_CREATEIDX_PHASE_BUILD, (int64) Max(fact->rd_rel->reltuples, 0)
	};

	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, RelationGetRelid(fact));
	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

/*
 * report_build_superseded
 *		Raises an error: what was being built has been dropped, or is not to be
 *		built any more.
 */
void
report_build_superseded(Build *b)
{
	if (get_rel_name(b->shown) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the index table was dropped while it was being built")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index table \"%s\" is not being built any more", get_rel_name(b->shown)),
			 errdetail("Another session has finished or abandoned the build.")));
}

/* build_wait: returns what a wait of a build is for, as it is shown to users */
LockWait
build_wait(Build *b)
{
	LockWait	wait = {.command = b->index_table != b->shown ? WAITING_REBUILD : WAITING_BUILD,
		.table = b->fact_table,
	.index = b->shown};

	return wait;
}

/*
 * note_progress
 *		Writes down the last row that a batch has read, and the table that the row is in.
 */
void
note_progress(Build *b, Reconciliation *r, Datum *last_key)
{
	FactDef    *def = r->def;
	Oid			types[] = {OIDOID, TEXTARRAYOID, INT8OID, FLOAT8OID, OIDOID};
	Datum		values[5];

	AS_OWNER(def->owner);
	{
		values[1] = key_texts(def, last_key);
	}
	END_AS_OWNER();
	values[0] = ObjectIdGetDatum(b->index_table);
	values[2] = Int64GetDatum(r->n);
	values[3] = Float8GetDatum(Max(r->fact->rd_rel->reltuples, 0));
	values[4] = ObjectIdGetDatum(RelationGetRelid(r->part));
	(void) query_with(get_extension_owner(),
					  psprintf("INSERT INTO %s AS b (index_table, phase, last_table, last_key, rows_done, rows_total, started_at, updated_at)"
							   " VALUES ($1::regclass, 'reading rows', $5::regclass, $2, $3, $4, transaction_timestamp(), clock_timestamp())"
							   " ON CONFLICT (index_table) DO UPDATE SET phase = excluded.phase, last_table = excluded.last_table,"
							   " last_key = excluded.last_key, rows_done = b.rows_done + excluded.rows_done, rows_total = excluded.rows_total,"
							   " updated_at = excluded.updated_at", catalog_table("build")), 5, types, values);
}

/* note_all_read: writes down that all rows were read */
void
note_all_read(Build *b)
{
	(void) query_as(get_extension_owner(),
					"INSERT INTO %s (index_table, phase, last_table, last_key, rows_done, rows_total, started_at, updated_at)"
					" VALUES (%u::regclass, 'waiting for old snapshots', 0::regclass, '{}', " INT64_FORMAT ", " INT64_FORMAT
					", transaction_timestamp(), clock_timestamp())", catalog_table("build"), b->index_table, b->rows, b->rows);
}

/*
 * read_build_position
 *		Returns the key of the last row that was read, and in *table where that
 *		row is, InvalidOid: all were read; NULL: the build has not begun.
 */
ArrayType *
read_build_position(Build *b, Oid *table)
{
	Rows		rows = query_as(get_extension_owner(), "SELECT last_key, last_table FROM %s WHERE index_table = '%u'::regclass",
								catalog_table("build"), b->index_table);

	*table = rows.n > 0 ? DatumGetObjectId(row_value(&rows, 0, 2)) : InvalidOid;
	return rows.n > 0 ? DatumGetArrayTypeP(row_value(&rows, 0, 1)) : NULL;
}

/* set_phase: writes down a phase for the view progress, and commits it */
void
set_phase(Build *b, const char *phase)
{
	phase = quote_literal_cstr(phase);
	PushActiveSnapshot(GetTransactionSnapshot());
	if (!OidIsValid(catalog_fact_of(b->index_table)))
		report_build_superseded(b);
	(void) query_as(get_extension_owner(),
					"UPDATE %s SET phase = %s, updated_at = clock_timestamp()"
					" WHERE index_table = '%u'::regclass AND phase <> %s",
					catalog_table("build"), phase, b->index_table, phase);
	PopActiveSnapshot();
	SPI_commit();
}

/*----------
 * Has an online build rest, so that writers of its fact table keep most of their rate.
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
 *----------
 */

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
