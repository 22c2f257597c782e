/*-------------------------------------------------------------------------
 *
 * workload.c
 *	  Tells which queries filter by fields of a fact table's documents, how often they ran,
 *	  and how long: from pg_stat_statements, if it can be read, and from the last queries of
 *	  other sessions.
 *
 * pg_stat_statements counts, but mostly keeps no constants, and so no names of fields; the
 * last queries have them, but were not counted.  Both are read with the rights of the caller,
 * who sees no texts of others without those of pg_read_all_stats.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../entry/block_scan.h"
#include "../util/subxact.h"
#include "query_fields.h"
#include "workload.h"

#define STATEMENTS		"pg_stat_statements"

/* The most statements that are parsed, those that took longest in all, and the longest text. */
#define MAX_STATEMENTS	1000
#define MAX_TEXT_BYTES	100000

/* So many rows are in memory at a time. */
#define FETCHED_ROWS	50

/* The queries that are shown, of those that do not tell their fields. */
#define MAX_HIDDEN		3

/* A query that reads more than this share of the table's blocks each time reads all of it. */
#define READS_ALL		0.5

typedef struct Reading
{
	Workload   *workload;
	Relation	fact;
	const char *document;
	bool		activity;		/* what is read are the last queries */
	double		blocks;			/* of the fact table */
	int			parsed;			/* statements, so far */
} Reading;

static void read_statements(void *arg);
static char *extension_schema(void);
static void note_statement(Reading *reading, char *text, Load *load, double rows);
static void note_hidden(Reading *reading, QueryFields *found, char *text, Load *load, double rows);
static void note_field(Workload *workload, QueryField *field, Load *load);
static void add_load(Load *to, Load *load);

/* read_workload: returns what the server knows of queries of a fact table, whose documents are in the column of that name */
Workload *
read_workload(Relation fact, const char *document)
{
	Workload   *workload = palloc0(sizeof(Workload));
	Reading		reading = {.workload = workload,.fact = fact,.document = document};
	int			nestlevel = NewGUCNestLevel();
	ErrorData  *error;

	workload->cxt = CurrentMemoryContext;
	reading.blocks = block_scan_count_blocks(fact, 100);
	/* The parser would notice names in others' queries that are too long. */
	(void) set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	error = run_catching_row_errors(read_statements, &reading);
	if (error != NULL)
		workload->problem = error->message;
	reading.activity = true;
	reading.parsed = 0;
	(void) run_catching_row_errors(read_statements, &reading);
	AtEOXact_GUC(false, nestlevel);
	return workload;
}

/*
 * read_statements
 *		Reads the statements of pg_stat_statements, or the last queries; called in a
 *		subtransaction, because the extension may not be loaded, or the view forbidden.
 *
 * That the text has the name of the table somewhere is only to spare the parser.
 */
