/*-------------------------------------------------------------------------
 *
 * module.c
 *	  Loads the library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "indextable.h"
#include "queue/worker_slots.h"
#include "maintain/at_commit.h"
#include "maintain/batch.h"
#include "maintain/in_step.h"
#include "place/citus/shard_guard.h"
#include "queue/append.h"
#include "queue/shared_memory.h"
#include "read/aggregate_path.h"
#include "read/found_rows.h"
#include "read/keyed_scan.h"
#include "read/missed.h"
#include "read/path.h"
#include "read/planner_statistics.h"
#include "read/scan_node.h"
#include "read/totals_scan.h"
#include "read/served.h"
#include "read/unexpanded.h"
#include "util/settings.h"
#include "worker/launcher.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/*
 * _PG_init
 *		Sets up all parts of the extension.
 *
 * The server calls it once in each backend that uses the extension, or once in the
 * postmaster if the library is preloaded.
 */
void
_PG_init(void)
{
	define_gucs();
	planner_statistics_init();
	served_init();
	unexpanded_init();
	path_init();
	aggregate_path_init();
	scan_node_init();
	totals_scan_init();
	keyed_scan_init();
	queue_init();
	batch_init();
	at_commit_init();
	in_step_init();
	shard_guard_init();
	found_rows_init();
	if (process_shared_preload_libraries_in_progress)
	{
		shared_init();
		missed_init();
		launcher_init();
		prepared_init();
	}
}
