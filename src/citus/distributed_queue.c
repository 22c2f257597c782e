/*-------------------------------------------------------------------------
 *
 * distributed_queue.c
 *	  Makes the queue of a distributed table, drains it on all nodes, and waits for what is queued there.
 *
 * The queue is one table, distributed together with the fact table.  A row of it has a number,
 * which makes it unique: a table without a key could not be moved without stopping writers.
 * Numbers that writers give are positive: the number of the node, and below that one from a
 * sequence of the node.  A command that queues many rows gives all of them the same negative
 * number, so that it can be seen when they are all applied.
 *
 * The writers of a shard append to the shard of the queue that has the same bounds.  Both are on
 * this node, so the change and its key are committed together by it, in one transaction or, if
 * Citus commits in two phases, in one prepared transaction.  The two are moved and split
 * together, too, by copying them or by logical replication, which reads what each transaction
 * has written to both.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "citus.h"

PG_FUNCTION_INFO_V1(indextable_drain_shards);
PG_FUNCTION_INFO_V1(indextable_table_sizes);

/* For so long drain_shards() waits for a lock. */
#define PATIENCE			"200ms"

/* The longest pause between two queries, in ms, as each of them asks all shards. */
#define MAX_PAUSE			100

/* What was queued when drain() was called. */
typedef struct Backlog
{
	Oid			queue;
	char	   *numbers;		/* in this context; NULL: not known yet */
	MemoryContext cxt;
	bool		left;			/* some of it is queued still */
} Backlog;

/* A query of one row of three columns, and its result. */
typedef struct Question
{
	char	   *sql;
	Datum		values[3];
	bool		isnull[3];
} Question;

static bool finds_some(Oid owner, const char *query);
static void register_unknown(Oid owner);
static void drain_or_fold(Oid fact_table, int limit, DrainPosition *position, int64 *changes);
static void look_at_backlog(void *arg);
static int64 drain_round(const char *fact, int limit, char **failure);
pg_noreturn static void report_not_drained(const char *fact, const char *failure);
static void check_shards_unchanged(Oid fact_table);
static bool wait_until_consumed(Oid queue, TimestampTz before, TimestampTz until);
static bool wait_until_committed(Oid fact_table, TimestampTz until);
static List *prepared_on_any_node(Oid fact_table);
static bool ask(Question *question);
static void run_question(void *arg);

/*
 * The distributed index tables that are not registered, each with its fact table, its queue
 * and its definition.  The last argument of a trigger begins behind the other two, and each
 * ends with a zero byte.
 */
#define UNKNOWN_INDEX_TABLES \
	"WITH guard AS (SELECT t.tgrelid, t.tgargs, pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\\000', 1) AS queue," \
	"  pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\\000', 2) AS number" \
	"  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = t.tgrelid" \
	"  WHERE t.tgname = '" GUARD "' AND t.tgnargs = 3 AND t.tgfoid = '%2$s.guard()'::pg_catalog.regprocedure" \
	"   AND NOT EXISTS (SELECT FROM %1$s d WHERE d.index_table::oid = t.tgrelid))," \
	" unknown AS (SELECT g.tgrelid AS index_table, f.tgrelid AS fact_table, q.oid AS queue," \
	"  pg_catalog.convert_from(pg_catalog.substr(g.tgargs, 3 + pg_catalog.length(g.queue) + pg_catalog.length(g.number)," \
	"   pg_catalog.octet_length(g.tgargs) - 3 - pg_catalog.length(g.queue) - pg_catalog.length(g.number))," \
	"   pg_catalog.getdatabaseencoding())::pg_catalog.jsonb AS definition" \
	"  FROM guard g JOIN pg_catalog.pg_class q ON q.relname = g.queue AND q.relnamespace IN (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname IN ('%2$s', '" IT_QUEUES "'))" \
	"  JOIN pg_catalog.pg_trigger f ON f.tgname = '%3$s' AND f.tgnargs = 1 AND f.tgparentid = 0 AND f.tgfoid = '%2$s.maintain()'::pg_catalog.regprocedure" \
	"   AND pg_catalog.split_part(pg_catalog.encode(f.tgargs, 'escape'), '\\000', 1) = g.queue" \
	"  JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = f.tgrelid" \
	"  JOIN pg_catalog.pg_class a ON a.oid = g.tgrelid JOIN pg_catalog.pg_class b ON b.oid = f.tgrelid AND b.relowner = a.relowner" \
	"  WHERE NOT EXISTS (SELECT FROM %4$s o WHERE o.queue::oid = q.oid AND o.fact_table::oid <> f.tgrelid)) "

