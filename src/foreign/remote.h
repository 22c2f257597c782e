/*-------------------------------------------------------------------------
 *
 * remote.h
 *	  Runs statements on other servers outside of the transactions of postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REMOTE_H
#define INDEXTABLE_REMOTE_H

#include "libpq-fe.h"

#include "../indextable.h"
#include "../util/sql.h"

/* remote_table.c: tells which tables on other servers foreign partitions stand for */

/* A table on another server. */
typedef struct RemoteTable
{
	Oid			relid;			/* the foreign table */
	Oid			server;
	Oid			owner;			/* the role that is mapped to one over there */
	char	   *literal;		/* its name, as a constant of SQL */
} RemoteTable;

extern List *tables_on(Oid fact, Oid relid, Oid server);
extern List *next_group(List **tables);
extern char *remote_columns(FactDef *def, Oid relid);

/* remote_connection.c: opens connections that are out of reach of SQL */

/* A connection. */
typedef struct Connection
{
	struct
	{
		Oid			server;
		Oid			owner;		/* whose user mapping is used */
	}			id;				/* hash key */
	PGconn	   *conn;			/* NULL: closed */
	PGresult   *result;			/* to be freed, or NULL */
	bool		stale;			/* the options may have changed since it was
								 * opened */
} Connection;

extern Connection *connection_of(Oid server, Oid owner);
extern void open_connection(Connection *c, TimestampTz until);
extern void close_connection(Connection *c);
extern void wait_for_socket(Connection *c, int events, TimestampTz until);
extern char *remote_text(const char *text);
extern char *server_text(Oid server);

/* remote_query.c: runs statements */

extern TimestampTz answer_deadline(void);
extern Rows remote_query(Oid server, Oid owner, TimestampTz until, const char *sql, int64 limit,
						 int ncolumns, const Oid *types);

#endif							/* INDEXTABLE_REMOTE_H */
