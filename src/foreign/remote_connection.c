/*-------------------------------------------------------------------------
 *
 * remote_connection.c
 *	  Opens connections to other servers that are out of reach of SQL, and waits for these
 *	  servers.
 *
 * The connections of postgres_fdw will not do: what is read over them is as of the
 * beginning of this transaction, and what is written over them is committed before this
 * transaction is.  Those of dblink have names, by which every role and every function of a
 * session can use them, with the rights of the role over there.
 *
 * Ours are opened as postgres_fdw opens its own: with the user mapping of the owner of a
 * foreign table, the same options, and the same checks, so that no role that is not a
 * superuser gets anywhere by the server's own files, environment or user name.  Delegated
 * credentials are not accepted in place of a password: they are those of the session's
 * user, who need not be the owner, and workers have none.
 *
 * A connection is kept for each server and role until the session ends, and opened anew when
 * the options of a server or a user mapping have changed.  Nothing of libpq that is called
 * here blocks, but for the look-up of the name of a host.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../util/memory.h"
#include "foreign.h"
#include "remote.h"

/* The greatest connect_timeout in s where postgres_fdw cannot be interrupted while it connects. */
#define MAX_CONNECT_TIMEOUT	30

/* The number of hosts that a server may have: each name is looked up, uninterruptibly. */
#define MAX_HOSTS			8

/* The size of a text of another server that is shown in a message, in bytes. */
#define MAX_TEXT			1000

/* The options of a connection. */
typedef struct Options
{
	const char **keywords;		/* those of libpq, and NULL */
	const char **values;
	int			n;
	bool		needs_password;
	int			timeout;		/* connect_timeout in ms; 0: none */
} Options;

static HTAB *connections = NULL;	/* of Connection */

static void options_changed(Datum arg, int id, uint32 hash);
static bool acquire_descriptor(void);
static void read_options(Connection *c, Options *options);
static void add_options(Options *options, List *list, const PQconninfoOption *known);
static bool is_option(const PQconninfoOption *known, const char *keyword);
static const char *option_value(const Options *options, const char *keyword);
static int	number_of_hosts(const char *hosts);
static bool needs_password(UserMapping *user);
static void ignore_notice(void *arg, const PGresult *result);

/* connection_of: returns the connection for a server and a role, which may be closed */
Connection *
connection_of(Oid server, Oid owner)
{
	Connection *c;
	bool		found;
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
	c = hash_search(connections, &id, HASH_ENTER, &found);
	if (!found)
	{
		c->conn = NULL;
		c->result = NULL;
		c->stale = false;
	}
	return c;
}

/* options_changed: has all connections opened anew, because their servers may have other options */
static void
options_changed(Datum arg, int id, uint32 hash)
{
	HASH_SEQ_STATUS seq;
	Connection *c;

	hash_seq_init(&seq, connections);
	while ((c = hash_seq_search(&seq)) != NULL)
		c->stale = true;
}

/*
 * acquire_descriptor
 *		Has the server account for one more open file; closes all connections if there are too
 *		many, of which none is in the middle of an answer.
 */
static bool
acquire_descriptor(void)
{
	HASH_SEQ_STATUS seq;
	Connection *c;

	if (AcquireExternalFD())
		return true;
	hash_seq_init(&seq, connections);
	while ((c = hash_seq_search(&seq)) != NULL)
		close_connection(c);
	return AcquireExternalFD();
}

/*
 * open_connection
 *		Opens a connection, as connect_pg_server() of postgres_fdw does, without blocking.
 */
void
open_connection(Connection *c, TimestampTz until)
{
	Options		options = {0};
	PostgresPollingStatusType polling = PGRES_POLLING_WRITING;

	close_connection(c);
	c->stale = false;			/* news that comes while options are read
								 * counts */
	read_options(c, &options);
	if (!acquire_descriptor())
		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("could not connect to server %s", server_text(c->id.server)),
				 errdetail("There are too many open files on the local server."),
				 errhint("Raise the server's max_files_per_process and/or \"ulimit -n\" limits.")));
	c->conn = PQconnectStartParams(options.keywords, options.values, false);
	if (c->conn == NULL)
	{
		ReleaseExternalFD();
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
	(void) PQsetNoticeReceiver(c->conn, ignore_notice, NULL);
	if (PQstatus(c->conn) == CONNECTION_BAD || PQsetnonblocking(c->conn, 1) != 0)
		polling = PGRES_POLLING_FAILED;

	if (options.timeout > 0)
		until = Min(until, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), options.timeout));
	while (polling != PGRES_POLLING_OK && polling != PGRES_POLLING_FAILED)
	{
		wait_for_socket(c, polling == PGRES_POLLING_READING ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE, until);
		polling = PQconnectPoll(c->conn);
	}
	if (polling == PGRES_POLLING_FAILED)
	{
		char	   *detail = remote_text(PQerrorMessage(c->conn));

		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("could not connect to server %s", server_text(c->id.server)),
				 detail != NULL ? errdetail_internal("%s", detail) : 0));
	}
	if (options.needs_password && !PQconnectionUsedPassword(c->conn))
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required"),
				 errdetail("Non-superuser cannot connect if the server does not request a password."),
				 errhint("Target server's authentication method must be changed or password_required=false set in the user mapping attributes.")));
}

/*
 * read_options
 *		Reads and checks the options of a connection.
 *
 * What values they may have was checked by postgres_fdw when they were set: nobody but a
 * superuser can say that no password is required.  So other foreign-data wrappers are refused.
 */
