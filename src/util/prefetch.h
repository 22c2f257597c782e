/*-------------------------------------------------------------------------
 *
 * prefetch.h
 *	  Prefetches pages of a table or an index that are about to be read.
 *
 * As with the server's read streams, more pages are prefetched while pages have to be read into the
 * shared buffers, up to effective_io_concurrency of the tablespace, and fewer while they are there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PREFETCH_H
#define INDEXTABLE_PREFETCH_H

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

typedef struct Prefetch
{
	int			most;			/* number of pages ahead at most; 0: none are
								 * prefetched */
	int			distance;		/* number of pages ahead now */
	int			ahead;			/* number of pages that were prefetched, and
								 * not read yet */
	int			done;			/* the caller's: what comes next in its list */
	int64		reads;			/* pages that the process had read until the
								 * last one */
} Prefetch;

/* prefetch_begin: prepares to prefetch pages of a relation, and of others like it */
static inline void
prefetch_begin(Prefetch *prefetch, Relation rel)
{
	memset(prefetch, 0, sizeof(Prefetch));
	prefetch->most = get_tablespace_io_concurrency(rel->rd_rel->reltablespace);
	prefetch->reads = pgBufferUsage.shared_blks_read;
}

/* prefetch_more: returns whether another page is to be prefetched now */
static inline bool
prefetch_more(Prefetch *prefetch)
{
	return prefetch->ahead < prefetch->distance;
}

/* prefetch_page: prefetches a page */
static inline void
prefetch_page(Prefetch *prefetch, Relation rel, BlockNumber block)
{
	PrefetchBuffer(rel, MAIN_FORKNUM, block);
	prefetch->ahead++;
}

/* prefetch_note_read: adapts the number of pages to prefetch after a page of the list was read */
static inline void
prefetch_note_read(Prefetch *prefetch)
{
	bool		missed = pgBufferUsage.shared_blks_read != prefetch->reads;

	prefetch->reads = pgBufferUsage.shared_blks_read;
	if (prefetch->ahead > 0)
		prefetch->ahead--;
	if (missed)
		prefetch->distance = Min(prefetch->distance * 2 + 1, prefetch->most);
	else if (prefetch->distance > 0)
		prefetch->distance--;
}

#endif							/* INDEXTABLE_PREFETCH_H */
