/*-------------------------------------------------------------------------
 *
 * sql.c
 *	  Runs SQL commands as another role or with the latest snapshot, and writes names,
 *	  literals and expressions for them.
 *
 * Nothing else executes SQL, except for cursors (test/run/layers).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "as_owner.h"
#include "naming.h"
#include "sql.h"
#include "wait_point.h"
#include "while_set.h"

Oid			altered_by_us = InvalidOid;

static void run_part(RawStmt *parsed, Oid relid, const char *sql);
static void run_utility(PlannedStmt *command, Oid relid, const char *sql);
static void add_command(void *arg);
static void execute_command(const char *sql);
static uint64 execute_with_latest_snapshot(const char *sql, int nargs, Oid *types, Datum *values);
static void execute_plan(SPIPlanPtr plan, ParamListInfo params, DestReceiver *dest);
static Rows copy_rows_of(int result, MemoryContext cxt);
static void rethrow_error(MemoryContext cxt);
static int	compare_names(const ListCell *a, const ListCell *b);

/*
 * run_command
 *		Runs one command as a role, under AS_OWNER(), or as the current user if role is InvalidOid.
 *		Names in it must be qualified and quoted.
 *
 * As a role, it is a part of what the user has run, as commands are that the server runs within others:
 * it fires no event triggers.  These would run as that role, under a search_path that does not find what
 * they name; and they are about DDL of users.  As the current user, it fires them as natively, and so it
 * runs under the search_path of that user.
 */
void
run_command(Oid role, const char *sql)
{
	RawStmt    *parsed = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT));
	MemoryContext cxt = CurrentMemoryContext;

	AS_OWNER(role);
	PG_TRY();
	{
		if (OidIsValid(role) && !analyze_requires_snapshot(parsed))
			run_part(parsed, InvalidOid, sql);
		else
			execute_command(sql);
	}
	PG_CATCH();
	{
		rethrow_error(cxt);
	}
	PG_END_TRY();
	END_AS_OWNER();
}

/*
 * run_on_table
 *		Runs ALTER TABLE or CREATE TRIGGER on a table as its owner, and as a part of what the user has run, as
 *		run_command() does.  The command may name it "t": the name is replaced by its OID.
 *
 * So the server itself sees to it that nothing is altered but this table, by no role that may not do
 * so, whatever was given its name meanwhile.  The owner needs no right on the schema of the table.
 */
void
run_on_table(Oid relid, const char *sql)
{
	RawStmt    *parsed = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT));
	MemoryContext cxt = CurrentMemoryContext;
	Oid			owner = GetSysCacheOid1(RELOID, Anum_pg_class_relowner, ObjectIdGetDatum(relid));

	if (!OidIsValid(owner))
		report_dropped(relid);
	AS_OWNER(owner);
	PG_TRY();
	{
		run_part(parsed, relid, sql);
	}
	PG_CATCH();
	{
		rethrow_error(cxt);
	}
	PG_END_TRY();
	END_AS_OWNER();
}

/*
 * run_part
 *		Runs a utility command as a part of another, on a table, or as it is if relid is InvalidOid.
 *
 * If the other is DDL, its event triggers are not told of this one either, except of what it drops.
 */
static void
run_part(RawStmt *parsed, Oid relid, const char *sql)
{
	PlannedStmt *command = makeNode(PlannedStmt);
	ErrorContextCallback callback = {.previous = error_context_stack,.callback = add_command};

	callback.arg = unconstify(char *, sql);
	command->commandType = CMD_UTILITY;
	command->utilityStmt = parsed->stmt;
	command->stmt_location = parsed->stmt_location;
	command->stmt_len = parsed->stmt_len;
	error_context_stack = &callback;
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	EventTriggerInhibitCommandCollection();
	DO_AND_UNDO(EventTriggerUndoInhibitCommandCollection(), run_utility(command, relid, sql));
	PopActiveSnapshot();
	CommandCounterIncrement();
	error_context_stack = callback.previous;
}

/*
 * run_utility
 *		Runs a utility command.  If relid is valid, it is ALTER TABLE or CREATE TRIGGER: does what the
 *		server does once it has found the table.
 */