/*
 * How large the shards of a table are that a node has.  Citus' own functions would wait on other nodes for a lock
 * that the owner of the table has on one.  If that cannot be told, the text is no number, which is an error.
 */
#define SIZES_HERE \
	"SELECT CASE WHEN count(*) = count(t.table_size) THEN pg_catalog.concat(" \
	"coalesce(pg_catalog.sum(t.table_size), 0), ' ', coalesce(pg_catalog.sum(t.indexes_size), 0)) ELSE 'unknown' END" \
	" FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid)" \
	" JOIN pg_catalog.pg_dist_local_group g USING (groupid) CROSS JOIN LATERAL " IT_INTERNAL \
	".table_sizes(pg_catalog.to_regclass(pg_catalog.shard_name(s.logicalrelid, s.shardid, false))) t" \
	" WHERE s.logicalrelid = %s::pg_catalog.regclass"

/*
 * distribute_queue
 *		Has Citus distribute a queue table, which is empty, together with its fact table.
 */
void
distribute_queue(FactDef *def, Oid queue)
{
	CitusTable	table;
	int			i;

	citus_read_table(def->relid, &table);
	for (i = 0; i < def->layout.npk; i++)
		if (strcmp(get_attname(def->relid, def->layout.pk_attno[i], false), table.column) == 0)
			break;
	run_with_citus_settings(psprintf("SELECT pg_catalog.create_distributed_table(%s, 'key%d', colocate_with => %s)",
									 quote_literal_cstr(quoted_relation(queue)), i + 1,
									 quote_literal_cstr(quoted_relation(def->relid))));
}

/*
 * drain_all_nodes
 *		Applies what is queued for a distributed table at the moment of the call: all nodes drain the
 *		shards that they have, one batch after another.
 *
 * A shard may be moved meanwhile, so it is asked each time whether anything is left.  What has been
 * applied is committed on each node by itself, whatever becomes of this transaction, which is why
 * changes that it has made itself are not applied: nobody else sees them yet.
 */
void
drain_all_nodes(Oid fact_table, DrainCall *call)
{
	Relation	fact = relation_open(fact_table, AccessShareLock);
	FactDef    *def = definition_of_fact(fact, fact_table);
	Backlog		backlog = {.queue = def->queue.current,.cxt = CurrentMemoryContext};
	int			in_vain = 0;

	if (!OidIsValid(backlog.queue))
		queue_lost_error(def);
	AS_OWNER(get_extension_owner());
	{
		for (;;)
		{
			ErrorData  *error = run_catching_failures(look_at_backlog, &backlog);
			char	   *failure = NULL;
			int64		n;

			if (error == NULL && !backlog.left)
				break;
			CHECK_FOR_INTERRUPTS();
			n = drain_round(quoted_relation(fact_table), call->limit, &failure);
			call->changes += n;
			if (n == 0)
				pg_usleep(10 * 1000);
			in_vain = n > 0 || (error == NULL && failure == NULL) ? 0 : in_vain + 1;

			/*
			 * In the first round, nodes find out which others cannot be
			 * reached.
			 */
			if (in_vain > 1 && failure != NULL)
				report_not_drained(quoted_relation(fact_table), failure);
			if (in_vain > 1)
				ReThrowError(error);
		}
		/* Each node folds what it has, once it finds nothing to apply. */
		if (def->ntotals > 0)
		{
			char	   *failure = NULL;

			call->changes += drain_round(quoted_relation(fact_table), call->limit, &failure);
			if (failure != NULL)
				report_not_drained(quoted_relation(fact_table), failure);
		}
		/* A worker may have applied it, and its transaction be prepared. */
		wait_for_prepared(definition_of_fact(fact, fact_table), GIDS_OF_ALL_NODES);
	}
	END_AS_OWNER();
	relation_close(fact, NoLock);
}

