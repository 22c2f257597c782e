/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Implements indextable.query(), which returns a page of an index table in its
 *	  order.
 *
 * Whether the caller may read the entries is checked as for lookup().  Then they are
 * searched for as the owner, since functions of the owner may compare them or write
 * their values.  Documents are fetched as the caller, with the functions that lookup()
 * uses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "portability/instr_time.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "../definition/cache.h"
#include "../entry/entry_scan.h"
#include "../entry/row_text.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/fixed_settings.h"
#include "../util/role.h"
#include "condition.h"
#include "fetch.h"
#include "lookup.h"
#include "page_cursor.h"
#include "page_search.h"

PG_FUNCTION_INFO_V1(indextable_query);
PG_FUNCTION_INFO_V1(indextable_explain_query);

#define MAX_PAGE_SIZE	10000

/* The arguments of both functions, in their order. */
enum
{
	ARG_INDEX_TABLE,
	ARG_KEY,
	ARG_CONDITION,
	ARG_DESCENDING,
	ARG_PAGE_SIZE,
	ARG_CURSOR,
	/* Only query() has these. */
	ARG_DOCUMENT,
	ARG_MAX_LAG,
	ARG_TIMEOUT,
	/* Only explain_query() has this one. */
	ARG_RUN = ARG_DOCUMENT
};

/* An entry of a page whose document is still to be fetched. */
typedef struct PageRow
{
	MinimalTuple entry;
	Datum		fields;			/* the entry as JSON */
	Datum		cursor;
} PageRow;

static void read_arguments(FunctionCallInfo fcinfo, PageQuery *query);
static void run_query(PageQuery *query, ReturnSetInfo *rsinfo);
static void return_documents(PageQuery *query, PageRow *rows, ReturnSetInfo *rsinfo);
static void explain(PageQuery *query, bool run, ReturnSetInfo *rsinfo);
static List *explain_page(PageQuery *query, bool run, instr_time start);
static List *explain_search(PageQuery *query);
static void switch_to_owner(PageQuery *query, Caller *caller);

/* indextable_query: returns the entries, documents and cursors of a page */
Datum
indextable_query(PG_FUNCTION_ARGS)
{
	PageQuery	query = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_INDEX_TABLE) || PG_ARGISNULL(ARG_KEY))
		return (Datum) 0;
	read_arguments(fcinfo, &query);
	query.documents = !PG_ARGISNULL(ARG_DOCUMENT) && PG_GETARG_BOOL(ARG_DOCUMENT);
	query.lookup.entries_only = !query.documents;
	lookup_open(&query.lookup, PG_GETARG_OID(ARG_INDEX_TABLE),
				interval_arg(fcinfo, ARG_MAX_LAG, "max_lag"),
				interval_arg(fcinfo, ARG_TIMEOUT, "timeout"));
	PG_TRY();
	{
		query.def = query.lookup.def;
		lookup_check_access(&query.lookup);
		query.copies = query.documents && query.lookup.copies;
		key_range(query.def, PG_GETARG_JSONB_P(ARG_KEY),
				  PG_ARGISNULL(ARG_CONDITION) ? NULL : PG_GETARG_JSONB_P(ARG_CONDITION), &query.range);
		if (!query.range.empty)
			run_query(&query, (ReturnSetInfo *) fcinfo->resultinfo);
	}
	PG_FINALLY();
	{
		definition_unpin(query.lookup.factdef);
	}
	PG_END_TRY();
	lookup_close(&query.lookup);
	return (Datum) 0;
}

/* indextable_explain_query: returns how a page is read, and with run what that took */
Datum
indextable_explain_query(PG_FUNCTION_ARGS)
{
	PageQuery	query = {0};

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(ARG_INDEX_TABLE) || PG_ARGISNULL(ARG_KEY))
		return (Datum) 0;
	read_arguments(fcinfo, &query);
	query.lookup.entries_only = true;
	lookup_open(&query.lookup, PG_GETARG_OID(ARG_INDEX_TABLE), -1, -1);
	PG_TRY();
	{
		query.def = query.lookup.def;
		lookup_check_access(&query.lookup);
		key_range(query.def, PG_GETARG_JSONB_P(ARG_KEY),
				  PG_ARGISNULL(ARG_CONDITION) ? NULL : PG_GETARG_JSONB_P(ARG_CONDITION), &query.range);
		if (!query.range.empty)
			explain(&query, !PG_ARGISNULL(ARG_RUN) && PG_GETARG_BOOL(ARG_RUN),
					(ReturnSetInfo *) fcinfo->resultinfo);
	}
	PG_FINALLY();
	{
		definition_unpin(query.lookup.factdef);
	}
	PG_END_TRY();
	lookup_close(&query.lookup);
	return (Datum) 0;
}

