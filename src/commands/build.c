/*-------------------------------------------------------------------------
 *
 * build.c
 *	  indextable.build() and rebuild(): fill an index table while its fact table is
 *	  written.
 *
 * build() fills what create() has registered with populate => false.  rebuild() fills
 * a replacement of an index table, which serves meanwhile, and puts it in the place
 * of that index table in the end.
 *
 * While an index table is being built, writers queue their changes to it, as if it
 * were asynchronous, and the drain applies them.  A batch of the build locks the
 * queue as a drain does, and does what a drain does, with keys that it reads from the
 * fact table instead of the queue.  It reads the keys and the rows with one snapshot,
 * and a change that this snapshot does not see is queued.  So no other session writes
 * the index table, no row is locked, and it does not matter what is written
 * meanwhile.  Each batch commits together with the last key that it has read, and a
 * build that was interrupted goes on from there.  All of that is as true of a batch of all
 * rows, which takes the place of what drains have written before: they were of changes that
 * its snapshot sees.
 *
 * In the end writers are locked out for as long as it takes to drain what is queued
 * by then, which is little; from then on they keep a transactional index table in
 * step themselves.  If one of the locks cannot be had at once, all are released, and
 * the build tries again later.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "commands/progress.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/lock.h"
#include "../util/lock_wait.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "../verify/verify.h"
#include "commands.h"

PG_FUNCTION_INFO_V1(indextable_build);
PG_FUNCTION_INFO_V1(indextable_rebuild);

/*
 * How often to try to lock an index table against its readers, before the build ends without
 * that.
 */
#define MAX_TRIES			20

/* How often rejected rows are tried again, before the build fails for them. */
#define MAX_RETRIES			3

/* How many ms writers and readers go on between two tries, at first and at most. */
#define MIN_REST			10
#define MAX_REST			1000

static void rebuild_totals(Oid index_table);
static void set_damage_aside(Build *b);
static void drain_once(void *arg);
static void prepare_rebuild(Build *b);
static bool find_unfinished_replacement(Build *b);
static void run_build(Build *b);
static void retry_rejections(Build *b);
static void drain_in_batches(Build *b, int few);
static void look(Build *b, bool worked);
static void rest(Build *b, bool reading);
static Build *check_build_request(FunctionCallInfo fcinfo, const char *function, DefinitionRow **stored);
static void release_and_wait(LockWait *wait, Oid relid, LOCKMODE mode);
static bool lock_to_finish(Build *b, TableLock *awaited);
static void finish_build(Build *b);
pg_noreturn static void report_rejections(Oid shown);

/*
 * indextable_build
 *		Fills an index table that was created with populate => false, from where
 *		an earlier call has stopped.
 *
 * build(index_table regclass, batch_size integer, pause interval)
 */
Datum
indextable_build(PG_FUNCTION_ARGS)
{
	DefinitionRow *stored;
	Build	   *b = check_build_request(fcinfo, "build()", &stored);
	const IndexTableMethods *methods = place_of(b->fact_table)->index_tables;

	/* Those that workers build may be complete before the call. */
	if (stored->state == STATE_ACTIVE && methods->build != NULL)
		PG_RETURN_VOID();
	if (stored->state != STATE_BUILDING)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not being built", get_rel_name(b->shown)),
				 errdetail("Its state is \"%s\".", state_names[stored->state]),
				 errhint("Only an index table that was created with populate => false is built. To rebuild this one, run %s",
						 told_call("rebuild", b->shown))));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	if (methods->build != NULL)
		methods->build(b->index_table, b->fact_table);
	else
		run_build(b);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * indextable_rebuild
 *		Makes the entries of an index table anew, from where an earlier call has
 *		stopped.
 *
 * rebuild(index_table regclass, batch_size integer, pause interval)
 */
Datum
indextable_rebuild(PG_FUNCTION_ARGS)
{
	DefinitionRow *stored;
	Build	   *b = check_build_request(fcinfo, "rebuild()", &stored);

	place_check_unchanging(b->shown, "rebuild()");
	if (stored->state == STATE_BUILDING)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" has not been built yet", get_rel_name(b->shown)),
				 errhint("Run %s", told_call("build", b->shown))));

	/*
	 * What is right of totals need not be written anew, and nobody is kept
	 * out.
	 */
	if (keeps_totals(stored))
	{
		rebuild_totals(b->shown);
		PG_RETURN_VOID();
	}
	restore_primary_keys(b->shown);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	if (is_queued(stored))
		set_damage_aside(b);
	prepare_rebuild(b);
	run_build(b);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * rebuild_totals
 *		Mends a table of totals; if its entries cannot be read, removes them, and counts all rows again.
 */
