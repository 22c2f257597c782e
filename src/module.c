/*-------------------------------------------------------------------------
 *
 * module.c
 *	  Loads the library, creates its shared memory, and has the functions that only the SQL of version 1.1 names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "advise/advise.h"
#include "aggregate/aggregate.h"
#include "candidate/candidate.h"
#include "citus/citus.h"
#include "foreign/foreign.h"
#include "local/local.h"
#include "maintain/maintain.h"
#include "planner/planner.h"
#include "queue/queue.h"
#include "reasons/reasons.h"
#include "scan/scan.h"
#include "statistics/statistics.h"
#include "indextable.h"
#include "util/compiled.h"
#include "util/naming.h"
#include "util/role_caches.h"
#include "util/settings.h"
#include "util/temporary_last.h"
#include "worker/worker.h"
#include "writes/writes.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* What is kept in shared memory.  There is none unless the library is preloaded. */
static const SharedPart *const shared_parts[] = {&workers_shared, &missed_shared};

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void request_shared_memory(void);
static void attach_shared_memory(void);

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
	compiled_init();
	role_caches_init();
	temporary_last_init();
	naming_init();
	statistics_init();
	query_table_init();
	unexpanded_init();
	path_init();
	element_join_init();
	aggregate_path_init();
	RegisterCustomScanMethods(&index_table_scan.methods);
	RegisterCustomScanMethods(&totals_scan.methods);
	queue_init();
	batch_init();
	at_commit_init();
	commit_code_init();
	in_step_init();
	foreign_init();
	local_init();
	citus_init();
	writes_init();
	advise_init();
	if (process_shared_preload_libraries_in_progress)
	{
		previous_request_hook = shmem_request_hook;
		shmem_request_hook = request_shared_memory;
		previous_startup_hook = shmem_startup_hook;
		shmem_startup_hook = attach_shared_memory;
		launcher_init();
	}
}

/* request_shared_memory: tells the server how much shared memory is needed */
static void
request_shared_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	for (Size i = 0; i < lengthof(shared_parts); i++)
	{
		RequestAddinShmemSpace(MAXALIGN(shared_parts[i]->size));
		RequestNamedLWLockTranche(shared_parts[i]->name, 1);
	}
}

/* attach_shared_memory: finds the shared memory; the first process creates it, empty */
static void
attach_shared_memory(void)
{
	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (Size i = 0; i < lengthof(shared_parts); i++)
	{
		bool		found;
		void	   *memory = ShmemInitStruct(shared_parts[i]->name, shared_parts[i]->size, &found);

		if (!found)
		{
			memset(memory, 0, shared_parts[i]->size);
			*(LWLock **) memory = &GetNamedLWLockTranche(shared_parts[i]->name)->lock;
		}
		*(void **) shared_parts[i]->pointer = memory;
		if (!found && shared_parts[i]->init != NULL)
			shared_parts[i]->init();
	}
	LWLockRelease(AddinShmemInitLock);
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
