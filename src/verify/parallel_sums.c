/*-------------------------------------------------------------------------
 *
 * parallel_sums.c
 *	  Has parallel workers help to sum up the entries of an index table.
 *
 * The leader and its workers share one reading of the fact table, and one of the index
 * table: each block is read by one of them.  Each adds the hashes of entries to
 * buckets of its own, and in the end the leader adds these up.  An entry that should be
 * there and the one that is there need not be seen by the same process, because sums do
 * not depend on which process has added what.
 *
 * All read with the leader's snapshot.  It sees what the leader's transaction has written
 * so far, and nobody writes while there are workers.  Workers load the definition of the
 * index table themselves.  It is the leader's, whose locks on both tables keep out DDL.
 * If a function of users has been replaced meanwhile, a worker may call the new one; then
 * some sums differ, and the leader compares the entries of these buckets by itself.
 *
 * What could not be done in parallel mode is left to the leader alone.  In parallel mode
 * there are no subtransactions, and so any error that may be about a row ends the attempt:
 * the leader starts again by itself, and finds the row.  So does an error that says that
 * something is forbidden in parallel mode: a function of users that catches errors begins
 * subtransactions, and may be called parallel safe all the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "postmaster/bgworker.h"
#include "storage/shm_toc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/subxact.h"
#include "verify.h"

/* What is in shared memory. */
enum
{
	KEY_SHARED,
	KEY_FACT_SCAN,				/* the reading of the fact table */
	KEY_INDEX_SCAN,				/* the reading of the index table */
	KEYS
};

typedef struct SharedSums
{
	Oid			index_table;
	Sums		sums[FLEXIBLE_ARRAY_MEMBER];	/* those of each worker */
} SharedSums;

/* The server finds it by its name. */
PGDLLEXPORT void indextable_sum_up(dsm_segment *seg, shm_toc *toc);

static int	wanted_workers(Verify *v);
static bool function_is_safe(FmgrInfo *function);
static bool entries_are_parallel_safe(IndexDef *def);
static void sum_up_with_workers(void *verify);
static void add_sums(Sums *sums, const Sums *more);

/*
 * sum_up_in_parallel
 *		Sums up the entries of both tables with the help of workers; returns false if that
 *		has to be done without them.
 */
bool
sum_up_in_parallel(Verify *v)
{
	ErrorData  *error;

	v->nworkers = wanted_workers(v);
	if (v->nworkers == 0)
		return false;
	error = run_catching_errors(sum_up_with_workers, v);
	v->shared_fact = NULL;
	v->shared_index = NULL;
	if (error == NULL)
		return true;
	if (!is_row_error(error) && error->sqlerrcode != ERRCODE_INVALID_TRANSACTION_STATE)
		ReThrowError(error);
	FreeErrorData(error);
	memset(v->sums, 0, sizeof(Sums));
	return false;
}

/*
 * indextable_sum_up
 *		What a worker does: it sums up the entries of the blocks that it gets.
 */
void
indextable_sum_up(dsm_segment *seg, shm_toc *toc)
{
	SharedSums *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	Verify		v = {.sample = 100,.reading = READ_SUMS,.sums = &shared->sums[ParallelWorkerNumber]};
	int			nestlevel = NewGUCNestLevel();

	fix_gucs();
	v.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable verify", ALLOCSET_DEFAULT_SIZES);
	v.snapshot = GetActiveSnapshot();
	v.def = definition_open(shared->index_table, &v.fact, &v.index_table);
	if (v.def == NULL)
		elog(ERROR, "a parallel worker does not find the definition of an index table");
	v.shared_fact = shm_toc_lookup(toc, KEY_FACT_SCAN, false);
	v.shared_index = shm_toc_lookup(toc, KEY_INDEX_SCAN, false);
	read_fact_rows(&v);
	read_index_table(&v);
	relation_close(v.index_table, NoLock);
	relation_close(v.fact, NoLock);
	AtEOXact_GUC(false, nestlevel);
}

/*
 * wanted_workers
 *		Returns how many workers are wanted, by the size of both tables as for a plan of the
 *		server; 0 if there must not be any.
 *
 * A background worker takes none for its periodic check, which is to disturb nobody.
 */