/*
 * indextable_drain_shards
 *		drain_shards(fact_table regclass, batch_size integer): applies one batch of what is queued for
 *		the shards of a distributed table that this node has, or folds the totals beside them if nothing
 *		is, and returns how many changes were applied; drain() calls it on all nodes.
 *
 * It waits no longer for a lock than a worker does, and returns 0 then: while it waits, it holds locks
 * for which moves and splits may wait.
 */
Datum
indextable_drain_shards(PG_FUNCTION_ARGS)
{
	Oid			fact_table = PG_GETARG_OID(0);
	int			batch_size = batch_size_arg(fcinfo, 1);
	DrainPosition position = {0};
	int64		changes = 0;
	int			nestlevel = NewGUCNestLevel();
	int			again;
	Trouble		trouble;
	ErrorData  *error;

	set_config_option("lock_timeout", PATIENCE, PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	CATCHING_ERRORS(error, drain_or_fold(fact_table, batch_size, &position, &changes), drain_end(&position));
	AtEOXact_GUC(false, nestlevel);
	if (error != NULL && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
	{
		/* This session does not drain again, but others do. */
		(void) nodes_down(&again);
		ReThrowError(error);
	}
	if (error == NULL && changes == 0 && shard_queues_wait(fact_table) && trouble_with_nodes(fact_table, &trouble))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("table \"%s\": %s", get_rel_name(fact_table), trouble.message)));
	PG_RETURN_INT64(error == NULL ? changes : 0);
}

/* drain_or_fold: applies one batch of a fact table, or folds its totals if nothing is queued */
static void
drain_or_fold(Oid fact_table, int limit, DrainPosition *position, int64 *changes)
{
	(void) drain_batch(fact_table, limit, position, changes);
	if (*changes > 0)
		return;
	foreach_oid(totals, tables_of_totals(fact_table))
		(void) fold_if_free(totals, INT_MAX);
}

/*
 * look_at_backlog
 *		Looks whether anything is left of what was queued at first; for run_catching_failures().
 */
static void
look_at_backlog(void *arg)
{
	Backlog    *backlog = arg;

	if (backlog->numbers == NULL)
		backlog->numbers = MemoryContextStrdup(backlog->cxt, numbers_queued(backlog->queue, DT_NOEND));
	backlog->left = still_queued(backlog->queue, DT_NOEND, backlog->numbers);
}

/*
 * drain_round
 *		Has all nodes apply one batch each, and returns how many changes that was.  Sets *failure to what
 *		a node says that could not, if any.
 */
static int64
drain_round(const char *fact, int limit, char **failure)
{
	Rows		rows = query_as(InvalidOid, "SELECT success, result FROM pg_catalog.run_command_on_all_nodes(%s)",
								quote_literal_cstr(psprintf("SELECT " IT_INTERNAL ".drain_shards(%s, %d)",
															quote_literal_cstr(fact), limit)));
	int64		changes = 0;

	for (uint64 i = 0; i < rows.n; i++)
	{
		char	   *result = row_text(&rows, i, 2);

		if (!DatumGetBool(row_value(&rows, i, 1)))
			*failure = result != NULL ? result : "";
		else if (result != NULL)
			changes += strtoll(result, NULL, 10);
	}
	return changes;
}

/* report_not_drained: raises the error of drain() about a node that cannot */
static void
report_not_drained(const char *fact, const char *failure)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not drain table %s on all nodes", fact),
			 failure[0] != '\0' ? errdetail("%s", failure) : 0,
			 errhint("What nodes could apply is applied. For the rest, run SELECT " IT_SCHEMA ".drain(%s);", quote_literal_cstr(fact))));
}

/*-------------------------------------------------------------------------
 * Registers on this node the distributed index tables that were created on another one, and
 * forgets those that were dropped there.
 *
 * Each node has the tables that Citus distributes, without rows, and our triggers on them, whose
 * arguments say what is to be registered (shard_trigger.c).  Citus creates them on all
 * nodes in the transaction that creates them on the coordinator, and the event trigger for CREATE
 * TRIGGER calls this, so the catalogs of all nodes change together.  A node that is added later
 * gets the triggers before it is told that the tables are distributed.  Its worker calls this from
 * time to time, and a shard's trigger when it finds its fact table unknown.
 *
 * The definition is written as a restore would write it, and adopt_restored.c does the rest.
 *
 * A definition is carried out with the rights of our workers, and any role can create triggers
 * on tables of its own.  So only superusers, as whom create() makes them, can
 * create triggers that would be believed here (refuse_forged_trigger()).  And they are believed only if both
 * tables have the same owner, and the queue is not known as that of another table: no table can be
 * made to follow, or to consume the changes of, one of another user.
 *-------------------------------------------------------------------------
 */

