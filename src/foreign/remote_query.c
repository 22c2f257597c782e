/*-------------------------------------------------------------------------
 *
 * remote_query.c
 *	  Runs statements on other servers, each in a transaction of its own over there.
 *
 * Nobody knows whose servers these are.  One may not answer, answer slowly, begin an answer
 * and not end it, or send one without end.  So nothing here blocks, all waits are
 * interruptible, each has a deadline that the caller has set for all that belongs together,
 * and there are limits for the rows and the bytes of an answer.
 *
 * A connection is closed after an error.  No error leaves one in the middle of an answer,
 * because remote_query() catches all of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/memory.h"
#include "../util/settings.h"
#include "remote.h"

/* The longest time within which a server has to answer, in ms. */
#define ANSWER_TIMEOUT		20000

/*
 * The size that an answer may have, in bytes, and the size that each of the allowed rows adds
 * to it.
 */
#define ANSWER_SIZE			(16 * 1024 * 1024)
#define ROW_SIZE			1024

/* An answer, as far as it has come. */
typedef struct Answer
{
	Rows		rows;
	AttInMetadata *columns;
	int64		limit;			/* number of rows that are an answer */
	int			room;			/* number of rows that rows.tuples has room
								 * for */
	int64		size;			/* in bytes */
	MemoryContext cxt;			/* of the rows */
	MemoryContext row_cxt;		/* is reset after each row */
} Answer;

static bool run_statement(Connection *c, Answer *answer, const char *sql, TimestampTz until);
static bool next_result(Connection *c, TimestampTz until);
static void add_row(Connection *c, Answer *answer);
pg_noreturn static void report_error(Connection *c);

/*
 * answer_deadline
 *		Returns the time until which a server has to answer that is asked from now on.
 *
 * It leaves a part of the time of a batch to apply the changes, and so it ends before that: its
 * error says which server it was.
 */
