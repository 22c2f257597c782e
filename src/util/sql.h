/*-------------------------------------------------------------------------
 *
 * sql.h
 *	  Runs SQL commands as another role or with the latest snapshot, and writes names,
 *	  literals and expressions for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SQL_H
#define INDEXTABLE_SQL_H

#include "access/attnum.h"
#include "access/htup.h"
#include "access/tupdesc.h"
#include "executor/spi.h"
#include "nodes/pg_list.h"

#include "compat.h"

/* run_sql: runs run_command(), with a command that is formatted as by printf() */
#define run_sql(role, ...)	run_command(role, psprintf(__VA_ARGS__))

/* run_on: formats a command and runs it on a table by run_on_table() */
#define run_on(relid, ...)	run_on_table(relid, psprintf(__VA_ARGS__))

/* The table that run_on_table() alters at this moment, or InvalidOid. */
extern Oid	altered_by_us;

extern void run_command(Oid role, const char *sql);
extern void run_on_table(Oid relid, const char *sql);

/* What query_with() has read: copies in the memory context of the caller. */
typedef struct Rows
{
	uint64		n;				/* rows that were returned, or written */
	TupleDesc	desc;			/* NULL: the statement returns none */
	HeapTuple  *tuples;
} Rows;

/*
 * query_as
 *		Runs query_with() with a statement that is formatted as by printf(), and has no
 *		parameters.
 */
#define query_as(role, ...) query_with(role, psprintf(__VA_ARGS__), 0, NULL, NULL)

extern int	fix_search_path(void);
extern Rows copy_rows(MemoryContext cxt);
extern Rows query_with(Oid role, const char *sql, int nargs, Oid *types, Datum *values);
extern Rows query_as_caller(Oid relid, const char *sql, int nargs, Oid *types, Datum *values);
extern SPIPlanPtr keep_query(Oid relid, const char *sql, int nargs, Oid *types);
extern Rows query_by_plan(Oid relid, SPIPlanPtr plan, Datum *values, Snapshot snapshot);
extern void send_rows(Oid relid, SPIPlanPtr plan, ParamListInfo params, Snapshot snapshot, DestReceiver *dest);
extern Datum row_value(const Rows *rows, uint64 row, int column);
extern char *row_text(const Rows *rows, uint64 row, int column);
extern char *quoted_relation(Oid relid);
extern List *column_names(Oid relid, const AttrNumber *columns, int n);
extern char *column_list(Oid relid, const AttrNumber *columns, int n);
extern void sort_by_name(List *relations);
pg_noreturn extern void report_dropped(Oid relid);
pg_noreturn extern void report_renamed(const char *table);
extern char *sql_literal(const char *text);
extern Datum array_of_texts(List *texts);
extern Datum array_of_oids(List *oids);
extern char *array_literal(List *fields);
extern const char *as_base_type(const char *expression, Oid type);

#endif							/* INDEXTABLE_SQL_H */
