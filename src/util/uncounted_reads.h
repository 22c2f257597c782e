/*-------------------------------------------------------------------------
 *
 * uncounted_reads.h
 *	  Keeps the upkeep's own reads out of the statistics of index tables.
 *
 * The server counts scans by itself, and so counts the reads of lookup(), of query() and
 * of plain SQL at no extra cost.  Around each of the upkeep's own reads a relation has no
 * counters, as if track_counts were off for it alone.  The blocks that such a read needs
 * are not counted either; writes, which come in between, are.
 *
 * Whenever a relation is opened, it is counted again, so that nothing has to be done
 * after an error.  The counts may be off by a few reads: a cursor that is open on the
 * same index reads uncounted until the index is opened next, and if a function of an
 * index or a type opens the relation amid one of our reads, the rest of that read is
 * counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNCOUNTED_READS_H
#define INDEXTABLE_UNCOUNTED_READS_H

#include "pgstat.h"
#include "utils/guc.h"
#include "utils/rel.h"

/*
 * stop_counting
 *		Has a relation's reads not counted from now on.
 *
 * The server keeps what is counted already, and adds to it when counting goes on.
 */
static inline void
stop_counting(Relation rel)
{
	pgstat_unlink_relation(rel);
	rel->pgstat_enabled = false;
}

/* go_on_counting: has a relation's reads counted again, unless track_counts is off */
static inline void
go_on_counting(Relation rel)
{
	pgstat_init_relation(rel);
}

/*
 * begin_uncounted
 *		Turns track_counts off while a command runs; returns what end_uncounted() takes.
 *
 * The reads of a relation that is opened until then are not counted until it is
 * opened again; neither are those of parallel workers.  To make an index, the whole index
 * table is read, and so is a partition that is attached.  An error restores the setting,
 * too.
 */
static inline int
begin_uncounted(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("track_counts", "off", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

/* end_uncounted: restores track_counts */
static inline void
end_uncounted(int nestlevel)
{
	AtEOXact_GUC(true, nestlevel);
}

#endif							/* INDEXTABLE_UNCOUNTED_READS_H */