TimestampTz
answer_deadline(void)
{
	int			ms = ANSWER_TIMEOUT;

	if (setting_batch_timeout > 0)
		ms = Min(ms, setting_batch_timeout / 3 * 2);
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/*
 * remote_query
 *		Runs a statement on another server as the role that the owner is mapped to, and
 *		returns the rows of the answer, in the current memory context.  The types of the
 *		columns are those of pg_catalog.  Raises an error if more rows than limit come, or if
 *		the answer is not complete when the time "until" comes.
 *
 * A connection that was open already may be broken without our knowing it, as when the
 * other server was restarted.  So such a statement is run once more over a new one: the
 * statements that this is used for do no harm if they are run twice.
 */
Rows
remote_query(Oid server, Oid owner, TimestampTz until, const char *sql, int64 limit,
			 int ncolumns, const Oid *types)
{
	Connection *c = connection_of(server, owner);
	Answer		answer = {.limit = limit,.cxt = CurrentMemoryContext};

	answer.rows.desc = CreateTemplateTupleDesc(ncolumns);
	for (int i = 0; i < ncolumns; i++)
		TupleDescInitEntry(answer.rows.desc, i + 1, "column", types[i], -1, 0);
	TupleDescFinalize(answer.rows.desc);
	answer.columns = TupleDescGetAttInMetadata(answer.rows.desc);
	answer.row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable remote row", ALLOCSET_DEFAULT_SIZES);
	PG_TRY();
	{
		bool		kept = c->conn != NULL && !c->stale;

		if (!kept)
			open_connection(c, until);
		if (!run_statement(c, &answer, sql, until))
		{
			if (kept)
				open_connection(c, until);
			if (!kept || !run_statement(c, &answer, sql, until))
				report_error(c);
		}
	}
	PG_CATCH();
	{
		close_connection(c);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextDelete(answer.row_cxt);
	return answer.rows;
}

/*
 * run_statement
 *		Runs a statement over a connection and adds the rows of the answer; returns false if the
 *		connection has broken, which report_error() reports, and then the answer is not complete.
 */
static bool
run_statement(Connection *c, Answer *answer, const char *sql, TimestampTz until)
{
	int			unsent;

	answer->rows.n = 0;
	answer->size = 0;
	if (!PQsendQuery(c->conn, sql) || !PQsetSingleRowMode(c->conn))
		return false;
	while ((unsent = PQflush(c->conn)) > 0)
	{
		wait_for_socket(c, WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE, until);
		if (!PQconsumeInput(c->conn))
			return false;
	}
	if (unsent < 0)
		return false;
	for (;;)
	{
		const char *severity;

		if (!next_result(c, until))
			return false;
		if (c->result == NULL)
			return PQstatus(c->conn) == CONNECTION_OK;
		switch (PQresultStatus(c->result))
		{
			case PGRES_SINGLE_TUPLE:
				add_row(c, answer);
				break;
			case PGRES_TUPLES_OK:
				break;
			default:
				severity = PQresultErrorField(c->result, PG_DIAG_SEVERITY_NONLOCALIZED);
				if (PQstatus(c->conn) == CONNECTION_BAD ||
					(severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)))
					return false;
				report_error(c);
		}
		PQclear(c->result);
		c->result = NULL;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * next_result
 *		Waits for the next part of an answer, and sets c->result to it, or to NULL at the end;
 *		returns false if the connection has broken.
 */
static bool
next_result(Connection *c, TimestampTz until)
{
	while (PQisBusy(c->conn))
	{
		wait_for_socket(c, WL_SOCKET_READABLE, until);
		if (!PQconsumeInput(c->conn))
			return false;
	}
	c->result = PQgetResult(c->conn);
	return true;
}

/* add_row: adds a row that has come to an answer */
static void
add_row(Connection *c, Answer *answer)
{
	MemoryContext old = MemoryContextSwitchTo(answer->row_cxt);
	int			n = answer->rows.desc->natts;
	char	  **values = palloc(sizeof(char *) * n);
	HeapTuple	tuple;

	if (PQnfields(c->result) != n)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INCONSISTENT_DESCRIPTOR_INFORMATION),
				 errmsg("server %s has returned %d columns instead of %d", server_text(c->id.server),
						PQnfields(c->result), n)));
	if ((int64) answer->rows.n >= answer->limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("server %s has returned more than the " INT64_FORMAT " rows that it was asked for",
						server_text(c->id.server), answer->limit)));
	for (int i = 0; i < n; i++)
	{
		values[i] = PQgetisnull(c->result, 0, i) ? NULL : PQgetvalue(c->result, 0, i);
		answer->size += PQgetlength(c->result, 0, i);
	}
	if (answer->size > ANSWER_SIZE && (answer->size - ANSWER_SIZE) / ROW_SIZE > answer->limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("an answer of server %s is too long", server_text(c->id.server)),
				 errdetail("The first " UINT64_FORMAT " rows have more than " INT64_FORMAT " bytes.",
						   answer->rows.n + 1, ANSWER_SIZE + answer->limit * ROW_SIZE)));
	for (int i = 0; i < n; i++)
	{
		if (values[i] != NULL)
			(void) pg_verifymbstr(values[i], strlen(values[i]), false);
	}
	tuple = BuildTupleFromCStrings(answer->columns, values);
	MemoryContextSwitchTo(answer->cxt);
	if ((int64) answer->rows.n == answer->room)
		answer->rows.tuples = grow_array(answer->rows.tuples, &answer->room, 64, sizeof(HeapTuple), answer->cxt);
	answer->rows.tuples[answer->rows.n++] = heap_copytuple(tuple);
	MemoryContextSwitchTo(old);
	MemoryContextReset(answer->row_cxt);
}

/*
 * report_error
 *		Raises the error with which the last statement over a connection has ended.
 *
 * An error over there in class 57, which says something of the session there, must not be
 * taken for one of ours, which would end more than this batch.
 */
static void
report_error(Connection *c)
{
	const char *state = PQresultErrorField(c->result, PG_DIAG_SQLSTATE);
	char	   *message = remote_text(PQresultErrorField(c->result, PG_DIAG_MESSAGE_PRIMARY));
	char	   *detail = remote_text(PQresultErrorField(c->result, PG_DIAG_MESSAGE_DETAIL));
	char	   *hint = remote_text(PQresultErrorField(c->result, PG_DIAG_MESSAGE_HINT));
	int			code = ERRCODE_CONNECTION_FAILURE;

	if (state != NULL && strlen(state) == 5 && strncmp(state, "57", 2) != 0 && strncmp(state, "03", 2) >= 0)
		code = MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
	if (message == NULL)
		detail = remote_text(PQerrorMessage(c->conn));
	ereport(ERROR,
			(errcode(code),
			 message != NULL ? errmsg_internal("%s", message) :
			 errmsg("server %s has not answered the statement", server_text(c->id.server)),
			 detail != NULL ? errdetail_internal("%s", detail) : 0,
			 hint != NULL ? errhint("%s", hint) : 0,
			 errcontext("statement on server %s", server_text(c->id.server))));
}