/*
 * adopt_distributed
 *		Makes the catalog of this node what the triggers of distributed tables say; does nothing
 *		where there is no Citus.
 */
void
adopt_distributed(void)
{
	Oid			owner;
	char	   *async_distributed;

	if (!citus_is_installed())
		return;
	forget_orphaned_rows(InvalidOid);
	owner = get_extension_owner();
	async_distributed = psprintf("(SELECT d.index_table FROM %s d JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = d.index_table"
								 " WHERE d.maintenance = 'async') d", catalog_table("definition"));
	register_unknown(owner);
	if (!catalog_is_old() && finds_some(owner, psprintf("SELECT FROM %s WHERE NOT EXISTS (SELECT FROM %s t WHERE t.index_table = d.index_table)",
														async_distributed, catalog_table("timeline"))))
		(void) query_as(owner, "INSERT INTO %s SELECT d.index_table, %d FROM %s ON CONFLICT DO NOTHING",
						catalog_table("timeline"), present_timeline(), async_distributed);
}

/* finds_some: returns whether a query of a worker, who asks it all the time, has a row */
static bool
finds_some(Oid owner, const char *query)
{
	bool		found;

	AS_OWNER(owner);
	{
		found = query_kept(query, 0, NULL, NULL).n > 0;
	}
	END_AS_OWNER();
	return found;
}

/* register_unknown: registers the index tables that triggers name, as the owner of the extension */
static void
register_unknown(Oid owner)
{
	char	   *query;

	query = psprintf(UNKNOWN_INDEX_TABLES, catalog_table("definition"), IT_INTERNAL, fact_triggers[0].name,
					 catalog_table("fact"));
	if (!finds_some(owner, psprintf("%sSELECT FROM unknown", query)))
		return;
	(void) query_as(owner,
					"%sINSERT INTO %s (fact_table, queue)"
					" SELECT DISTINCT fact_table::pg_catalog.regclass, queue::pg_catalog.regclass FROM unknown"
					" ON CONFLICT (fact_table) DO UPDATE SET queue = excluded.queue",
					query, catalog_table("fact"));
	(void) query_as(owner,
					"%sINSERT INTO %s SELECT n.* FROM unknown,"
					" pg_catalog.jsonb_populate_record(NULL::%s, definition || pg_catalog.jsonb_build_object("
					"'index_table', index_table, 'fact_table', fact_table, 'fact_oid', 0)) n"
					" ON CONFLICT (index_table) DO NOTHING",
					query, catalog_table("definition"), catalog_table("definition"));
	/* The triggers of these tables did not see the rows yet. */
	adopt_all();
}

/*-------------------------------------------------------------------------
 * Waits until the index tables of a fact table have caught up, and counts what is queued, on all
 * nodes.
 *
 * Rows of such a queue have numbers, which grow with each node that has written them.
 * One query tells which numbers are queued now, for each node, and then the session waits
 * until no row with one of them is left.  Rows that are queued meanwhile have greater
 * numbers, or belong to transactions that were not committed at the time of the query, so
 * it need not wait for them; if it does, because their numbers lie between, there are
 * finitely many.
 *
 * A writer that has changed rows on several nodes may be committed on one of them, and
 * still be prepared on another, where its rows are not seen in the queue.  So before that
 * query all nodes are asked for prepared transactions, and these are waited for.
 *
 * That a row was consumed does not say that its entries are there: the drain's
 * transaction writes to several nodes, which it commits one after the other.  But it
 * was prepared on all nodes before it was committed on the first one.  So a transaction
 * that has consumed a row is either committed on a node, or is still prepared there, and
 * is found when all nodes are asked for prepared transactions afterwards.
 *
 * Views show it, which must not fail because a node cannot be reached, nor wait for a lock:
 * then nothing is known.
 *-------------------------------------------------------------------------
 */

/*
 * wait_for_distributed_queue
 *		Waits until no change is queued any more that is queued now and at least max_lag old.
 *		Returns false if that is not so by the time "until".
 */
