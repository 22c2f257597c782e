/*-------------------------------------------------------------------------
 *
 * commit_prepared.c
 *	  Wakes workers when a prepared transaction is committed.
 *
 * The session that runs COMMIT PREPARED has changed nothing itself, and the server calls
 * no other hook for it than the one for commands.  That hook is set only if the
 * library is preloaded: otherwise no worker can be woken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "tcop/utility.h"

#include "../catalog/fact_rows.h"
#include "../util/subxact.h"
#include "commit_prepared.h"
#include "worker_slots.h"

static ProcessUtility_hook_type previous_hook = NULL;

static void process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
							ProcessUtilityContext context, ParamListInfo params,
							QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);
static void find_queues(void *arg);

/* prepared_init: sets the hook; called once, when the library is preloaded */
void
prepared_init(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}

/* process_utility: runs a command, and wakes workers if it was COMMIT PREPARED */
static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	bool		commits = IsA(pstmt->utilityStmt, TransactionStmt) &&
		castNode(TransactionStmt, pstmt->utilityStmt)->kind == TRANS_STMT_COMMIT_PREPARED;

	if (previous_hook != NULL)
		previous_hook(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	else
		standard_ProcessUtility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);

	/*
	 * By now others see what the prepared transaction has queued, and its
	 * locks are released.
	 */
	if (commits && !wake_running_workers())
	{
		bool		any = false;
		ErrorData  *error = run_catching_errors(find_queues, &any);

		/*
		 * The transaction is committed: an error in reading the catalog must
		 * not make it look as if it were not.
		 */
		if (error != NULL)
			FreeErrorData(error);
		else if (any)
			request_workers(MyDatabaseId);
	}
}

/* find_queues: sets *arg to whether the database has queues; for run_catching_errors() */
static void
find_queues(void *arg)
{
	*(bool *) arg = catalog_queues(false) != NIL;
}
