/*-------------------------------------------------------------------------
 *
 * not_now.c
 *	  Knows what keeps entries of distributed index tables from answering at a moment, and from being asked for as
 *	  another role.
 *
 * Entries have none of a transaction's own changes, also if they were made by another node for it: by a
 * procedure or a function that Citus has delegated.  Nobody tells which tables these have written, so it may
 * be any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "tcop/utility.h"

#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/while_set.h"
#include "citus.h"

/* A statement that is being executed. */
typedef struct Running
{
	QueryDesc  *query;
	struct Running *outer;		/* NULL: it is not a part of another one */
} Running;

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorRun_hook_type previous_run = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

static Running *running = NULL;

static void executor_start(QueryDesc *query, int eflags);
static void executor_run(EXECUTOR_RUN_PARAMETERS);
static void run_as_otherwise(EXECUTOR_RUN_PARAMETERS);
static bool asks_nodes(PlannedStmt *plan);
static void process_utility(PlannedStmt *stmt, const char *text, bool is_kept, ProcessUtilityContext context,
							ParamListInfo params, QueryEnvironment *env, DestReceiver *dest,
							QueryCompletion *completion);
static bool is_in_task(void);
static bool is_within_write(void);

void
not_now_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}

/* why_not_now: returns why entries must not answer in this transaction, or NULL */
const char *
why_not_now(void)
{
	if (IsolationUsesXactSnapshot())
		return "each node has a snapshot of its own in a transaction of this isolation level";
	if (has_written())
		return "this transaction may have written tables of Citus";
	if (has_sent_settings())
		return "this transaction may have sent settings to other nodes";
	if (is_for_citus() || is_in_task())
		return "the query is a part of another one, which Citus runs for shards";
	return is_within_write() ? "the query is run by a statement that writes" : NULL;
}

/*
 * executor_start
 *		Notes functions that Citus has another node call, and refuses to ask nodes as another role where they
 *		have settings of this one.
 */
static void
executor_start(QueryDesc *query, int eflags)
{
	Plan	   *plan = query->plannedstmt->planTree;
	bool		delegated = (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && plan != NULL && IsA(plan, CustomScan) &&
		strncmp(((CustomScan *) plan)->methods->CustomName, "Citus", strlen("Citus")) == 0;

	foreach_node(RangeTblEntry, rte, delegated ? query->plannedstmt->rtable : NIL)
		delegated &= rte->rtekind != RTE_RELATION;
	if (delegated)
		note_write();
	if (has_sent_settings() && is_other_user() && asks_nodes(query->plannedstmt))
		refuse_after_settings();
	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

/* asks_nodes: returns whether a plan names a table of Citus */
static bool
asks_nodes(PlannedStmt *plan)
{
	foreach_node(RangeTblEntry, rte, plan->rtable)
	{
		if (rte->rtekind == RTE_RELATION && rte->relid >= FirstNormalObjectId && citus_is_taken(rte->relid))
			return true;
	}
	return false;
}

/* executor_run: knows while a statement is executed */
static void
executor_run(EXECUTOR_RUN_PARAMETERS)
{
	Running		this = {query, running};

	running = &this;
	DO_AND_UNDO(running = this.outer, run_as_otherwise(EXECUTOR_RUN_ARGUMENTS));
}

static void
run_as_otherwise(EXECUTOR_RUN_PARAMETERS)
{
	if (previous_run)
		previous_run(EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(EXECUTOR_RUN_ARGUMENTS);
}

/* process_utility: notes procedures that other nodes may call, and settings that they may get */
static void
process_utility(PlannedStmt *stmt, const char *text, bool is_kept, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *env, DestReceiver *dest, QueryCompletion *completion)
{
	bool		call = IsA(stmt->utilityStmt, CallStmt);
	bool		set = IsA(stmt->utilityStmt, VariableSetStmt);

	if (set)
		refuse_sent_setting(((VariableSetStmt *) stmt->utilityStmt)->name);
	if (previous_utility)
		previous_utility(stmt, text, is_kept, context, params, env, dest, completion);
	else
		standard_ProcessUtility(stmt, text, is_kept, context, params, env, dest, completion);
	if (call)
		note_write();
	if (set)
		note_setting();
}

/*
 * is_in_task
 *		Returns whether a function that a query of a shard calls, which is executed by this process, runs the
 *		statement.
 */
static bool
is_in_task(void)
{
	for (Running *outer = running; outer != NULL; outer = outer->outer)
	{
		foreach_node(RangeTblEntry, rte, outer->query->plannedstmt->rtable)
		{
			if (rte->rtekind == RTE_RELATION && OidIsValid(citus_table_of_part(rte->relid)))
				return true;
		}
	}
	return false;
}

/* is_within_write: returns whether a statement that is being executed, around this one, writes */
static bool
is_within_write(void)
{
	for (Running *outer = running; outer != NULL; outer = outer->outer)
	{
		if (outer->query->operation != CMD_SELECT || outer->query->plannedstmt->hasModifyingCTE)
			return true;
	}
	return false;
}