bool
wait_for_distributed_queue(FactTableRow *queue, int64 max_lag, TimestampTz until)
{
	TimestampTz before = max_lag > 0 ? GetCurrentTimestamp() - max_lag : DT_NOEND;
	bool		result;
	int			nestlevel = NewGUCNestLevel();

	if (max_lag == 0)
		check_shards_unchanged(queue->fact_table);
	use_one_connection();
	AS_OWNER(get_extension_owner());
	{
		result = wait_until_committed(queue->fact_table, until) &&
			wait_until_consumed(queue->queue, before, until) && wait_until_committed(queue->fact_table, until);
	}
	END_AS_OWNER();
	AtEOXact_GUC(false, nestlevel);
	return result;
}

/*
 * check_shards_unchanged
 *		Raises an error if this transaction has changed rows of a distributed table.
 *
 * The queue is read on other connections, which see nothing of this transaction.  But before rows
 * are changed on any node, the whole table is locked here, and by TRUNCATE in the strongest mode.
 */
static void
check_shards_unchanged(Oid fact_table)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, fact_table);
	if (lock_held_by_me_as_writer(&tag) || lock_held_by_me_exclusively(&tag))
		report_own_changes(fact_table, false);
}

/*
 * wait_until_consumed
 *		Waits until the changes queued before a time are applied; the owner of the queue is in
 *		charge.
 */
static bool
wait_until_consumed(Oid queue, TimestampTz before, TimestampTz until)
{
	char	   *numbers = numbers_queued(queue, before);
	long		pause = 1;

	while (still_queued(queue, before, numbers))
		if (!sleep_longer(&pause, MAX_PAUSE, until))
			return false;
	return true;
}

/*
 * wait_until_committed
 *		Waits until those transactions have ended on all nodes that are prepared now and
 *		write to shards of the index tables or the queue; returns false if they have not by the time until, or
 *		if commits may be lost.
 */
static bool
wait_until_committed(Oid fact_table, TimestampTz until)
{
	List	   *prepared = prepared_on_any_node(fact_table);
	long		pause = 1;
	bool		asked = false;	/* which of them are committed */

	if (list_member(prepared, makeString(NEW_TIMELINE)))
	{
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("entries of the index tables of \"%s\" may be wrong", get_rel_name(fact_table)),
				 errdetail("A node has begun a new timeline, because a standby was promoted or a backup restored: commits may be lost."),
				 errhint("Call repair() for each index table of the table.")));
		return false;
	}
	while (prepared != NIL)
	{
		if (!sleep_longer(&pause, MAX_PAUSE, until))
			return false;
		prepared = list_intersection(prepared, prepared_on_any_node(fact_table));
		if (prepared != NIL && !asked)
			prepared = committed_transactions(prepared);
		asked = true;
	}
	return true;
}

/*
 * prepared_on_any_node
 *		Lists these transactions, also those of other index tables over the fact table.
 */
static List *
prepared_on_any_node(Oid fact_table)
{
	Relation	fact = try_relation_open(fact_table, AccessShareLock);
	List	   *result = NIL;

	if (fact != NULL)
	{
		result = prepared_transactions(definition_of_fact(fact, fact_table), GIDS_OF_ALL_NODES, true);
		relation_close(fact, AccessShareLock);
	}
	return result;
}

/*
 * numbers_queued
 *		Returns a condition on the numbers of the changes that are queued now and were made by
 *		then, also if they are held meanwhile, "" if there are none.
 */
char *
numbers_queued(Oid queue, TimestampTz before)
{
	StringInfoData numbers;
	Oid			type = TIMESTAMPTZOID;
	Datum		value = TimestampTzGetDatum(before);
	Rows		rows = query_with(InvalidOid, psprintf("SELECT pg_catalog.min(number), pg_catalog.max(number) FROM %s WHERE changed_at <= $1 GROUP BY number >> 48",
													   quoted_relation(queue)), 1, &type, &value);

	initStringInfo(&numbers);
	for (uint64 i = 0; i < rows.n; i++)
	{
		int64		min = DatumGetInt64(row_value(&rows, i, 1));
		int64		max = DatumGetInt64(row_value(&rows, i, 2));

		appendStringInfo(&numbers, "%snumber BETWEEN " INT64_FORMAT " AND " INT64_FORMAT, i > 0 ? " OR " : "", min,
						 max);
		if (-HELD_NUMBER < min && max < HELD_NUMBER)
			appendStringInfo(&numbers, " OR number BETWEEN " INT64_FORMAT " AND " INT64_FORMAT, held_number(min),
							 held_number(max));
	}
	return numbers.data;
}

