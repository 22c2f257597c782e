/*-------------------------------------------------------------------------
 *
 * module.c
 *	  Loads the library, and has the functions that only the SQL of version 1.1 names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "maintain/at_commit.h"
#include "maintain/batch.h"
#include "maintain/in_step.h"
#include "place/citus/shard_guard.h"
#include "queue/append.h"
#include "queue/worker_slots.h"
#include "read/hooks.h"
#include "read/missed_counts.h"
#include "util/settings.h"
#include "worker/launcher.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);


PG_FUNCTION_INFO_V1(indextable_explain_query);

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
	}
}

/*
 * The catalog of a database is of version 1.1 until ALTER EXTENSION indextable UPDATE, and
 * pg_upgrade looks in the library for every function that a database has.  So the library
 * keeps a function for each that is gone, which tells what to do.
 */

/* explain_query(): EXPLAIN tells how SQL is run */
Datum
indextable_explain_query(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("explain_query() is not supported any more"),
			 errhint("Run ALTER EXTENSION indextable UPDATE;")));
}
