/*-------------------------------------------------------------------------
 *
 * commit_prepared.c
 *	  Wakes workers when a prepared transaction is committed.
 *
 * Whoever commits it has changed nothing himself, and the server tells extensions
 * nothing about it but that the command is run.  So this is a hook of commands,
 * where the library is preloaded: elsewhere there is nobody to be woken.
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
#include "shared_memory.h"

static ProcessUtility_hook_type previous_hook = NULL;

static void find_queues(void *arg);

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

	/* What it has queued is seen by now, and its locks are gone. */
	if (commits && !wake_running_workers())
	{
		bool		any = false;
		ErrorData  *error = run_catching_errors(find_queues, &any);

		/* It is committed, whatever the catalog looks like. */
		if (error != NULL)
			FreeErrorData(error);
		else if (any)
			shared_request(MyDatabaseId);
	}
}

static void
find_queues(void *arg)
{
	*(bool *) arg = catalog_queues() != NIL;
}

/* prepared_init: called once, when the library is preloaded */
void
prepared_init(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
