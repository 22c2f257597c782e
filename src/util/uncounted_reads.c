/*-------------------------------------------------------------------------
 *
 * uncounted_reads.c
 *	  Keeps the upkeep's own reads out of the statistics of index tables while a command
 *	  runs; uncounted_reads.h does so for single searches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "uncounted_reads.h"

/*
 * begin_uncounted, end_uncounted
 *		Turn track_counts off, and restore it.
 *
 * The reads of a relation that is opened between the two are not counted until it is
 * opened again; neither are those of parallel workers.  To make an index, the whole index
 * table is read, and so is a partition that is attached.  An error restores the setting,
 * too.
 */
int
begin_uncounted(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("track_counts", "off", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

void
end_uncounted(int nestlevel)
{
	AtEOXact_GUC(true, nestlevel);
}