static void
rebuild_totals(Oid index_table)
{
	Relation	fact;
	int64		wrong = 0;
	DefinitionRow *row = required_definition(index_table);
	ErrorData  *error;

	CATCHING_ERRORS(error, (void) repair_if_totals(index_table, &wrong));
	if (error == NULL)
		return;
	if (!is_damage(error))
		ReThrowError(error);
	FreeErrorData(error);
	lock_tree_in_turns(row->fact_table, ShareRowExclusiveLock);
	lock_tree_in_turns(index_table, AccessExclusiveLock);
	require_owner(index_table);
	row = required_definition(index_table);
	fact = relation_open(row->fact_table, NoLock);
	catalog_update(row, fact);	/* older snapshots are not answered by it */
	CacheInvalidateRelcache(fact);
	relation_close(fact, NoLock);
	CommandCounterIncrement();
	empty_index_table(index_table);
	completeness_begin(index_table);
	(void) add_missing_totals(index_table, false);
}

/*
 * set_damage_aside
 *		Sees to it that what is queued can be applied while an asynchronous index table is rebuilt: makes the
 *		queue anew if it cannot be read, and else removes the entries, which are going to be replaced.
 *
 * A batch of changes is tried.  One that fails holds up all that is queued after it, so if it is a
 * later one, it is the first when rebuild() is called again.
 */
static void
set_damage_aside(Build *b)
{
	LockWait	wait = {.command = WAITING_REBUILD,.table = b->fact_table,.index = b->shown};
	ErrorData  *error;
	FactDef    *def;

	SPI_commit();
	PushActiveSnapshot(GetTransactionSnapshot());
	error = run_catching_failures(drain_once, b);
	while (error != NULL && is_damage(error) &&
		   !lock_without_delaying_others(b->fact_table, ShareRowExclusiveLock))
		release_and_wait(&wait, b->fact_table, ShareRowExclusiveLock);
	if (error != NULL && is_damage(error))
	{
		require_owner(b->shown);
		def = get_definition(b->shown)->fact;
		if (queue_is_damaged(def))
			queues_restore(b->fact_table);
		else
		{
			lock_tree_in_turns(b->shown, AccessExclusiveLock);
			invalidate_definitions(list_make1(required_definition(b->shown)),
								   "Its entries could not be read, and were removed.");
			empty_index_table(b->shown);
			drain_once(b);		/* an error that is about something else
								 * undoes this */
		}
	}
	PopActiveSnapshot();
	SPI_commit();
}

/* drain_once: applies a batch of changes; for run_catching_failures() */
static void
drain_once(void *arg)
{
	Build	   *b = arg;
	DrainPosition position = {0};
	int64		changes = 0;

	drain_batch(b->fact_table, setting_batch_size, &position, &changes);
	drain_end(&position);
}

/*
 * prepare_rebuild
 *		Makes the replacement that is to be built, unless an earlier call or
 *		alter() has made it.
 */
static void
prepare_rebuild(Build *b)
{
	LockWait	wait = {.command = WAITING_REBUILD,.table = b->fact_table,.index = b->shown};
	bool		ready;

	SPI_commit();
	PushActiveSnapshot(GetTransactionSnapshot());
	while (!(ready = find_unfinished_replacement(b)) &&
		   !lock_without_delaying_others(b->fact_table, ShareRowExclusiveLock))
		release_and_wait(&wait, b->fact_table, ShareRowExclusiveLock);
	if (!ready && !find_unfinished_replacement(b))
	{
		DefinitionRow *stored;
		DefinitionRow row;

		require_owner(b->shown);
		update_definitions(b->fact_table, false, true);
		stored = replacement_of(b->shown);
		row = stored != NULL ? *stored : *required_definition(b->shown);
		check_replaceable(&row, b->shown);
		row.state = STATE_BUILDING;
		make_replacement(&row, b->shown);
		(void) find_unfinished_replacement(b);
	}
	PopActiveSnapshot();
	SPI_commit();
}

/*
 * find_unfinished_replacement
 *		Returns whether there is a replacement that can be built further, and
 *		makes it what is built.
 */
static bool
find_unfinished_replacement(Build *b)
{
	DefinitionRow *stored = replacement_of(b->shown);

	if (stored == NULL || stored->state != STATE_BUILDING || !replacement_fits(stored))
		return false;
	check_replaceable(stored, b->shown);
	b->index_table = stored->index_table;
	b->transactional = stored->maintenance == MAINTENANCE_TRANSACTIONAL;
	return true;
}

/*
 * run_build
 *		Builds the index table from where the build stopped, to the end, in several
 *		transactions.
 */
