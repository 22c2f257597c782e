/*-------------------------------------------------------------------------
 *
 * usage.h
 *	  Has the upkeep's own searches not counted as reads of an index table.
 *
 * Included by apply.c, entryscan.c and sample.c, which search index tables, by
 * trigger.c and by usage.c.
 *
 * The server counts scans by itself, in counters of this backend that go to the
 * shared ones when it is idle.  Until then they can be put back: what stays are
 * the reads of lookup() and of plain SQL, which cost nothing more to count.  A
 * search that ends in an error stays counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_USAGE_H
#define INDEXTABLE_USAGE_H

#include "indextable.h"
#include "pgstat.h"

/* What was read of a table or an index before. */
typedef struct ReadCounts
{
	bool		counted;
	PgStat_Counter scans;
	PgStat_Counter returned;
	PgStat_Counter fetched;
} ReadCounts;

static inline void
remember_reads(Relation rel, ReadCounts *before)
{
	before->counted = pgstat_should_count_relation(rel);
	if (!before->counted)
		return;
	before->scans = TABLE_COUNTER(rel, numscans);
	before->returned = TABLE_COUNTER(rel, tuples_returned);
	before->fetched = TABLE_COUNTER(rel, tuples_fetched);
}

static inline void
put_back_reads(Relation rel, ReadCounts *before)
{
	if (!before->counted || rel->pgstat_info == NULL)
		return;
	TABLE_COUNTER(rel, numscans) = before->scans;
	TABLE_COUNTER(rel, tuples_returned) = before->returned;
	TABLE_COUNTER(rel, tuples_fetched) = before->fetched;
}

#endif							/* INDEXTABLE_USAGE_H */