/* read_arguments: reads those arguments that both functions have; NULL means the default */
static void
read_arguments(FunctionCallInfo fcinfo, PageQuery *query)
{
	query->descending = !PG_ARGISNULL(ARG_DESCENDING) && PG_GETARG_BOOL(ARG_DESCENDING);
	query->page_size = PG_ARGISNULL(ARG_PAGE_SIZE) ? 100 : PG_GETARG_INT32(ARG_PAGE_SIZE);
	query->cursor = text_arg(fcinfo, ARG_CURSOR, NULL);
	if (query->page_size < 1 || query->page_size > MAX_PAGE_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("page_size must be between 1 and %d", MAX_PAGE_SIZE)));
}

/*
 * run_query
 *		Reads the entries and makes the cursors as the owner.  Documents, unless the index
 *		table has copies, are fetched afterwards, as the caller.
 */
static void
run_query(PageQuery *query, ReturnSetInfo *rsinfo)
{
	MemoryContext row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable entry", ALLOCSET_DEFAULT_SIZES);
	PageRow    *rows = NULL;
	Caller		caller;

	if (query->documents && !query->copies)
		rows = palloc(sizeof(PageRow) * query->page_size);
	switch_to_owner(query, &caller);
	if (page_search_begin(query))
	{
		TupleTableSlot *entry;

		/* What is in shards is read as the caller, whose rights Citus checks. */
		if (query->def->fact->distributed)
			become_caller(&caller);
		entry_scan_start(&query->scan, query->keys);
		if (query->def->fact->distributed)
			switch_to_owner(query, &caller);
		while ((entry = page_search_next(query)) != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(row_cxt);
			Datum		values[3] = {0};
			bool		isnull[3] = {false, true, false};

			values[0] = columns_to_jsonb(InvalidOid, entry, query->columns, query->ncolumns);
			values[2] = cursor_make(&query->identity, query->def, query->range.nequal, entry);
			if (query->copies)
				values[1] = slot_getattr(entry, query->def->doc_attno, &isnull[1]);
			MemoryContextSwitchTo(old);
			if (rows == NULL)
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
			else
			{
				PageRow    *row = &rows[query->found - 1];

				row->entry = ExecCopySlotMinimalTuple(entry);
				row->fields = datumCopy(values[0], false, -1);
				row->cursor = datumCopy(values[2], false, -1);
			}
			MemoryContextReset(row_cxt);
		}
		entry_scan_end(&query->scan);
	}
	become_caller(&caller);
	if (rows != NULL)
		return_documents(query, rows, rsinfo);
	MemoryContextDelete(row_cxt);
}