static void
run_build(Build *b)
{
	LockWait	wait = build_wait(b);
	int64		pause = MIN_REST;
	TransactionId oldest;

	do
	{
		if (b->transactional)
			retry_rejections(b);
		PushActiveSnapshot(GetTransactionSnapshot());
		look(b, false);
		if (!with_queue_locked(b->fact_table, build_batch, b))
			report_build_superseded(b);
		look(b, true);
		PopActiveSnapshot();
		SPI_commit();
		if (!b->done)
			rest(b, true);
		CHECK_FOR_INTERRUPTS();
	} while (!b->done);

	set_phase(b, "waiting for old snapshots");

	/*
	 * No transaction is to have a snapshot that sees the index table half
	 * full.  This one commits first: another build may wait for the end of
	 * its snapshot.
	 */
	oldest = GetLatestSnapshot()->xmin;
	SPI_commit();
	show_lock_wait(&wait, PROGRESS_CREATEIDX_PHASE_WAIT_3);
	WaitForOlderSnapshots(oldest, true);
	pgstat_progress_end_command();
	AcceptInvalidationMessages();
	set_phase(b, "catching up");
	for (;;)
	{
		TableLock	awaited;

		drain_in_batches(b, FEW_CHANGES);
		wait_point("a build has caught up");
		PushActiveSnapshot(GetTransactionSnapshot());
		if (lock_to_finish(b, &awaited))
			break;
		PopActiveSnapshot();
		SPI_commit();
		set_phase(b, "waiting for locks");
		if (OidIsValid(awaited.relid))
			wait_for_lockers(&wait, awaited.relid, awaited.mode);
		else
			sleep_interruptibly(pause);
		pause = Min(pause * 2, MAX_REST);
	}
	pgstat_progress_end_command();
	finish_build(b);
	PopActiveSnapshot();
	SPI_commit();
}

/*
 * retry_rejections
 *		Raises an error if rows are rejected, and are rejected again when they are retried:
 *		see require_no_rejections().
 */
static void
retry_rejections(Build *b)
{
	bool		rejected = true;

	for (int round = 0; rejected && round <= MAX_RETRIES; round++)
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		rejected = catalog_has_rejections(b->index_table);
		if (rejected && round == MAX_RETRIES)
			report_rejections(b->shown);
		if (rejected)
			rejections_retry_now(b->index_table, false);
		PopActiveSnapshot();
		SPI_commit();
		if (rejected)
			drain_in_batches(b, 0);
	}
}

/*
 * drain_in_batches
 *		Applies what is queued, each batch in a transaction of its own, until a batch
 *		has found no more than few changes.
 */
static void
drain_in_batches(Build *b, int few)
{
	int64		changes;

	do
	{
		DrainPosition position = {0};

		changes = 0;
		PushActiveSnapshot(GetTransactionSnapshot());
		look(b, false);
		drain_batch(b->fact_table, setting_batch_size, &position, &changes);
		drain_end(&position);
		look(b, true);
		PopActiveSnapshot();
		SPI_commit();
		if (changes > few)
			rest(b, false);
		CHECK_FOR_INTERRUPTS();
	} while (changes > few);
}

/* look: looks how fast writers are; worked says whether the build has worked since the last look */
static void
look(Build *b, bool worked)
{
	if (b->pause < 0)
		throttle_look(&b->throttle, b->fact_table, worked);
}

/*
 * rest
 *		Sleeps after a batch that was committed, as long as the user has asked for, or else as
 *		long as writers need.
 */
static void
rest(Build *b, bool reading)
{
	if (b->pause < 0)
		throttle_rest(&b->throttle, reading);
	else if (b->pause > 0 && reading)
		sleep_interruptibly(b->pause / 1000);
}

/*
 * check_build_request
 *		Checks what the user asks for, and returns it; *stored becomes the definition.
 */
static Build *
check_build_request(FunctionCallInfo fcinfo, const char *function, DefinitionRow **stored)
{
	Build	   *b = palloc0(sizeof(Build));

	PreventCommandIfReadOnly(function);
	require_arg(fcinfo, 0, "index_table");
	b->index_table = b->shown = PG_GETARG_OID(0);
	b->batch_size = batch_size_arg(fcinfo, 1);
	*stored = required_definition(b->index_table);
	require_owner(b->index_table);
	check_place_of_index_table(b->index_table);
	b->fact_table = (*stored)->fact_table;
	b->transactional = (*stored)->maintenance == MAINTENANCE_TRANSACTIONAL;
	if (OidIsValid((*stored)->replaces))
		b->shown = (*stored)->replaces;
	b->pause = interval_arg(fcinfo, 2, "pause");
	b->at_once = PG_ARGISNULL(1) && b->pause <= 0;
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run inside a transaction block", function),
				 errdetail("It commits after every batch.")));
	return b;
}

/*
 * release_and_wait
 *		Ends the transaction, which has failed to get a lock, waits for the transactions that have it, and
 *		begins the next one.
 */
