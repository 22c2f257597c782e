/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Notes how far an online build has come, tells where it goes on after an
 *	  interruption, and rests for writers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PROGRESS_H
#define INDEXTABLE_PROGRESS_H

#include "portability/instr_time.h"
#include "utils/array.h"
#include "utils/rel.h"

#include "../queue/backlog.h"
#include "../queue/reconcile.h"
#include "../util/compat.h"

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

/* A call of build() or rebuild(). */
typedef struct Build
{
	Oid			index_table;	/* the one that is filled */
	Oid			shown;			/* the one that the user knows: the same, or
								 * the one that it replaces */
	Oid			fact_table;
	int			batch_size;
	int64		pause;			/* microseconds after each batch; -1: as long
								 * as writers need */
	Throttle	throttle;
	bool		transactional;	/* whether it will be, when it is built */
	int64		rows;			/* read by this call */
	bool		done;			/* all rows are read */
	bool		alone;			/* the index table is locked against all other
								 * sessions */
	int			tries;			/* how often that was tried in vain */
} Build;

extern void progress_begin(Relation fact, Oid index_table, int64 command);
extern void note_progress(Build *b, Reconciliation *r, Datum *last_key);
extern ArrayType *read_build_position(Build *b, Oid *table);
pg_noreturn extern void report_build_superseded(Build *b);
extern void set_phase(Build *b, const char *phase);
extern void throttle_look(Throttle *t, Oid fact_table, bool worked);
extern void throttle_rest(Throttle *t, bool reading);

#endif							/* INDEXTABLE_PROGRESS_H */
