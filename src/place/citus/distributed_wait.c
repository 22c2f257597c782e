/*-------------------------------------------------------------------------
 *
 * distributed_wait.c
 *	  Waits until the index tables of a fact table that Citus has distributed have caught up, and
 *	  counts what is queued, on all nodes.
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
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../../catalog/catalog.h"
#include "../../definition/definition.h"
#include "../../indextable.h"
#include "../../queue/queue.h"
#include "../../util/arguments.h"
#include "../../util/compat.h"
#include "../../util/inherit.h"
#include "../../util/lock.h"
#include "../../util/sql.h"
#include "../../util/subxact.h"
#include "citus.h"

/* The longest pause between two queries, in ms, as each of them asks all shards. */
#define MAX_PAUSE			100

static void check_shards_unchanged(Oid fact_table);
static bool wait_until_consumed(Oid queue, TimestampTz before, TimestampTz until);
static bool wait_until_committed(Oid fact_table, TimestampTz until);
static List *prepared_on_any_node(Oid fact_table);

PG_FUNCTION_INFO_V1(indextable_table_sizes);

/* A query of one row of three columns, and its result. */
typedef struct Question
{
	char	   *sql;
	Datum		values[3];
	bool		isnull[3];
} Question;

static bool ask(Question *question);
static void run_question(void *arg);

/*
 * wait_for_distributed_queue
 *		Waits until no change is queued any more that is queued now and at least max_lag old.
 *		Returns false if that is not so by the time "until".
 */
bool
wait_for_distributed_queue(FactTableRow *queue, int64 max_lag, TimestampTz until)
{
	TimestampTz before = max_lag > 0 ? GetCurrentTimestamp() - max_lag : DT_NOEND;
	Caller		caller;
	bool		result;

	if (max_lag == 0)
		check_shards_unchanged(queue->fact_table);
	become_owner(&caller, get_extension_owner());
	result = wait_until_committed(queue->fact_table, until) && wait_until_consumed(queue->queue, before, until) &&
		wait_until_committed(queue->fact_table, until);
	become_caller(&caller);
	return result;
}

/*
 * check_shards_unchanged
 *		Raises an error if this transaction has changed rows of a distributed table.
 *
 * The queue is read on other connections, which see nothing of this transaction.  But before rows are changed on any
 * node, the whole table is locked here, and by TRUNCATE in the strongest mode.
 */
static void
check_shards_unchanged(Oid fact_table)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, fact_table);
	if (lock_held_by_me_as_writer(&tag) || lock_held_by_me_exclusively(&tag))
		report_own_changes(fact_table, false);
}

/* wait_until_consumed: does that as the owner of the queue */
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
 *		write to shards of the index tables or the queue; returns false if they have not by the time until.
 */
static bool
wait_until_committed(Oid fact_table, TimestampTz until)
{
	List	   *prepared = prepared_on_any_node(fact_table);
	long		pause = 1;

	while (prepared != NIL)
	{
		if (!sleep_longer(&pause, MAX_PAUSE, until))
			return false;
		prepared = list_intersection(prepared, prepared_on_any_node(fact_table));
	}
	return true;
}

/* prepared_on_any_node: lists these transactions, also those of other index tables over the fact table */
static List *
prepared_on_any_node(Oid fact_table)
{
	Relation	fact = try_relation_open(fact_table, AccessShareLock);
	List	   *result = NIL;

	if (fact != NULL)
	{
		result = prepared_transactions(definition_of_fact(fact, fact_table), true);
		relation_close(fact, AccessShareLock);
	}
	return result;
}

/* numbers_queued: returns a condition on the numbers of the changes that are queued now and were made by then, "" if there are none */
char *
numbers_queued(Oid queue, TimestampTz before)
{
	StringInfoData numbers;
	Oid			type = TIMESTAMPTZOID;
	Datum		value = TimestampTzGetDatum(before);
	Rows		rows = query_as(InvalidOid, psprintf("SELECT pg_catalog.min(number), pg_catalog.max(number) FROM %s WHERE changed_at <= $1 GROUP BY number >> 48",
													 quoted_relation(queue)), 1, &type, &value);

	initStringInfo(&numbers);
	for (uint64 i = 0; i < rows.n; i++)
		appendStringInfo(&numbers, "%snumber BETWEEN %s AND %s", i > 0 ? " OR " : "", row_text(&rows, i, 1), row_text(&rows, i, 2));
	return numbers.data;
}

/* still_queued: returns whether such a change is queued, with a number that fulfils a condition; leaves nothing in memory */
bool
still_queued(Oid queue, TimestampTz before, const char *numbers)
{
	Oid			type = TIMESTAMPTZOID;
	Datum		value = TimestampTzGetDatum(before);
	bool		result;

	if (numbers[0] == '\0')
		return false;
	SPI_connect();
	result = execute_with_latest_snapshot(psprintf("SELECT FROM %s WHERE changed_at <= $1 AND (%s) LIMIT 1",
												   quoted_relation(queue), numbers), 1, &type, &value) > 0;
	SPI_finish();
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
	char	   *name = quoted_relation(queue->queue);
	Question	question;

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
		char	   *name = quote_literal_cstr(quoted_relation(relid));

		question.sql = psprintf("SELECT true, s.size, pg_catalog.citus_total_relation_size(%s) - s.size"
								" FROM (SELECT pg_catalog.citus_table_size(%s)) s (size)", name, name);
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

/* ask: runs a query as the owner of the extension; returns false if that fails, unless it was canceled, or finds nothing */
static bool
ask(Question *question)
{
	ErrorData  *error;

	memset(question->isnull, true, sizeof(question->isnull));
	error = run_catching_errors(run_question, question);
	if (error != NULL && ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	return error == NULL && !question->isnull[0];
}

/* run_question: runs the query; for run_catching_errors() */
static void
run_question(void *arg)
{
	Question   *question = arg;
	Rows		rows = query_as(get_extension_owner(), question->sql, 0, NULL, NULL);

	for (int i = 0; rows.n == 1 && i < 3; i++)
		question->values[i] = heap_getattr(rows.tuples[0], i + 1, rows.desc, &question->isnull[i]);
}