static void
read_options(Connection *c, Options *options)
{
	ForeignServer *server = GetForeignServer(c->id.server);
	UserMapping *user = GetUserMapping(c->id.owner, c->id.server);
	int			room = list_length(server->options) + list_length(user->options) + 3;
	PQconninfoOption *known;
	const char *connect_timeout;
	long		seconds = 0;

	if (!is_server_of_postgres_fdw(c->id.server))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("server \"%s\" is not one of postgres_fdw", server->servername)));
	options->keywords = palloc0(sizeof(char *) * room);
	options->values = palloc0(sizeof(char *) * room);
	known = PQconndefaults();
	if (known == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	add_options(options, server->options, known);
	add_options(options, user->options, known);
	PQconninfoFree(known);

	options->needs_password = needs_password(user);
	if (options->needs_password && option_value(options, "password") == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required"),
				 errdetail("Non-superusers must provide a password in the user mapping.")));
	if (number_of_hosts(option_value(options, "host")) > MAX_HOSTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("server \"%s\" has more than %d hosts", server->servername, MAX_HOSTS)));
	connect_timeout = option_value(options, "connect_timeout");
	if (connect_timeout != NULL)
		seconds = strtol(connect_timeout, NULL, 10);
	if (MyBackendType == B_BG_WORKER && FDW_BLOCKS_TO_CONNECT && connect_timeout != NULL &&
		(seconds < 1 || seconds > MAX_CONNECT_TIMEOUT))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("connect_timeout of server \"%s\" is not between 1 and %d", server->servername,
						MAX_CONNECT_TIMEOUT),
				 errdetail("A worker cannot be stopped while postgres_fdw connects."),
				 errhint("Run ALTER SERVER %s OPTIONS (SET connect_timeout '5');",
						 quote_identifier(server->servername))));

	/*
	 * Of libpq's functions only those that block heed connect_timeout, and
	 * take 1 for 2.
	 */
	if (seconds > 0 && seconds < INT_MAX / 1000)
		options->timeout = Max(seconds, 2) * 1000;

	options->keywords[options->n] = "fallback_application_name";
	options->values[options->n++] = "indextable";
	options->keywords[options->n] = "client_encoding";
	options->values[options->n++] = GetDatabaseEncodingName();
}

/*
 * add_options
 *		Adds those options of a server or a user mapping that are libpq's, as
 *		ExtractConnectionOptions() of postgres_fdw does.
 */
static void
add_options(Options *options, List *list, const PQconninfoOption *known)
{
	foreach_ptr(DefElem, option, list)
	{
		if (!is_option(known, option->defname))
			continue;
		options->keywords[options->n] = option->defname;
		options->values[options->n++] = defGetString(option);
	}
}

/*
 * is_option
 *		Returns whether a server or a user mapping of postgres_fdw may have an option of
 *		libpq.
 */
static bool
is_option(const PQconninfoOption *known, const char *keyword)
{
	if (strcmp(keyword, "fallback_application_name") == 0 || strcmp(keyword, "client_encoding") == 0)
		return false;
	for (; known->keyword != NULL; known++)
	{
		if (strcmp(known->keyword, keyword) == 0)
			return strchr(known->dispchar, 'D') == NULL;
	}
	return false;
}

/*
 * option_value
 *		Returns the value of an option, or NULL if that is missing or empty; of several the
 *		last counts.
 */
static const char *
option_value(const Options *options, const char *keyword)
{
	const char *value = NULL;

	for (int i = 0; i < options->n; i++)
	{
		if (strcmp(options->keywords[i], keyword) == 0)
			value = options->values[i][0] == '\0' ? NULL : options->values[i];
	}
	return value;
}

/* number_of_hosts: returns how many hosts an option names, which may be NULL */
static int
number_of_hosts(const char *hosts)
{
	int			n = 1;

	for (; hosts != NULL && *hosts != '\0'; hosts++)
		n += *hosts == ',';
	return n;
}

/* needs_password: returns whether a role must not connect without a password of its own */
static bool
needs_password(UserMapping *user)
{
	if (superuser_arg(user->userid))
		return false;
	foreach_ptr(DefElem, option, user->options)
	{
		if (strcmp(option->defname, "password_required") == 0)
			return defGetBoolean(option);
	}
	return true;
}

/* close_connection: closes a connection, if it is open, with all that belongs to it */
void
close_connection(Connection *c)
{
	PQclear(c->result);
	c->result = NULL;
	if (c->conn == NULL)
		return;
	PQfinish(c->conn);
	c->conn = NULL;
	ReleaseExternalFD();
}

/* ignore_notice: keeps what another server tells of out of our server's log */
static void
ignore_notice(void *arg, const PGresult *result)
{
}

/*
 * wait_for_socket
 *		Waits until one of these events may have come; raises an error if none has come in
 *		time.
 */
void
wait_for_socket(Connection *c, int events, TimestampTz until)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = new_wait_event("IndextableServer");
	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();
		int			happened;

		if (now >= until || PQsocket(c->conn) == PGINVALID_SOCKET)
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("server %s has not answered in time", server_text(c->id.server))));
		happened = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | events,
									 PQsocket(c->conn), TimestampDifferenceMilliseconds(now, until), wait_event);
		if (happened & WL_LATCH_SET)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (happened & events)
			return;
	}
}

/*
 * remote_text
 *		Returns a text of another server as it can be shown in a message, or NULL if it is
 *		NULL or empty.
 */
char *
remote_text(const char *text)
{
	int			length = text == NULL ? 0 : (int) strnlen(text, MAX_TEXT + MAX_MULTIBYTE_CHAR_LEN);

	while (length > 0 && text[length - 1] == '\n')
		length--;
	if (length == 0)
		return NULL;
	if (length > MAX_TEXT)
		length = pg_mbcliplen(text, length, MAX_TEXT);
	if (!pg_verifymbstr(text, length, true))
		return pstrdup("(text in another encoding)");
	return pnstrdup(text, length);
}

/* server_text: names a server in a message, with the options that say where it is */
char *
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