static void
run_utility(PlannedStmt *command, Oid relid, const char *sql)
{
	AlterTableUtilityContext context = {.pstmt = command,.queryString = sql,.relid = relid};
	AlterTableStmt *stmt;
	LOCKMODE	lock;

	if (!OidIsValid(relid))
	{
		ProcessUtility(command, sql, false, PROCESS_UTILITY_SUBCOMMAND, NULL, NULL, None_Receiver, NULL);
		return;
	}
	if (IsA(command->utilityStmt, CreateTrigStmt))
	{
		CreateTrigger((CreateTrigStmt *) command->utilityStmt, sql, relid, InvalidOid, InvalidOid, InvalidOid,
					  InvalidOid, InvalidOid, NULL, false, false);
		return;
	}
	stmt = castNode(AlterTableStmt, command->utilityStmt);
	lock = AlterTableGetLockLevel(stmt->cmds);
	LockRelationOid(relid, lock);
	WHILE_SET(altered_by_us, relid, AlterTable(stmt, lock, &context));
}

/* add_command: adds to an error the command that has raised it, as SPI does */
static void
add_command(void *arg)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(arg);
	}
	else
		errcontext("SQL statement \"%s\"", (const char *) arg);
}

/* execute_command: runs a command as SPI does */
static void
execute_command(const char *sql)
{
	int			result;

	SPI_connect();
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), sql);
	SPI_finish();
}

/*
 * fix_search_path
 *		Begins a GUC nest level with a search_path that finds no operators of users; returns
 *		the level.
 */
int
fix_search_path(void)
{
	int			nestlevel = NewGUCNestLevel();

	set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

/*
 * rethrow_error
 *		Raises again the error that has ended a statement of ours.  A user who has cancelled his
 *		command is not told which of them it was at.
 */
static void
rethrow_error(MemoryContext cxt)
{
	ErrorData  *error;

	if (geterrcode() != ERRCODE_QUERY_CANCELED)
		PG_RE_THROW();
	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	FlushErrorState();
	error->context = NULL;
	ThrowErrorData(error);
}

/*
 * execute_with_latest_snapshot
 *		Runs one statement, which sees what is committed now at any isolation level;
 *		returns how many rows it has processed.
 *
 * The caller has connected SPI, and finds the rows in SPI_tuptable.
 */
static uint64
execute_with_latest_snapshot(const char *sql, int nargs, Oid *types, Datum *values)
{
	SPIPlanPtr	plan = SPI_prepare(sql, nargs, types);
	int			result;

	if (plan == NULL)
		elog(ERROR, "%s: %s", SPI_result_code_string(SPI_result), sql);
	/* Citus plans some statements for known values only. */
	WHILE_SET(plan_cache_mode, PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN,
			  result = SPI_execute_snapshot(plan, values, NULL, GetLatestSnapshot(), InvalidSnapshot, false, true,
											0));
	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), sql);
	return SPI_processed;
}

/*
 * query_with
 *		Runs one statement as execute_with_latest_snapshot() does, as a role under AS_OWNER(), or as
 *		the current user if role is InvalidOid, with a fixed search_path; returns its rows.
 */
Rows
query_with(Oid role, const char *sql, int nargs, Oid *types, Datum *values)
{
	MemoryContext cxt = CurrentMemoryContext;
	int			nestlevel = fix_search_path();
	Rows		rows;

	AS_OWNER(role);
	PG_TRY();
	{
		SPI_connect();
		(void) execute_with_latest_snapshot(sql, nargs, types, values);
		rows = copy_rows(cxt);
		SPI_finish();
	}
	PG_CATCH();
	{
		rethrow_error(cxt);
	}
	PG_END_TRY();
	END_AS_OWNER();
	AtEOXact_GUC(false, nestlevel);
	return rows;
}

/*
 * query_as_caller
 *		Runs one query of a table, or of what is the extension's own if relid is InvalidOid, as the
 *		current user, with the active snapshot, and returns its rows.
 *
 * Settings are left as they are, because policies and functions may depend on them: names in the
 * query must be qualified, and so must operators.
 */