static int
wanted_workers(Verify *v)
{
	RelOptInfo *rel;

	if (max_parallel_maintenance_workers == 0 || IsInParallelMode() || !IsUnderPostmaster ||
		MyBgworkerEntry != NULL)
		return 0;

	/* Workers cannot use the session's transactions on other servers. */
	if (v->shard != NULL ||
		elsewhere->leaves(RelationGetRelid(v->fact)) != NIL || !entries_are_parallel_safe(v->def))
		return 0;
	rel = makeNode(RelOptInfo);
	rel->reloptkind = RELOPT_BASEREL;
	rel->rel_parallel_workers = RelationGetParallelWorkers(v->fact, -1);
	return compute_parallel_worker(rel,
								   block_scan_count_blocks(v->fact, 100) +
								   block_scan_count_blocks(v->index_table, 100),
								   -1, max_parallel_maintenance_workers);
}

/*
 * entries_are_parallel_safe
 *		Returns whether parallel workers may make the entries of an index table.
 */
static bool
entries_are_parallel_safe(IndexDef *def)
{
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];

		/* Casts of users run in a subtransaction, see cast_text(). */
		if (field->cast.users || !function_is_safe(&field->cast.convert) ||
			!function_is_safe(&field->cast.length) ||
			(field->convert != NULL && !expression_parallel_safe(field->convert)))
			return false;
	}
	return def->spec.filter == NULL || expression_parallel_safe(def->spec.filter);
}

/*
 * function_is_safe
 *		Returns whether parallel workers may call a function of a cast, if there is one.
 */
static bool
function_is_safe(FmgrInfo *function)
{
	return !OidIsValid(function->fn_oid) || func_parallel(function->fn_oid) == PROPARALLEL_SAFE;
}

/*
 * sum_up_with_workers
 *		Launches workers, takes part, and adds up the sums of all; for
 *		run_catching_errors().
 *
 * After an error, the end of the subtransaction ends the workers and the parallel mode.
 */
static void
sum_up_with_workers(void *verify)
{
	Verify	   *v = verify;
	ParallelContext *pcxt;
	Size		fact_size = shared_block_scan_init(NULL, v->fact, v->snapshot);
	Size		index_size = shared_block_scan_init(NULL, v->index_table, v->snapshot);
	Size		size = add_size(offsetof(SharedSums, sums), mul_size(sizeof(Sums), v->nworkers));
	SharedSums *shared;

	EnterParallelMode();
	pcxt = CreateParallelContext("indextable", "indextable_sum_up", v->nworkers);
	shm_toc_estimate_chunk(&pcxt->estimator, size);
	shm_toc_estimate_chunk(&pcxt->estimator, fact_size);
	shm_toc_estimate_chunk(&pcxt->estimator, index_size);
	shm_toc_estimate_keys(&pcxt->estimator, KEYS);
	InitializeParallelDSM(pcxt);

	shared = shm_toc_allocate(pcxt->toc, size);
	memset(shared, 0, size);
	shared->index_table = v->def->relid;
	shm_toc_insert(pcxt->toc, KEY_SHARED, shared);
	v->shared_fact = shm_toc_allocate(pcxt->toc, fact_size);
	(void) shared_block_scan_init(v->shared_fact, v->fact, v->snapshot);
	shm_toc_insert(pcxt->toc, KEY_FACT_SCAN, v->shared_fact);
	v->shared_index = shm_toc_allocate(pcxt->toc, index_size);
	(void) shared_block_scan_init(v->shared_index, v->index_table, v->snapshot);
	shm_toc_insert(pcxt->toc, KEY_INDEX_SCAN, v->shared_index);

	LaunchParallelWorkers(pcxt);
	if (parallel_leader_participation || pcxt->nworkers_launched == 0)
	{
		read_fact_rows(v);
		read_index_table(v);
	}
	WaitForParallelWorkersToFinish(pcxt);
	for (int i = 0; i < pcxt->nworkers_launched; i++)
		add_sums(v->sums, &shared->sums[i]);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
}

/* add_sums: adds what a worker has found to what is known */
static void
add_sums(Sums *sums, const Sums *more)
{
	sums->any_rejected |= more->any_rejected;
	sums->misplaced += more->misplaced;
	sums->lacking |= more->lacking;
	sums->lacking_queued |= more->lacking_queued;
	for (int i = 0; i < BUCKETS; i++)
	{
		sums->buckets[i].expected += more->buckets[i].expected;
		sums->buckets[i].found += more->buckets[i].found;
	}
}
