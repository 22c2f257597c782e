/*-------------------------------------------------------------------------
 *
 * uncounted.h
 *	  Has the upkeep's own searches not counted as reads of an index table.
 *
 * Included by apply.c, entryscan.c and sample.c, which search index tables, and
 * by usage.c.
 *
 * The server counts scans by itself: what it counts are the reads of lookup(), of
 * query() and of plain SQL, which cost nothing more.  Around each of the upkeep's
 * own reads a relation has no counters, as if track_counts were off for it alone.
 * Neither are the blocks that such a read needs counted; writes are, as they come
 * in between.
 *
 * Every opening of a relation has it counted again, so that nothing has to be done
 * after an error.  A cursor that somebody has open on the same index then reads
 * uncounted until the index is opened next, and if an index's or a type's function
 * opens the relation amid one of our reads, the rest of that read is counted: the
 * reads may be off by these few.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNCOUNTED_H
#define INDEXTABLE_UNCOUNTED_H

#include "pgstat.h"
#include "utils/rel.h"

/*
 * stop_counting
 *		What is counted already stays with the server, and is found again by the
 *		first that counts.
 */
static inline void
stop_counting(Relation rel)
{
	pgstat_unlink_relation(rel);
	rel->pgstat_enabled = false;
}

/* go_on_counting: unless track_counts is off */
static inline void
go_on_counting(Relation rel)
{
	pgstat_init_relation(rel);
}

extern int	begin_uncounted(void);
extern void end_uncounted(int nestlevel);

#endif							/* INDEXTABLE_UNCOUNTED_H */
