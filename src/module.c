/*-------------------------------------------------------------------------
 *
 * module.c
 *	  Loads the library: called by the server, once in a backend, or once in the
 *	  postmaster if it is preloaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "indextable.h"
#include "maintain/at_commit.h"
#include "maintain/batch.h"
#include "maintain/foreign_snapshot.h"
#include "maintain/truncate.h"
#include "queue/append.h"
#include "queue/commit_prepared.h"
#include "queue/shared_memory.h"
#include "read/planner_statistics.h"
#include "read/query.h"
#include "util/settings.h"
#include "worker/launcher.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	define_gucs();
	trigger_init();
	foreign_init();
	query_init();
	planner_statistics_init();
	/* The last to be told of a commit, as the others may still bring changes. */
	queue_init();
	batch_init();
	at_commit_init();
	if (process_shared_preload_libraries_in_progress)
	{
		shared_init();
		launcher_init();
		prepared_init();
	}
}