Rows
query_as_caller(Oid relid, const char *sql, int nargs, Oid *types, Datum *values)
{
	MemoryContext cxt = CurrentMemoryContext;
	Rows		rows;

	wait_point("a query of a table is going to be run");
	SPI_connect();
	WHILE_NAMING(&relid, OidIsValid(relid) ? 1 : 0, sql,
				 rows = copy_rows_of(SPI_execute_with_args(sql, nargs, types, values, NULL, true, 0), cxt));
	SPI_finish();
	return rows;
}

/*
 * keep_query
 *		Returns a plan of one query of a table for query_by_plan(), which is kept until
 *		SPI_freeplan().
 */
SPIPlanPtr
keep_query(Oid relid, const char *sql, int nargs, Oid *types)
{
	SPIPlanPtr	plan;

	wait_point("a query of a table is going to be run");
	SPI_connect();
	WHILE_NAMING(&relid, OidIsValid(relid) ? 1 : 0, sql,
				 plan = SPI_prepare(sql, nargs, types));
	if (plan == NULL)
		elog(ERROR, "%s: %s", SPI_result_code_string(SPI_result), sql);
	SPI_keepplan(plan);
	SPI_finish();
	return plan;
}

/*
 * query_by_plan
 *		Runs a query that was kept as query_as_caller() does, with a snapshot; returns its
 *		rows.
 */
Rows
query_by_plan(Oid relid, SPIPlanPtr plan, Datum *values, Snapshot snapshot)
{
	const char *sql = ((CachedPlanSource *) linitial(SPI_plan_get_plan_sources(plan)))->query_string;
	MemoryContext cxt = CurrentMemoryContext;
	Rows		rows;

	SPI_connect();
	PushActiveSnapshot(snapshot);
	WHILE_NAMING(&relid, OidIsValid(relid) ? 1 : 0, sql,
				 rows = copy_rows_of(SPI_execute_plan(plan, values, NULL, true, 0), cxt));
	PopActiveSnapshot();
	SPI_finish();
	return rows;
}

/*
 * copy_rows_of
 *		Returns the rows of a query by the result of SPI that has run it, copied to a memory
 *		context.
 */
static Rows
copy_rows_of(int result, MemoryContext cxt)
{
	if (result != SPI_OK_SELECT)
		elog(ERROR, "query has failed: %s", SPI_result_code_string(result));
	return copy_rows(cxt);
}

/* send_rows: runs a query as query_by_plan() does, and sends its rows to a receiver */
void
send_rows(Oid relid, SPIPlanPtr plan, ParamListInfo params, Snapshot snapshot, DestReceiver *dest)
{
	const char *sql = ((CachedPlanSource *) linitial(SPI_plan_get_plan_sources(plan)))->query_string;

	SPI_connect();
	PushActiveSnapshot(snapshot);
	WHILE_NAMING(&relid, 1, sql,
				 execute_plan(plan, params, dest));
	PopActiveSnapshot();
	SPI_finish();
}

/*
 * execute_plan
 *		Executes a statement that was kept, which is planned for these values of its parameters, whatever the
 *		setting says: extensions that plan queries themselves may only know a way for given values.
 */
static void
execute_plan(SPIPlanPtr plan, ParamListInfo params, DestReceiver *dest)
{
	SPIExecuteOptions options = {.params = params,.dest = dest,.read_only = true};
	int			result = 0;

	WHILE_SET(plan_cache_mode, PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN,
			  result = SPI_execute_plan_extended(plan, &options));
	if (result < 0)
		elog(ERROR, "query has failed: %s", SPI_result_code_string(result));
}

/* copy_rows: returns the rows of a statement that SPI has run, copied to a memory context */
Rows
copy_rows(MemoryContext cxt)
{
	Rows		rows = {.n = SPI_processed};
	MemoryContext old = MemoryContextSwitchTo(cxt);

	if (SPI_tuptable != NULL)
	{
		rows.desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
		rows.tuples = palloc_extended(sizeof(HeapTuple) * Max(rows.n, 1), MCXT_ALLOC_HUGE);
		for (uint64 i = 0; i < rows.n; i++)
			rows.tuples[i] = heap_copytuple(SPI_tuptable->vals[i]);
	}
	MemoryContextSwitchTo(old);
	return rows;
}

