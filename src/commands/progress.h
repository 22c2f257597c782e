/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Notes how far an online build has come, where it goes on after an interruption.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PROGRESS_H
#define INDEXTABLE_PROGRESS_H

#include "utils/rel.h"

#include "../queue/reconcile.h"
#include "../util/compat.h"

typedef struct Build
{
	Oid			index_table;	/* that is filled */
	Oid			shown;			/* the one that the user knows of */
	Oid			fact_table;
	int			batch_size;
	int64		pause;			/* microseconds */
	bool		transactional;	/* will be */
	int64		rows;			/* in the batches of this call */
	bool		done;
	bool		alone;			/* the index table is locked against everybody */
	int			tries;			/* to have it so */
} Build;

extern void progress_begin(Relation fact, Oid index_table, int64 command);
extern void note_progress(Build *b, Reconciliation *r);
extern ArrayType *read_build_position(Build *b, Oid *table);
pg_noreturn extern void report_build_superseded(Build *b);
extern void set_phase(Build *b, const char *phase);

#endif							/* INDEXTABLE_PROGRESS_H */
