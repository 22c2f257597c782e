/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Notes how far an online build has come, and tells where it goes on after an
 *	  interruption.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PROGRESS_H
#define INDEXTABLE_PROGRESS_H

#include "utils/array.h"
#include "utils/rel.h"

#include "../queue/reconcile.h"
#include "../util/compat.h"
#include "throttle.h"

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

#endif							/* INDEXTABLE_PROGRESS_H */
