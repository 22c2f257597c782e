/*-------------------------------------------------------------------------
 *
 * in_step.c
 *	  Knows whether a snapshot sees just the entries of the fact rows that it sees, so that a
 *	  plan may read the entries in place of the rows.
 *
 * Rows and entries of other transactions are no question: a transaction that has written
 * the ones has written the others, and a snapshot sees all that it has written or nothing.
 * Three things remain.
 *
 * Our own transaction.  A snapshot sees what commands before its command id, curcid, have
 * written.  A statement writes rows with the command id d that it has begun with, and the
 * entries are written when its AFTER triggers fire, by commands from d on.  So a snapshot
 * with curcid <= d sees neither, and one with curcid greater than the command id at the end
 * of the statement sees both.  In between are only those snapshots that were taken while the
 * statement ran, by triggers or volatile functions of users, perhaps by cursors that outlive
 * it.  So the statements under way are on a stack, and an interval of command ids, a window,
 * is left of each statement in which a command has begun.  All of this is by table and not by
 * fact table, since no catalog must be read for statements that have nothing to do with us.
 *
 * The AFTER triggers of what a foreign key's action writes (ON DELETE CASCADE) are fired by
 * the statement around it.  Until that one ends, the action counts as under way.
 *
 * Partitions that come and go, and tables that are rewritten.  TRUNCATE, ATTACH, DETACH, DROP
 * and ALTER TABLE make rows appear or vanish for older snapshots, too, whereas entries are
 * written as any other rows, or the other way round.  We leave no mark of such a command: in
 * a row that all of them wrote, they would wait for each other, even where the server lets
 * sessions truncate several partitions at the same time, and perhaps in a circle.  The
 * server's own catalogs tell what was done, and by which transaction; see
 * fact/tree_age.c.  That includes our own, in which triggers run in the middle of such
 * commands.  Only entries that are deleted before a command begins to act are not seen there:
 * then our transaction is out of step until it ends.
 *
 * The index table itself.  A definition that is newer than the snapshot is of entries that
 * are newer, too.  And one that is cached must not be older than the snapshot.  A session
 * hears of changes when it takes a lock that it does not have yet, which a plan that is
 * executed again in one transaction does not.  So a reader of entries asks for the news
 * first, after the snapshot was taken.  Suppose that the snapshot sees a row whose entry was
 * not written, because the index table has become asynchronous, or the triggers were
 * disabled.  These commands lock writers out, and release their locks only after they have
 * sent their news.  The row's writer got its lock after that, and has committed before the
 * snapshot was taken.  If the news were asked for before the snapshot, both could commit in
 * between.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "replication/logicalworker.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/subxact.h"
#include "../util/while_set.h"
#include "maintain.h"

/* As many windows of a table are kept apart. */
#define MAX_WINDOWS			16

/* Snapshots with after < curcid <= until are out of step. */
typedef struct Window
{
	CommandId	after;
	CommandId	until;
} Window;

/*
 * A table that this transaction has written and that may have fact rows: it has our triggers,
 * or is partitioned.
 */
typedef struct Written
{
	Oid			relid;			/* hash key */
	uint64		transaction;	/* the rest is about this one; see below */
	struct Written *next;		/* in the list written */
	bool		lost;			/* no snapshot is in step until the
								 * transaction ends */
	int			nwindows;
	Window		windows[MAX_WINDOWS];	/* the oldest first */
} Written;

/* A statement under way that writes, with one of its tables. */
typedef struct Writing
{
	const void *statement;		/* identifies it */
	EState	   *estate;			/* in which its triggers fire, too; NULL:
								 * COPY, and actions of foreign keys */
	Written    *table;			/* NULL: none that may have fact rows */
	CommandId	cid;			/* of what it writes */
	SubTransactionId sub;		/* in which it has begun */
	bool		is_action;		/* of a foreign key: its triggers are fired by
								 * the statement around it */
} Writing;

