/*-------------------------------------------------------------------------
 *
 * remote_query.c
 *	  Runs statements on other servers, by the extension dblink, each in a transaction of
 *	  its own over there.
 *
 * The connections of postgres_fdw will not do: what is read over them is as of the
 * beginning of this transaction, and what is written over them is committed before this
 * transaction is.  A connection is kept for each server and role until the session ends.
 * It is opened anew after an error, and when the options of a server or a user mapping
 * have changed.
 *
 * dblink itself cannot be interrupted while it waits for an answer, so a statement is
 * sent, and then it is asked whether the answer has come.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "../../indextable.h"
#include "../../util/as_owner.h"
#include "../../util/lock.h"
#include "../../util/memory.h"
#include "../../util/sql.h"
#include "../../util/subxact.h"
#include "foreign.h"

/* A server that has not answered a statement after so many ms is taken to be down. */
#define ANSWER_TIMEOUT		30000

/* A connection. */
typedef struct Connection
{
	struct
	{
		Oid			server;
		Oid			owner;
	}			id;				/* hash key */
	bool		usable;			/* it is open, and the last statement has
								 * succeeded */
} Connection;

static HTAB *connections = NULL;	/* of Connection */

/* How often the options of a server or a user mapping may have changed. */
static uint64 changes = 0;

static void options_changed(Datum arg, int id, uint32 hash);
static Rows run_statement(Connection *connection, const char *sql, const char *columns, MemoryContext cxt);
static void connect(const char *schema, const char *name, Oid server);
static char *server_text(Oid server);
static const char *dblink_schema(void);
static Datum call(const char *schema, const char *function, const char *name, const char *arg);
static void wait_for_answer(const char *schema, const char *name, Oid server);

/*
 * remote_query
 *		Runs a statement on another server as the role that the owner is mapped to, and
 *		returns the rows of the answer, which have these columns.
 *
 * A connection that was open already may be broken without our knowing it, as when the
 * other server was restarted.  So such a statement is run once more over a new one: the
 * statements that this is used for do no harm if they are run twice.
 */
Rows
remote_query(Oid server, Oid owner, const char *sql, const char *columns)
{
	MemoryContext cxt = CurrentMemoryContext;
	Connection *connection;
	ErrorData  *error = NULL;
	Rows		rows;
	bool		found;
	bool		usable;
	struct
	{
		Oid			server;
		Oid			owner;
	}			id = {server, owner};

	if (connections == NULL)
	{
		connections = new_hash("indextable connections", 16, sizeof(id), sizeof(Connection), NULL);
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, options_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, options_changed, (Datum) 0);
	}
	connection = hash_search(connections, &id, HASH_ENTER, &found);
	if (!found)
		connection->usable = false;
	AS_OWNER(owner);
	{
		usable = connection->usable;
		if (usable)
			CATCHING_ERRORS(error, rows = run_statement(connection, sql, columns, cxt));
		if (error != NULL && ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_CONNECTION_EXCEPTION &&
			error->sqlerrcode != ERRCODE_ADMIN_SHUTDOWN && error->sqlerrcode != ERRCODE_CRASH_SHUTDOWN)
			ReThrowError(error);
		if (!usable || error != NULL)
			rows = run_statement(connection, sql, columns, cxt);
	}
	END_AS_OWNER();
	return rows;
}

/* options_changed: has all connections opened anew, because their servers may have other options */
static void
options_changed(Datum arg, int id, uint32 hash)
{
	HASH_SEQ_STATUS seq;
	Connection *connection;

	changes++;
	hash_seq_init(&seq, connections);
	while ((connection = hash_seq_search(&seq)) != NULL)
		connection->usable = false;
}

/*
 * run_statement
 *		Does what remote_query() says, and returns the rows in the memory context cxt; an error leaves
 *		the connection to be opened anew.
 */
