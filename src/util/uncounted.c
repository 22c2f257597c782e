/*-------------------------------------------------------------------------
 *
 * uncounted.c
 *	  Has the upkeep's own searches not counted as reads of an index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "uncounted.h"

/*
 * begin_uncounted, end_uncounted
 *		Nothing that is opened in between is counted, until it is opened again, by
 *		parallel workers neither: indexes are made by reading the whole index table,
 *		and a partition that is attached is read, too.
 *		An error ends it, too.
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
