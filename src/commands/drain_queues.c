/*-------------------------------------------------------------------------
 *
 * drain_queues.c
 *	  Implements indextable.drain(), which applies all that is queued for the tables of a user, and folds
 *	  their tables of totals.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"

PG_FUNCTION_INFO_V1(indextable_drain);

/* What drain() does for a table of another owner: drains its queue, or folds it. */
typedef struct Turn
{
	FactTableRow *queue;		/* NULL: it is to be folded */
	Oid			totals;
	DrainCall  *call;
} Turn;

static void drain_of_another(Turn *turn, Oid fact_table);
static void take_turn(void *arg);
static void check_drainable(void *arg);
static bool fold_tables(Oid fact_table, DrainCall *call);

/*
 * indextable_drain
 *		drain(fact_table regclass, batch_size integer): applies all that is queued for a
 *		table, or for all tables that the user owns, in the caller's transaction.
 */
Datum
indextable_drain(PG_FUNCTION_ARGS)
{
	DrainCall	call = {.all = PG_ARGISNULL(0),.limit = batch_size_arg(fcinfo, 1)};
	Oid			wanted = call.all ? InvalidOid : PG_GETARG_OID(0);
	bool		found = false;

	if (!call.all && get_rel_name(wanted) == NULL)
		report_dropped(wanted);
	PreventCommandIfReadOnly("drain()");
	PreventCommandIfParallelMode("drain()");
	if (!call.all)
		require_owner(wanted);

	/*
	 * All sessions go through the queues in the same order, that of OIDs,
	 * because each keeps its locks.
	 */
	foreach_ptr(FactTableRow, row, catalog_queues(false))
	{
		Oid			fact_table = row->fact_table;
		ErrorData  *error = NULL;
		Turn		turn = {.queue = row,.call = &call};

		if (!call.all ? fact_table != wanted :
			get_rel_name(fact_table) == NULL || !owns_relation(fact_table, GetUserId()) ||
			!catalog_fact_in_use(fact_table))
			continue;
		found = true;

		/*
		 * Changes of the other tables are not held up by an error of this
		 * one, nor, if it is of another owner, by a session that has locked
		 * it or by code that takes long.
		 */
		if (call.all && table_owner(fact_table) != GetUserId())
			drain_of_another(&turn, fact_table);
		else if (call.all && (error = run_catching_failures(check_drainable, &fact_table)) != NULL)
			warn_not_drained(fact_table, error);
		else
			place_of(row->queue)->changes->drain_all(fact_table, &call);
	}
	found |= fold_tables(wanted, &call);
	if (!call.all && !found)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has no asynchronous index tables", get_rel_name(wanted)),
				 errhint("To list such index tables, run SELECT index_table, fact_table FROM " IT_SCHEMA ".index_tables WHERE maintenance = 'async';")));
	PG_RETURN_INT64(call.changes);
}

/*
 * drain_of_another
 *		Drains or folds a table of another owner, in a subtransaction, and warns if that fails: also if it
 *		would have to wait for a lock, which a tenant may hold for as long as it likes, or takes longer than a
 *		batch of a worker may.
 */
static void
drain_of_another(Turn *turn, Oid fact_table)
{
	DrainCall	before = *turn->call;
	ErrorData  *error;
	bool		limits = !is_time_limited();
	bool		over_time;
	ErrorContextCallback context = {.previous = error_context_stack,.callback = time_limit_context};

	/* Code that a worker evaluates has the time of the worker. */
	if (limits)
	{
		time_limit_begin(setting_batch_timeout);
		if (turn->queue != NULL)
			time_limit_make_renewable();
	}
	error_context_stack = &context;
	error = run_with_lock_timeout(take_turn, turn, LOCK_TIMEOUT);
	error_context_stack = context.previous;
	over_time = limits && error != NULL && is_over_time(error);
	if (limits)
		time_limit_end();
	if (error == NULL)
		return;
	if (over_time)
		error->message = pstrdup("draining it takes longer than indextable.batch_timeout allows");
	else if (is_interruption(error))
	{
		if (limits && error->sqlerrcode == ERRCODE_QUERY_CANCELED && is_statement_over())
			error->message = pstrdup("canceling statement due to statement timeout");
		ReThrowError(error);
	}
	turn->call->changes = before.changes;
	warn_not_drained(fact_table, error);
}

/*
 * take_turn
 *		Drains or folds a table of another owner; for run_with_lock_timeout().
 *
 * Code of that owner may write fact tables, and so leave something to be written at the commit, which calls
 * more of its code.  Nothing would limit its time then, and its errors would undo what was done for others.
 */
static void
take_turn(void *arg)
{
	Turn	   *turn = arg;
	int			left = left_for_commit();

	if (turn->queue != NULL)
	{
		check_drainable(&turn->queue->fact_table);
		place_of(turn->queue->queue)->changes->drain_all(turn->queue->fact_table, turn->call);
	}
	else
		(void) fold_if_free(turn->totals, INT_MAX);
	if (left_for_commit() > left)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("code of another owner leaves entries that are written when the transaction commits")));
	CHECK_FOR_INTERRUPTS();
}

/*
 * check_drainable
 *		Raises an error for a fact table whose definitions do not fit any more; one that is
 *		locked is left for later.
 */
static void
check_drainable(void *arg)
{
	Oid			fact_table = *(Oid *) arg;
	Relation	fact;

	if (!open_if_free(fact_table, &fact) || fact == NULL)
		return;
	check_row_indexes(definition_of_fact(fact, fact_table));
	relation_close(fact, NoLock);
}

/*
 * fold_tables
 *		Folds the tables of totals of a fact table, or all of those that the current user owns;
 *		returns whether there are any.
 */
static bool
fold_tables(Oid fact_table, DrainCall *call)
{
	List	   *tables = tables_of_totals(fact_table);

	foreach_oid(relid, tables)
	{
		Turn		turn = {.totals = relid,.call = call};

		if (get_rel_name(relid) == NULL || !owns_relation(relid, GetUserId()))
			continue;
		if (call->all && table_owner(relid) != GetUserId())
			drain_of_another(&turn, relid);
		else
			(void) fold_if_free(relid, INT_MAX);
	}
	return tables != NIL;
}