/* return_documents: fetches the documents of the entries that were read, and returns both */
static void
return_documents(PageQuery *query, PageRow *rows, ReturnSetInfo *rsinfo)
{
	TupleTableSlot *entry = MakeSingleTupleTableSlot(query->def->desc, &TTSOpsMinimalTuple);
	MemoryContext row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable document", ALLOCSET_DEFAULT_SIZES);
	int			i;

	for (i = 0; i < query->found; i++)
	{
		ExecStoreMinimalTuple(rows[i].entry, entry, false);
		lookup_expect(&query->lookup, entry);
	}
	for (i = 0; i < query->found; i++)
	{
		Datum		values[3] = {rows[i].fields, (Datum) 0, rows[i].cursor};
		bool		isnull[3] = {false, true, false};

		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple(rows[i].entry, entry, false);
		query->lookup.cxt = row_cxt;
		isnull[1] = !lookup_document(&query->lookup, entry, &values[1]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
		MemoryContextReset(row_cxt);
	}
	lookup_end_documents(&query->lookup);
	ExecDropSingleTupleTableSlot(entry);
	MemoryContextDelete(row_cxt);
}

/*
 * explain
 *		Returns which indexes are searched, in which direction and for what, in the words of
 *		EXPLAIN; with run the page is read, and what that took is returned, too.
 */
static void
explain(PageQuery *query, bool run, ReturnSetInfo *rsinfo)
{
	instr_time	start;
	List	   *lines = NIL;
	ListCell   *cell;
	Caller		caller;

	INSTR_TIME_SET_CURRENT(start);
	switch_to_owner(query, &caller);
	if (page_search_begin(query))
	{
		if (query->def->fact->distributed)
		{
			become_caller(&caller);
			lines = entry_scan_explain_distributed(&query->scan, query->keys, run);
			switch_to_owner(query, &caller);
		}
		else
			lines = explain_page(query, run, start);
		entry_scan_end(&query->scan);
	}
	become_caller(&caller);
	foreach(cell, lines)
	{
		Datum		line = CStringGetTextDatum(lfirst(cell));
		bool		isnull = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &line, &isnull);
	}
}

/* explain_page: returns the lines of explain() for an index table on this server; start is when it began */
static List *
explain_page(PageQuery *query, bool run, instr_time start)
{
	BufferUsage before = pgBufferUsage;
	instr_time	duration;
	List	   *lines;

	entry_scan_start(&query->scan, query->keys);
	while (run && page_search_next(query) != NULL)
		;
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	lines = explain_search(query);
	if (!run || lines == NIL)
		return lines;
	lines = lappend(lines, psprintf("  Entries: %d", query->found));
	if (query->range.prefix != NULL)
		lines = lappend(lines, psprintf("  Entries Removed by Filter: " UINT64_FORMAT,
										query->scan.entries - query->found));
	lines = lappend(lines, psprintf("  Heap Fetches: " UINT64_FORMAT, query->scan.heap_fetches));
	lines = lappend(lines, psprintf("  Buffers: shared hit=" INT64_FORMAT " read=" INT64_FORMAT,
									(int64) (pgBufferUsage.shared_blks_hit - before.shared_blks_hit),
									(int64) (pgBufferUsage.shared_blks_read - before.shared_blks_read)));
	return lappend(lines, psprintf("  Execution Time: %.3f ms", INSTR_TIME_GET_MILLISEC(duration)));
}

/* explain_search: returns lines that say what is searched and how; none if no partition can have entries of the page */
static List *
explain_search(PageQuery *query)
{
	List	   *tables = entry_scan_tables(&query->scan);
	const char *indent = list_length(tables) > 1 ? "  ->  " : "";
	List	   *lines = list_length(tables) > 1 ? list_make1("Merge Append") : NIL;
	char	   *comparisons;
	ListCell   *cell;

	if (tables == NIL)
		return NIL;
	foreach(cell, tables)
	{
		PartitionScan *table = lfirst(cell);

		lines = lappend(lines, psprintf("%sIndex %sScan%s using %s on %s", indent, table->index_only ? "Only " : "",
										query->descending ? " Backward" : "",
										quote_identifier(RelationGetRelationName(table->index)),
										quote_identifier(RelationGetRelationName(table->rel))));
	}
	comparisons = page_search_text(query);
	if (comparisons[0] != '\0')
		lines = lappend(lines, psprintf("  Index Cond: %s", comparisons));
	if (query->range.prefix != NULL)
		lines = lappend(lines, psprintf("  Filter: starts_with(%s, %s)",
										quote_identifier(NameStr(TupleDescAttr(query->def->desc,
																			   query->def->search[query->range.nequal] - 1)->attname)),
										quote_literal_cstr(query->range.prefix)));
	return lines;
}

/*
 * switch_to_owner
 *		Acts as the owner from now on, with settings that give values a fixed form.  Row
 *		security of the index table may apply to the owner, too.
 */
static void
switch_to_owner(PageQuery *query, Caller *caller)
{
	if (check_enable_rls(query->def->relid, query->lookup.factdef->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", query->def->name),
				 errhint("Enable row security on the fact table instead.")));
	become_owner(caller, query->lookup.factdef->owner);
	fix_gucs();
}