/* row_value: returns what a row has in a column, both counted as SPI does it; 0 if that is null */
Datum
row_value(const Rows *rows, uint64 row, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(rows->tuples[row], rows->desc, column, &isnull);

	return isnull ? (Datum) 0 : value;
}

/* row_text: returns the value of row_value() as text; NULL if it is null */
char *
row_text(const Rows *rows, uint64 row, int column)
{
	return SPI_getvalue(rows->tuples[row], rows->desc, column);
}

/*
 * quoted_relation
 *		Returns the qualified name of a relation, quoted; raises an error if it has been
 *		dropped.
 */
char *
quoted_relation(Oid relid)
{
	char	   *schema = get_namespace_name(get_rel_namespace(relid));
	char	   *name = get_rel_name(relid);

	if (schema == NULL || name == NULL)
		report_dropped(relid);
	return quote_qualified_identifier(schema, name);
}

/* column_names: returns the names of columns of a table, as a list of char * */
List *
column_names(Oid relid, const AttrNumber *columns, int n)
{
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
		result = lappend(result, get_attname(relid, columns[i], false));
	return result;
}

/* column_list: returns the names of columns of a table, quoted, with commas between them */
char *
column_list(Oid relid, const AttrNumber *columns, int n)
{
	StringInfoData list;

	initStringInfo(&list);
	foreach_ptr(char, name, column_names(relid, columns, n))
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", quote_identifier(name));
	return list.data;
}

/* report_dropped: raises the error for a relation that does not exist, or no longer */
void
report_dropped(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", relid)));
}

/*
 * report_renamed
 *		Raises the error for a table whose name was that of another one when a query of ours was parsed.
 *
 * The owner of a schema may rename it at any time.  Values of other types than the table's would be
 * taken for its values, and pointers be read where there are none.
 */
void
report_renamed(const char *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("table \"%s\" was renamed while its rows were being read", table),
			 errdetail("Its name, or that of its schema, has become that of another one."),
			 errhint("The command might succeed if retried.")));
}

/* sort_by_name: sorts the OIDs of relations by their qualified names */
void
sort_by_name(List *relations)
{
	list_sort(relations, compare_names);
}

/* compare_names: compares two relations by their qualified names, for list_sort() */
static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(quoted_relation(lfirst_oid(a)), quoted_relation(lfirst_oid(b)));
}

/*
 * as_base_type
 *		Returns an SQL expression, cast to the base type if its type is a domain.
 *
 * Not all operators take domains.
 */
const char *
as_base_type(const char *expression, Oid type)
{
	Oid			base = getBaseType(type);

	return base == type ? expression :
		psprintf("%s::%s", expression,
				 format_type_extended(base, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
}

/*
 * sql_literal
 *		Returns a text as an SQL literal, in quotes, or in dollar quotes where these
 *		are easier to read.
 */
char *
sql_literal(const char *text)
{
	return strchr(text, '\'') != NULL && strpbrk(text, "$\\") == NULL ? psprintf("$$%s$$", text) :
		quote_literal_cstr(text);
}

/* array_of_texts: returns an array of texts (char *) */
Datum
array_of_texts(List *texts)
{
	Datum	   *values = palloc(sizeof(Datum) * list_length(texts));

	foreach_ptr(char, text, texts)
		values[foreach_current_index(text)] = CStringGetTextDatum(text);
	return PointerGetDatum(construct_array(values, list_length(texts), TEXTOID, -1, false, TYPALIGN_INT));
}

/* array_of_oids: returns an array of OIDs */
Datum
array_of_oids(List *oids)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(list_length(oids), 1));

	foreach_oid(oid, oids)
		values[foreach_current_index(oid)] = ObjectIdGetDatum(oid);
	return PointerGetDatum(construct_array(values, list_length(oids), OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

/*
 * array_literal
 *		Returns an SQL literal for an array of fields: '{a,b}', or ARRAY[...] if the
 *		fields need quotes.
 */
char *
array_literal(List *fields)
{
	char	   *array = OidOutputFunctionCall(F_ARRAY_OUT, array_of_texts(fields));
	StringInfoData list;

	initStringInfo(&list);
	foreach_ptr(char, field, fields)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", sql_literal(field));
	return strpbrk(array, "\"'\\") == NULL ? sql_literal(array) : psprintf("ARRAY[%s]", list.data);
}
