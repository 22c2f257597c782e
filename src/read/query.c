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

#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "../entry/entry_scan.h"
#include "../entry/row_text.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/sql.h"
#include "condition.h"
#include "fetch.h"
#include "lookup.h"
#include "page_cursor.h"
#include "page_search.h"

PG_FUNCTION_INFO_V1(indextable_query);

#define MAX_PAGE_SIZE	10000

/* The arguments of query(), in their order. */
enum
{
	ARG_INDEX_TABLE,
	ARG_KEY,
	ARG_CONDITION,
	ARG_DESCENDING,
	ARG_PAGE_SIZE,
	ARG_CURSOR,
	ARG_DOCUMENT,
	ARG_MAX_LAG,
	ARG_TIMEOUT,
	ARG_PREVIOUS
};

/* A row of a page that is returned later: its document is still to be fetched, or other rows come before it. */
typedef struct PageRow
{
	MinimalTuple entry;
	Datum		values[3];		/* the entry as JSON, its document if it has a
								 * copy, its cursor */
	bool		isnull[3];
} PageRow;

static void read_arguments(FunctionCallInfo fcinfo, PageQuery *query);
static void run_query(PageQuery *query, ReturnSetInfo *rsinfo);
static void keep_row(PageQuery *query, TupleTableSlot *entry, Datum *values, bool *isnull, PageRow *row);
static PageRow *row_of_page(PageQuery *query, PageRow *rows, int i);
static void return_rows(PageQuery *query, PageRow *rows, ReturnSetInfo *rsinfo);
static void return_documents(PageQuery *query, PageRow *rows, ReturnSetInfo *rsinfo);
static void check_row_security(PageQuery *query);

/* indextable_query: returns the entries, documents and cursors of a page */
Datum
indextable_query(PG_FUNCTION_ARGS)
{
	PageQuery	query = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_INDEX_TABLE) || PG_ARGISNULL(ARG_KEY))
		return (Datum) 0;
	read_arguments(fcinfo, &query);
	query.lookup.entries_only = PG_ARGISNULL(ARG_DOCUMENT) || !PG_GETARG_BOOL(ARG_DOCUMENT);
	lookup_open(&query.lookup, PG_GETARG_OID(ARG_INDEX_TABLE),
				interval_arg(fcinfo, ARG_MAX_LAG, "max_lag"),
				interval_arg(fcinfo, ARG_TIMEOUT, "timeout"));
	query.def = query.lookup.def;
	lookup_check_access(&query.lookup);
	key_range(query.def, PG_GETARG_JSONB_P(ARG_KEY),
			  PG_ARGISNULL(ARG_CONDITION) ? NULL : PG_GETARG_JSONB_P(ARG_CONDITION), &query.range);
	if (!query.range.empty)
		run_query(&query, (ReturnSetInfo *) fcinfo->resultinfo);
	lookup_close(&query.lookup);
	return (Datum) 0;
}

/* read_arguments: reads the arguments of the page; NULL means the default */
static void
read_arguments(FunctionCallInfo fcinfo, PageQuery *query)
{
	bool		previous = !PG_ARGISNULL(ARG_PREVIOUS) && PG_GETARG_BOOL(ARG_PREVIOUS);

	query->descending = !PG_ARGISNULL(ARG_DESCENDING) && PG_GETARG_BOOL(ARG_DESCENDING);
	query->backward = (query->descending != previous);
	query->page_size = PG_ARGISNULL(ARG_PAGE_SIZE) ? 100 : PG_GETARG_INT32(ARG_PAGE_SIZE);
	query->cursor = text_arg(fcinfo, ARG_CURSOR, NULL);
	/* What a parameter of a URL is that was left empty. */
	if (query->cursor != NULL && query->cursor[0] == '\0')
		query->cursor = NULL;
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
	bool		fetch = !query->lookup.entries_only && !query->lookup.copies;
	PageRow    *rows = NULL;

	if (fetch || query->backward != query->descending)
		rows = palloc(sizeof(PageRow) * query->page_size);
	check_row_security(query);
	page_search_as_owner(query);
	if (page_search_begin(query))
	{
		int			from = cursor_from(&query->range);
		TupleTableSlot *entry;

		page_search_start(query);
		while ((entry = page_search_next(query)) != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(row_cxt);
			Datum		values[3] = {0};
			bool		isnull[3] = {false, true, false};

			values[0] = columns_to_jsonb(InvalidOid, entry, query->columns, query->ncolumns);
			values[2] = cursor_make(&query->identity, query->def, from, entry);
			if (query->lookup.copies)
				values[1] = slot_getattr(entry, query->def->doc_attno, &isnull[1]);
			MemoryContextSwitchTo(old);
			if (rows == NULL)
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
			else
				keep_row(query, entry, values, isnull, &rows[query->found - 1]);
			MemoryContextReset(row_cxt);
		}
		entry_scan_end(&query->scan);
	}
	become_caller(&query->caller);
	if (fetch)
		return_documents(query, rows, rsinfo);
	else if (rows != NULL)
		return_rows(query, rows, rsinfo);
	MemoryContextDelete(row_cxt);
}

/* keep_row: keeps a row until it is returned */
static void
keep_row(PageQuery *query, TupleTableSlot *entry, Datum *values, bool *isnull, PageRow *row)
{
	int			i;

	row->entry = ExecCopySlotMinimalTuple(entry);
	for (i = 0; i < 3; i++)
	{
		row->isnull[i] = isnull[i];
		row->values[i] = isnull[i] ? (Datum) 0 : datumCopy(values[i], false, -1);
	}
}

/* row_of_page: returns row number i of the page, whose rows may have been read from its end on */
static PageRow *
row_of_page(PageQuery *query, PageRow *rows, int i)
{
	return &rows[query->backward == query->descending ? i : query->found - 1 - i];
}

/* return_rows: returns the rows that were kept, as they are */
static void
return_rows(PageQuery *query, PageRow *rows, ReturnSetInfo *rsinfo)
{
	int			i;

	for (i = 0; i < query->found; i++)
	{
		PageRow    *row = row_of_page(query, rows, i);

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->isnull);
	}
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
		ExecStoreMinimalTuple(row_of_page(query, rows, i)->entry, entry, false);
		lookup_expect(&query->lookup, entry);
	}
	for (i = 0; i < query->found; i++)
	{
		PageRow    *row = row_of_page(query, rows, i);

		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple(row->entry, entry, false);
		query->lookup.cxt = row_cxt;
		row->isnull[1] = !lookup_document(&query->lookup, entry, &row->values[1]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->isnull);
		MemoryContextReset(row_cxt);
	}
	lookup_end_documents(&query->lookup);
	ExecDropSingleTupleTableSlot(entry);
	MemoryContextDelete(row_cxt);
}

/* check_row_security: raises an error if row security of the index table applies to the owner, as whom it is read */
static void
check_row_security(PageQuery *query)
{
	if (check_enable_rls(query->def->relid, query->lookup.factdef->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", query->def->name),
				 errhint("Enable row security on the fact table instead.")));
}