static void
release_and_wait(LockWait *wait, Oid relid, LOCKMODE mode)
{
	PopActiveSnapshot();
	SPI_commit();
	wait_for_lockers(wait, relid, mode);
	pgstat_progress_end_command();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/*
 * lock_to_finish
 *		Takes the locks that the end of the build needs; returns false if one of
 *		them could not be had soon, because waiting for it would hold up other
 *		sessions, and sets *awaited to what can be waited for instead, or to no table.
 *
 * The index table that was being built is locked to drop the index that only the
 * build needs.  If other sessions keep reading it, that index stays.
 */
static bool
lock_to_finish(Build *b, TableLock *awaited)
{
	bool		replaces = b->index_table != b->shown;

	awaited->relid = b->fact_table;
	awaited->mode = ShareRowExclusiveLock;
	if (!lock_without_delaying_others(b->fact_table, ShareRowExclusiveLock))
		return false;
	awaited->mode = AccessExclusiveLock;
	if (replaces)
	{
		if (!lock_with_timeout(awaited->relid = b->shown, AccessExclusiveLock) ||
			!lock_with_timeout(awaited->relid = b->index_table, AccessExclusiveLock))
			return false;
		/* Either may have been dropped while its lock was waited for. */
		if (get_rel_name(b->shown) == NULL || get_rel_name(b->index_table) == NULL)
			report_build_superseded(b);
		/* A TOAST table may be vacuumed while its table is locked. */
		foreach_oid(relid, list_concat(toast_tables(b->shown), toast_tables(b->index_table)))
		{
			if (!lock_with_timeout(awaited->relid = relid, AccessExclusiveLock))
				return false;
		}
		return true;
	}
	awaited->relid = InvalidOid;
	b->alone = b->transactional && lock_tree_now(b->index_table, AccessExclusiveLock);
	return b->alone || !b->transactional || ++b->tries > MAX_TRIES;
}

/*
 * finish_build
 *		Applies the rest of the queue, and makes the index table active or puts it
 *		in the place of the one that it replaces; writers are locked out.
 */
static void
finish_build(Build *b)
{
	DefinitionRow *stored = stored_definition(b->index_table);

	if (stored == NULL || stored->state == STATE_ACTIVE)
		report_build_superseded(b);
	require_owner(b->shown);
	if (stored->state != STATE_BUILDING)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" has become invalid while it was being built", get_rel_name(b->shown)),
				 errdetail("Changes of its fact table were missed."),
				 OidIsValid(stored->replaces) ? errhint("Run %s again.", told_call("rebuild", b->shown)) :
				 errhint("Run %s", told_call("repair", b->shown))));
	drain_queue(b->fact_table, 0);
	if (b->transactional)
		require_no_rejections(b->index_table, b->shown);
	wait_point("a build keeps writers out");
	if (OidIsValid(stored->replaces))
	{
		update_definitions(b->fact_table, false, true);
		check_replaceable(stored, b->shown);
		replace_index_table(b->index_table);
		return;
	}
	catalog_set_state(b->index_table, STATE_ACTIVE, NULL);
	catalog_forget_build(b->index_table);
	CacheInvalidateRelcacheByRelid(b->fact_table);
	CommandCounterIncrement();
	triggers_install(b->fact_table);
	if (b->transactional)
	{
		if (b->alone)
			row_index_drop(b->index_table);
		(void) queues_drop(b->fact_table, false);
	}
}

/*
 * require_no_rejections
 *		Raises an error if rows are rejected, which keeps an index table from
 *		becoming transactional; shown is the one to name.
 *
 * A transactional index table has an entry for every row that asks for one.  The
 * reason for a rejection may have gone by now: a unique key may have passed from one
 * row to another, in whatever order the drain looked at them.  So the rejected rows
 * are tried again first.  The caller has locked writers out, because all batches are
 * drained in one transaction.
 */
void
require_no_rejections(Oid index_table, Oid shown)
{
	Oid			fact = catalog_fact_of(index_table);

	for (int round = 0; round < MAX_RETRIES && catalog_has_rejections(index_table); round++)
	{
		rejections_retry_now(index_table, false);
		CommandCounterIncrement();
		drain_queue(fact, 0);
	}
	if (catalog_has_rejections(index_table))
		report_rejections(shown);
}

static void
report_rejections(Oid shown)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index table \"%s\" cannot be transactional because rows were rejected",
					get_rel_name(shown)),
			 errdetail("The view indextable.rejected shows the rows and the reasons."),
			 errhint("Correct the rows that this shows, and try again: SELECT * FROM " IT_SCHEMA ".rejected WHERE index_table = %s::regclass;",
					 quote_literal_cstr(quoted_relation(shown)))));
}