/*
 * still_queued
 *		Returns whether such a change is queued, with a number that fulfils a condition;
 *		leaves nothing in memory.
 */
bool
still_queued(Oid queue, TimestampTz before, const char *numbers)
{
	Oid			type = TIMESTAMPTZOID;
	Datum		value = TimestampTzGetDatum(before);
	MemoryContext cxt;
	MemoryContext old;
	bool		result;

	if (numbers[0] == '\0')
		return false;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable queue", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	result = query_with(InvalidOid, psprintf("SELECT FROM %s WHERE changed_at <= $1 AND (%s) LIMIT 1",
											 quoted_relation(queue), numbers), 1, &type, &value).n > 0;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return result;
}

/*
 * count_distributed_queue
 *		Counts the changes in the queue of a distributed fact table, and tells when the
 *		oldest of them was made, DT_NOEND if there are none, and how large the queue is.
 *		Returns false if that cannot be told now.
 */
bool
count_distributed_queue(FactTableRow *queue, QueueCount *count)
{
	char	   *name;
	Question	question;

	/* Its owner has dropped the fact table on the coordinator only. */
	if (get_rel_name(queue->queue) == NULL)
		return false;
	name = quoted_relation(queue->queue);
	question.sql = psprintf("SELECT pg_catalog.count(*), pg_catalog.min(changed_at), pg_catalog.citus_table_size(%s) FROM %s",
							quote_literal_cstr(name), name);
	if (!ask(&question))
		return false;
	count->changes = DatumGetInt64(question.values[0]);
	count->oldest = question.isnull[1] ? DT_NOEND : DatumGetTimestampTz(question.values[1]);
	count->bytes = DatumGetInt64(question.values[2]);
	return true;
}

/*
 * indextable_table_sizes
 *		table_sizes(index_table regclass, OUT distributed boolean, OUT table_size bigint,
 *		OUT indexes_size bigint): returns whether a table is distributed, and how large it is
 *		with its partitions or all its shards, without their indexes and these alone, or null
 *		if that cannot be told now.
 */
Datum
indextable_table_sizes(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	bool		distributed = citus_kind(relid) == CITUS_DISTRIBUTED;
	Question	question = {.isnull = {false, true, true}};
	int64		table_size;
	int64		indexes_size;

	if (distributed)
	{
		char	   *here = psprintf(SIZES_HERE, quote_literal_cstr(quoted_relation(relid)));

		question.sql = psprintf("SELECT true, pg_catalog.sum(pg_catalog.split_part(result, ' ', 1)::int8)::int8,"
								" pg_catalog.sum(pg_catalog.split_part(result, ' ', 2)::int8)::int8"
								" FROM pg_catalog.run_command_on_all_nodes(%s)",
								quote_literal_cstr(here));
		(void) ask(&question);
	}
	else if (measure_now(list_with_partitions(relid), &table_size, &indexes_size))
	{
		question.values[1] = Int64GetDatum(table_size);
		question.values[2] = Int64GetDatum(indexes_size);
		question.isnull[1] = question.isnull[2] = false;
	}
	question.values[0] = BoolGetDatum(distributed);
	question.isnull[0] = false;
	return row_result(fcinfo, question.values, question.isnull);
}

/*
 * ask
 *		Runs a query as the owner of the extension; returns false if that fails, unless it was
 *		canceled, or finds nothing.
 */
static bool
ask(Question *question)
{
	ErrorData  *error;

	memset(question->isnull, true, sizeof(question->isnull));
	error = run_catching_failures(run_question, question);
	return error == NULL && !question->isnull[0];
}

/* run_question: runs the query; for run_catching_failures() */
static void
run_question(void *arg)
{
	Question   *question = arg;
	Rows		rows;

	refuse_after_settings();
	rows = query_with(get_extension_owner(), question->sql, 0, NULL, NULL);
	for (int i = 0; rows.n == 1 && i < 3; i++)
		question->values[i] = heap_getattr(rows.tuples[0], i + 1, rows.desc, &question->isnull[i]);
}