static void
read_statements(void *arg)
{
	Reading    *reading = arg;
	const char *name = RelationGetRelationName(reading->fact);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable statement", ALLOCSET_DEFAULT_SIZES);
	Oid			types[] = {TEXTOID};
	Datum		values[1];
	char	   *sql;
	Portal		portal;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (reading->activity)
		sql = psprintf("SELECT query, 0::float8, 0::float8, 0::float8, 0::float8 FROM pg_stat_activity "
					   "WHERE datname = current_database() AND pid <> pg_backend_pid() AND "
					   "backend_type = 'client backend' AND strpos(lower(query), lower($1)) > 0");
	else
	{
		char	   *schema = extension_schema();

		if (schema == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("the extension " STATEMENTS " is not installed in this database")));
		sql = psprintf("SELECT CASE WHEN queryid IS NOT NULL THEN query END, calls::float8, total_exec_time, rows::float8, "
					   "(shared_blks_hit + shared_blks_read)::float8 FROM %s." STATEMENTS " "
					   "WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND "
					   "(queryid IS NULL OR (octet_length(query) <= %d AND strpos(lower(query), lower($1)) > 0)) "
					   "ORDER BY queryid IS NULL, total_exec_time DESC", schema, MAX_TEXT_BYTES);
	}
	/* In a query its quotes are doubled. */
	values[0] = CStringGetTextDatum(strchr(name, '"') == NULL ? name : "");
	portal = SPI_cursor_open_with_args(NULL, sql, 1, types, values, NULL, true, 0);
	for (;;)
	{
		uint64		i;

		SPI_cursor_fetch(portal, true, FETCHED_ROWS);
		if (SPI_processed == 0)
			break;
		for (i = 0; i < SPI_processed; i++)
		{
			HeapTuple	tuple = SPI_tuptable->vals[i];
			TupleDesc	desc = SPI_tuptable->tupdesc;
			char	   *text = SPI_getvalue(tuple, desc, 1);
			double		number[4];
			MemoryContext old;
			Load		load = {0};
			bool		isnull;
			int			k;

			CHECK_FOR_INTERRUPTS();
			if (text == NULL)
				reading->workload->invisible++;
			if (text == NULL || ++reading->parsed > MAX_STATEMENTS)
				continue;
			for (k = 0; k < 4; k++)
				number[k] = DatumGetFloat8(SPI_getbinval(tuple, desc, k + 2, &isnull));
			load.calls = number[0];
			load.ms = number[1];
			load.reads_all = number[0] > 0 && number[3] / number[0] > READS_ALL * reading->blocks;
			load.sessions = reading->activity ? 1 : 0;
			old = MemoryContextSwitchTo(cxt);
			note_statement(reading, text, &load, number[2]);
			MemoryContextSwitchTo(old);
			MemoryContextReset(cxt);
			pfree(text);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	SPI_finish();
}

/* extension_schema: returns the schema of pg_stat_statements, quoted, or NULL */
static char *
extension_schema(void)
{
	if (SPI_execute("SELECT quote_ident(n.nspname::text) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
					"WHERE e.extname = '" STATEMENTS "'", true, 1) != SPI_OK_SELECT || SPI_processed == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/* note_statement: notes by which fields a statement filters */
static void
note_statement(Reading *reading, char *text, Load *load, double rows)
{
	Workload   *workload = reading->workload;
	QueryFields *found = fields_of_query(text, get_namespace_name(RelationGetNamespace(reading->fact)),
										 RelationGetRelationName(reading->fact), reading->document);
	bool		hidden = false;
	ListCell   *cell;

	if (found == NULL)
		return;
	foreach(cell, found->fields)
	{
		QueryField *field = lfirst(cell);

		if (field->is_hidden)
			hidden = true;
		else
			note_field(workload, field, load);
	}
	if (reading->activity)
		return;
	workload->statements++;
	add_load(&workload->load, load);
	if (hidden && list_length(workload->hidden) < MAX_HIDDEN)
		note_hidden(reading, found, text, load, rows);
}

/* note_hidden: keeps a query of which it is not known by which fields it filters */
static void
note_hidden(Reading *reading, QueryFields *found, char *text, Load *load, double rows)
{
	QueryField *field = linitial(found->fields);
	MemoryContext old = MemoryContextSwitchTo(reading->workload->cxt);
	HiddenQuery *query = palloc0(sizeof(HiddenQuery));

	query->text = pstrdup(text);
	query->load = *load;
	query->type = list_length(found->fields) == 1 ? field->type : InvalidOid;
	query->is_contained = field->is_contained;
	query->found = found->returns_found && field->is_equality && load->calls > 0 ? rows / load->calls : -1;
	reading->workload->hidden = lappend(reading->workload->hidden, query);
	MemoryContextSwitchTo(old);
}

/* note_field: adds to what is known of queries that filter by a field */
static void
note_field(Workload *workload, QueryField *field, Load *load)
{
	MemoryContext old = MemoryContextSwitchTo(workload->cxt);
	LoadedField *loaded;
	ListCell   *cell;

	foreach(cell, workload->fields)
	{
		loaded = lfirst(cell);
		if (loaded->field.type == field->type && same_steps(loaded->field.steps, field->steps))
		{
			add_load(&loaded->load, load);
			MemoryContextSwitchTo(old);
			return;
		}
	}
	loaded = palloc0(sizeof(LoadedField));
	loaded->field = *field;
	loaded->field.steps = NIL;
	foreach(cell, field->steps)
		loaded->field.steps = lappend(loaded->field.steps, lfirst(cell) == NULL ? NULL : pstrdup(lfirst(cell)));
	loaded->load = *load;
	workload->fields = lappend(workload->fields, loaded);
	MemoryContextSwitchTo(old);
}

/* add_load: adds one load to another */
static void
add_load(Load *to, Load *load)
{
	to->calls += load->calls;
	to->ms += load->ms;
	to->sessions += load->sessions;
	to->reads_all |= load->reads_all;
}

/* same_steps: returns whether two paths, lists of names and of NULL for [*], are the same */
bool
same_steps(List *a, List *b)
{
	ListCell   *cell;
	ListCell   *other;

	if (list_length(a) != list_length(b))
		return false;
	forboth(cell, a, other, b)
	{
		if (lfirst(cell) == NULL || lfirst(other) == NULL ? lfirst(cell) != lfirst(other) :
			strcmp(lfirst(cell), lfirst(other)) != 0)
			return false;
	}
	return true;
}