static Writing *writers = NULL; /* the innermost last */
static int	nwriters = 0;
static int	max_writers = 0;
static HTAB *tables = NULL;		/* of Written */
static Written *written = NULL; /* those of this transaction */
static uint64 transaction = 1;	/* counts them */
static CommandId newest_window = 0; /* the last command id in any window */
static bool any_lost = false;

/*
 * The library was loaded in this transaction: what has been written before, and by which
 * statement, is not known.
 */
static bool unseen = false;

static ExecutorStart_hook_type next_executor_start = NULL;
static ExecutorFinish_hook_type next_executor_finish = NULL;
static ExecutorEnd_hook_type next_executor_end = NULL;
static ProcessUtility_hook_type next_utility = NULL;

static void executor_start(QueryDesc *query, int eflags);
static void executor_finish(QueryDesc *query);
static void executor_end(QueryDesc *query);
static void process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
							ProcessUtilityContext context, ParamListInfo params,
							QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);
static void alter_table(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
						ProcessUtilityContext context, ParamListInfo params,
						QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);
static Written *written_table(Relation rel);
static Written *enter_written(Oid relid);
static Writing *writer_begins(const void *statement, EState *estate, Written *table, CommandId cid);
static void writer_ends(const void *statement);
static bool hand_over(int action);
static void note_window(Written *table, CommandId after);
static bool concerns(Written *table, FactDef *fact);
static bool is_ancestor(Oid ancestor, Oid relid);

/* in_step_init: installs the hooks, once, when the library is loaded */
void
in_step_init(void)
{
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	next_executor_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = executor_finish;
	next_executor_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
	next_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
	unseen = IsTransactionState();
}

/*
 * executor_start
 *		Puts a statement that writes on the stack.  Almost all have no table of ours, and most
 *		tables no triggers: then this is all that they pay for.
 *
 * The tables are those that the executor has opened: partitions to which rows are routed are
 * opened later, but then the table above them is among these.
 */