static Rows
run_statement(Connection *connection, const char *sql, const char *columns, MemoryContext cxt)
{
	Oid			server = connection->id.server;
	char	   *name = psprintf("indextable_%u_%u", server, connection->id.owner);
	bool		usable = connection->usable;
	uint64		before = changes;
	Rows		rows;
	const char *schema;
	char	   *get;

	connection->usable = false;
	SPI_connect();
	schema = dblink_schema();
	if (!usable)
	{
		if (SPI_execute(psprintf("SELECT 1 WHERE %s OPERATOR(pg_catalog.=) ANY (%s.dblink_get_connections())",
								 quote_literal_cstr(name), schema), false, 0) != SPI_OK_SELECT)
			elog(ERROR, "could not list the connections of dblink");
		if (SPI_processed > 0)
			call(schema, "dblink_disconnect", name, NULL);
		connect(schema, name, server);
	}
	if (DatumGetInt32(call(schema, "dblink_send_query", name, sql)) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not send a statement to server %s", server_text(server))));
	wait_for_answer(schema, name, server);
	get = psprintf("SELECT * FROM %s.dblink_get_result(%s) AS t (%s)", schema, quote_literal_cstr(name), columns);
	if (SPI_execute(get, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read an answer from dblink");
	rows = copy_rows(cxt);

	/* dblink wants to be asked until there is nothing more. */
	if (SPI_execute(get, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read an answer from dblink");
	SPI_finish();
	connection->usable = changes == before;
	return rows;
}

/*
 * connect
 *		Opens a connection.  The message of an error says to which server: that of dblink does
 *		not, and it is the only part that the views show.
 */
static void
connect(const char *schema, const char *name, Oid server)
{
	MemoryContext cxt = CurrentMemoryContext;
	const char *where = server_text(server);

	PG_TRY();
	{
		call(schema, "dblink_connect", name, GetForeignServer(server)->servername);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_CONNECTION_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(error->sqlerrcode),
				 errmsg("could not connect to server %s", where),
				 errdetail_internal("%s", error->detail != NULL ? error->detail : error->message)));
	}
	PG_END_TRY();
}

/* server_text: names a server in a message, with the options that say where it is */
static char *
server_text(Oid server)
{
	ForeignServer *s = GetForeignServer(server);
	StringInfoData text;
	const char *before = " (";

	initStringInfo(&text);
	appendStringInfo(&text, "\"%s\"", s->servername);
	foreach_ptr(DefElem, option, s->options)
	{
		if (strcmp(option->defname, "host") != 0 && strcmp(option->defname, "hostaddr") != 0 &&
			strcmp(option->defname, "port") != 0)
			continue;
		appendStringInfo(&text, "%s%s %s", before, option->defname, defGetString(option));
		before = ", ";
	}
	if (before[0] == ',')
		appendStringInfoChar(&text, ')');
	return text.data;
}

/* dblink_schema: returns the quoted schema of the extension dblink, or raises an error */
static const char *
dblink_schema(void)
{
	if (SPI_execute("SELECT pg_catalog.quote_ident(n.nspname::pg_catalog.text) FROM pg_catalog.pg_extension e"
					" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
					" WHERE e.extname OPERATOR(pg_catalog.=) 'dblink'", false, 0) != SPI_OK_SELECT || SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"dblink\" is not installed"),
				 errdetail("Changes are taken from other servers over connections of dblink."),
				 errhint("Run CREATE EXTENSION dblink;")));
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/* call: calls a function of dblink with the name of a connection and another text, or NULL; returns its result */
static Datum
call(const char *schema, const char *function, const char *name, const char *arg)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[2];
	bool		isnull;

	values[0] = CStringGetTextDatum(name);
	if (arg != NULL)
		values[1] = CStringGetTextDatum(arg);
	if (SPI_execute_with_args(psprintf("SELECT %s.%s($1%s)", schema, function, arg == NULL ? "" : ", $2"),
							  arg == NULL ? 1 : 2, types, values, NULL, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not call %s()", function);
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
}

/* wait_for_answer: waits until the answer to a statement has come, interruptibly, or raises an error */
static void
wait_for_answer(const char *schema, const char *name, Oid server)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ANSWER_TIMEOUT);
	long		length = 1;
	int			tries = 0;

	while (DatumGetInt32(call(schema, "dblink_is_busy", name, NULL)) != 0)
	{
		/* Most answers come within a fraction of a millisecond. */
		if (tries++ < 5)
			pg_usleep(100);
		else if (!sleep_longer(&length, LOOK_PAUSE, until))
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("server %s has not answered for %d s", server_text(server), ANSWER_TIMEOUT / 1000)));
	}
}
