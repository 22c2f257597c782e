/*-------------------------------------------------------------------------
 *
 * distributed_backlog.c
 *	  Counts what is queued for distributed fact tables, on all nodes, and tells how large
 *	  index tables are.
 *
 * Views show it, which must not fail because a node cannot be reached, nor wait for a lock:
 * then nothing is known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../../catalog/owner.h"
#include "../../indextable.h"
#include "../../util/citus.h"
#include "../../util/inherit.h"
#include "../../util/role.h"
#include "../../util/size.h"
#include "../../util/sql.h"
#include "../../util/subxact.h"
#include "citus_place.h"

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
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
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
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), question.values, question.isnull)));
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
	Caller		caller;
	int			i;

	become_owner(&caller, get_extension_owner());
	SPI_connect();
	if (execute_with_latest_snapshot(question->sql, 0, NULL, NULL) == 1)
		for (i = 0; i < 3; i++)
			question->values[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &question->isnull[i]);
	SPI_finish();
	become_caller(&caller);
}