static void
executor_start(QueryDesc *query, int eflags)
{
	Writing    *writer = NULL;
	Written    *last = NULL;
	bool		is_action = (eflags & EXEC_FLAG_SKIP_TRIGGERS) != 0;

	if (is_committing)
		refuse_foreign_in_plan(query->plannedstmt);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		refuse_put_off_in(query->plannedstmt->rtable);
	if (next_executor_start)
		next_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		check_read_by_entries(query->plannedstmt->rtable, query->snapshot);
	if (!writes_tables(query->plannedstmt) || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	foreach_ptr(ResultRelInfo, target, query->estate->es_opened_result_relations)
	{
		Written    *table;

		/* Of a partitioned table, all partitions are there. */
		if (target->ri_RootResultRelInfo != NULL &&
			target->ri_RootResultRelInfo->ri_RelationDesc->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
			target = target->ri_RootResultRelInfo;
		if (last != NULL && last->relid == RelationGetRelid(target->ri_RelationDesc))
			continue;
		table = written_table(target->ri_RelationDesc);
		if (table == NULL)
			continue;
		writer = writer_begins(query, is_action ? NULL : query->estate, table, query->estate->es_output_cid);
		writer->is_action = is_action;
		last = table;
	}
	/* It may be the statement around an action that writes such a table. */
	if (writer == NULL && !is_action)
		writer_begins(query, query->estate, NULL, query->estate->es_output_cid);
}

/*
 * executor_finish
 *		Takes a statement off the stack; its triggers must have left the user who runs it in
 *		charge.
 */
static void
executor_finish(QueryDesc *query)
{
	Oid			user;
	Oid			user_after;
	int			sec;
	int			sec_after;

	GetUserIdAndSecContext(&user, &sec);
	if (next_executor_finish)
		next_executor_finish(query);
	else
		standard_ExecutorFinish(query);
	GetUserIdAndSecContext(&user_after, &sec_after);
	Assert(user_after == user && sec_after == sec);
	batch_end_parts();
	if (nwriters > 0 && writes_tables(query->plannedstmt))
		writer_ends(query);
}

/*
 * executor_end
 *		Writes entries that had to wait for the end of a statement that uses their index
 *		table.
 */
static void
executor_end(QueryDesc *query)
{
	if (next_executor_end)
		next_executor_end(query);
	else
		standard_ExecutorEnd(query);
	put_off_try_again();
}

/*
 * process_utility
 *		Puts COPY FROM on the stack, and wakes workers after COMMIT PREPARED.  COPY is going to take
 *		the same lock in the same way, so the name is that of the same table.
 */
static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	CopyStmt   *copy = IsA(pstmt->utilityStmt, CopyStmt) ? (CopyStmt *) pstmt->utilityStmt : NULL;
	bool		commits = IsA(pstmt->utilityStmt, TransactionStmt) &&
		castNode(TransactionStmt, pstmt->utilityStmt)->kind == TRANS_STMT_COMMIT_PREPARED;
	bool		writes = false;

	if (is_committing)
		refuse_foreign_in_command(pstmt->utilityStmt);
	if (copy != NULL && copy->is_from && copy->relation != NULL)
	{
		Oid			relid = RangeVarGetRelid(copy->relation, RowExclusiveLock, true);

		if (OidIsValid(relid))
		{
			Relation	rel = relation_open(relid, NoLock);

			writer_begins(&writes, NULL, written_table(rel), GetCurrentCommandId(false));
			relation_close(rel, NoLock);
			writes = true;
		}
	}
	if (OidIsValid(fact_being_filled) && IsA(pstmt->utilityStmt, TruncateStmt))
	{
		foreach_ptr(RangeVar, name, ((TruncateStmt *) pstmt->utilityStmt)->relations)
		{
			Relation	rel = relation_openrv(name, AccessExclusiveLock);

			refuse_write_beside(rel);
			relation_close(rel, NoLock);
		}
	}
	if (IsA(pstmt->utilityStmt, AlterTableStmt))
		alter_table(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	else
		next_utility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	if (writes)
	{
		batch_end_parts();
		writer_ends(&writes);
	}
	/* The server calls no other hook for it. */
	if (commits)
		wake_workers_for_prepared();
}

/* alter_table: runs ALTER TABLE, which checks foreign keys by queries that need exact answers */
static void
alter_table(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	WHILE_SET(exact_reads_only, true,
			  next_utility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc));
}

/*
 * written_table
 *		Returns what is noted of a table that is being written; NULL if it cannot have fact
 *		rows.  A table that is partitioned may have partitions that are fact tables.
 */
static Written *
written_table(Relation rel)
{
	if (OidIsValid(fact_being_filled))
		refuse_write_beside(rel);
	/* Most transactions write one table. */
	if (written != NULL && written->relid == RelationGetRelid(rel))
		return written;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return enter_written(RelationGetRelid(rel));
	/* All fact tables, and all partitions of one, have the row trigger. */
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		if (is_trigger_named(rel->trigdesc->triggers[i].tgname, fact_triggers[0].name))
			return enter_written(RelationGetRelid(rel));
	return NULL;
}

/*
 * enter_written
 *		Returns what is noted of a table.  Nothing is cleared when a transaction ends: what is
 *		of another transaction counts as not there.
 */
static Written *
enter_written(Oid relid)
{
	Written    *table;
	bool		found;

	if (tables == NULL)
		tables = hash_by_oid("indextable tables written", 16, sizeof(Written), NULL);
	table = hash_search(tables, &relid, HASH_ENTER, &found);
	if (!found || table->transaction != transaction)
	{
		table->transaction = transaction;
		table->lost = false;
		table->nwindows = 0;
		table->next = written;
		written = table;
	}
	return table;
}

/* writer_begins: puts a statement with one of its tables on the stack */
static Writing *
writer_begins(const void *statement, EState *estate, Written *table, CommandId cid)
{
	Writing    *writer;

	if (nwriters == max_writers)
		writers = grow_array(writers, &max_writers, 16, sizeof(Writing), TopMemoryContext);
	writer = &writers[nwriters++];
	writer->statement = statement;
	writer->estate = estate;
	writer->table = table;
	writer->cid = cid;
	writer->sub = GetCurrentSubTransactionId();
	writer->is_action = false;
	return writer;
}

/*
 * writer_ends
 *		Takes a statement off the stack, with the actions that it was around, and leaves their
 *		windows.
 *
 * If entries are pending still when no statement is under way, one of our triggers has not
 * fired, and nobody knows when the entries will be written.
 */
static void
writer_ends(const void *statement)
{
	int			i;

	/* Statements are nested, so it is what is on top. */
	for (i = nwriters - 1; i >= 0 && writers[i].statement != statement; i--)
		;
	for (; i >= 0 && writers[i].statement == statement; i--)
	{
		Writing		writer;

		if (writers[i].is_action && hand_over(i))
			continue;
		writer = writers[i];
		memmove(&writers[i], &writers[i + 1], sizeof(Writing) * (--nwriters - i));
		if (writer.table != NULL)
			note_window(writer.table, writer.cid);
	}
	if (nwriters == 0 && batches_pending(InvalidOid) > 0)
		unseen = true;
}

/*
 * hand_over
 *		Has an action that has ended count as under way until the statement around it ends;
 *		returns false if there is none.  An action on each of a million rows takes one place.
 */
static bool
hand_over(int action)
{
	int			around = action - 1;

	while (around >= 0 && writers[around].is_action)
		around--;
	if (around < 0)
		return false;
	for (int i = around; i >= 0 && writers[i].statement == writers[around].statement; i--)
		if (writers[i].table == writers[action].table && writers[i].cid <= writers[action].cid)
		{
			memmove(&writers[action], &writers[action + 1], sizeof(Writing) * (--nwriters - action));
			return true;
		}
	writers[action].statement = writers[around].statement;
	writers[action].estate = writers[around].estate;
	writers[action].is_action = false;
	return true;
}

/* innermost_writer: returns the state of the statement whose triggers fire, or NULL */
EState *
innermost_writer(void)
{
	return nwriters > 0 ? writers[nwriters - 1].estate : NULL;
}

/*
 * note_window
 *		Notes that snapshots that were taken while a statement with command id after has
 *		written a table are out of step.
 *
 * There are none if no command has begun since.  A later snapshot has a greater curcid: we use
 * the command id up, so that the next command gets another one even if nothing else has.
 * Those that were taken while an enclosing statement has written the same table are in its
 * window.
 *
 * Only cursors are older than the newest window, so it does not matter for long that the
 * oldest windows become one when there are many.
 */
static void
note_window(Written *table, CommandId after)
{
	CommandId	now = GetCurrentCommandId(false);
	Window	   *last = table->nwindows > 0 ? &table->windows[table->nwindows - 1] : NULL;

	if (now <= after)
		return;
	for (int i = 0; i < nwriters; i++)
		if (writers[i].table == table && writers[i].cid <= after)
			return;
	newest_window = GetCurrentCommandId(true);
	if (last != NULL && after <= last->until)
	{
		last->after = Min(last->after, after);
		last->until = now;
		return;
	}
	if (table->nwindows == MAX_WINDOWS)
	{
		table->windows[0].until = table->windows[1].until;
		memmove(&table->windows[1], &table->windows[2], sizeof(Window) * (MAX_WINDOWS - 2));
		table->nwindows--;
	}
	table->windows[table->nwindows].after = after;
	table->windows[table->nwindows++].until = now;
}

/*
 * in_step_lost
 *		Notes that no snapshot of this transaction is in step any more, because entries of
 *		rows are written or deleted that come or go not just when these do.
 */
void
in_step_lost(Oid fact)
{
	enter_written(fact)->lost = true;
	any_lost = true;
}

/* in_step_at_end: forgets everything when a transaction has ended */
void
in_step_at_end(void)
{
	nwriters = 0;
	written = NULL;
	transaction++;
	newest_window = 0;
	any_lost = false;
	unseen = false;
}

/*
 * in_step_at_abort_of
 *		Takes the statements off the stack that have begun in a subtransaction that aborts.
 */
void
in_step_at_abort_of(SubTransactionId sub)
{
	while (nwriters > 0 && belongs_to(writers[nwriters - 1].sub, sub))
		nwriters--;
}

/* concerns: returns whether rows of a fact table are written where a table is */
static bool
concerns(Written *table, FactDef *fact)
{
	return table->relid == fact->relid || is_ancestor(fact->relid, table->relid) ||
		(fact->layout.is_partition && is_ancestor(table->relid, fact->relid));
}

/*
 * is_ancestor
 *		Returns whether a table is a partition of another, at whatever depth; one that is
 *		being detached is, too.
 */
static bool
is_ancestor(Oid ancestor, Oid relid)
{
	TransactionId mark;

	while (OidIsValid(relid = tree_parent(relid, &mark)))
	{
		if (relid == ancestor)
			return true;
	}
	return false;
}

/*
 * written_by_us
 *		Returns whether this transaction has written the fact table, or may have.  What was
 *		rolled back to a savepoint counts.
 */
bool
written_by_us(FactDef *def)
{
	Written    *table;

	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return false;
	if (unseen || IsParallelWorker() || IsLogicalWorker())
		return true;
	for (table = written; table != NULL; table = table->next)
		if (concerns(table, def))
			return true;
	return false;
}

/*
 * why_out_of_step
 *		Returns NULL if a snapshot sees just the entries, in an index table that is not
 *		asynchronous, of the rows that it sees; else why not: in a few words, for EXPLAIN.
 *
 * This is asked for at the first fetch of a scan.  What happens afterwards does not matter:
 * the commands of this transaction that could are all later than the snapshot, and what other
 * sessions do to partitions that the scan has not locked yet is as if they had done it just
 * before these are locked.
 */
const char *
why_out_of_step(IndexDef *def, Snapshot snapshot)
{
	FactDef    *fact = def->fact;
	Written    *table;

	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return "not a snapshot of the kind that plans have";

	/*
	 * What the leader has written a worker does not know, and in an apply
	 * worker rows are written by no statement.
	 */
	if (IsParallelWorker())
		return "a parallel worker";
	if (IsLogicalWorker())
		return "a worker of a subscription";
	if (unseen)
		return "the library was loaded in this transaction";
	if (!def->active || fact->run.changed)
		return "the index table has changed";

	for (int i = nwriters - 1; i >= 0; i--)
		if (writers[i].table != NULL && snapshot->curcid > writers[i].cid && concerns(writers[i].table, fact))
			return "a statement that writes the fact table is under way";
	if (snapshot->curcid <= newest_window || any_lost)
		for (table = written; table != NULL; table = table->next)
		{
			if ((table->nwindows == 0 && !table->lost) || !concerns(table, fact))
				continue;
			if (table->lost)
				return "this transaction has changed partitions of the fact table";
			for (int i = table->nwindows - 1; i >= 0 && snapshot->curcid <= table->windows[i].until; i--)
				if (snapshot->curcid > table->windows[i].after)
					return "the snapshot was taken while a statement was writing the fact table";
		}
	if (batches_pending(fact->relid) > 0 || was_put_off(fact->relid))
		return "entries are not written yet";

	/*
	 * Two rows may have one primary key until it is checked, and one entry in
	 * common; see apply/deferrable_key.c.
	 */
	if (fact->layout.pk_deferrable && written_by_us(fact))
		return "this transaction has written a fact table with a deferrable primary key";

	if (TransactionIdIsNormal(def->xmin))
	{
		if (TransactionIdIsCurrentTransactionId(def->xmin) || XidInMVCCSnapshot(def->xmin, snapshot))
			return "the index table is newer than the snapshot";
		if ((int32) (snapshot->xmin - def->xmin) > MAX_SNAPSHOT_AGE)
			def->xmin = FrozenTransactionId;
	}
	if (!tree_is_older(fact->relid, snapshot))
		return "the fact table, or a partition of it, has changed since the snapshot was taken";
	if (!tree_is_older(def->relid, snapshot))
		return "the index table is newer than the snapshot";
	return NULL;
}
