/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Implements indextable.query(), which returns a page of an index table in its
 *	  order.
 *
 * One statement reads the entries by the index table's primary key, from where the
 * last page ended: (columns) > (values).  Whether the caller may read them is checked
 * as for lookup().  Then the statement is planned and run as the owner, since planning
 * may call functions of the owner.  Documents are fetched as the caller, with the
 * functions that lookup() uses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "optimizer/plancat.h"
#include "storage/lockdefs.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "../definition/cache.h"
#include "../entry/row_text.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/fixed_settings.h"
#include "../util/role.h"
#include "condition.h"
#include "fetch.h"
#include "lookup.h"
#include "page_cursor.h"
#include "query.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(indextable_query);
PG_FUNCTION_INFO_V1(indextable_explain_query);

#define MAX_PAGE_SIZE	10000

/* So many plans a session keeps; when it has more of them, it forgets all. */
#define MAX_PLANS		200

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

typedef struct PlanKey
{
	Oid			index_table;
	uint32		pad;
	uint64		hash;			/* of the statement and of the types of its
								 * values */
} PlanKey;

/* A plan that is kept for the session. */
typedef struct KeptPlan
{
	PlanKey		key;			/* hash key */
	char	   *sql;
	SPIPlanPtr	plan;
} KeptPlan;

static relation_hook_type previous_hook = NULL;
static bool planning = false;	/* a page's statement is run, and planned if
								 * necessary */
static HTAB *plans = NULL;		/* of KeptPlan */
static int	running = 0;		/* so many queries are running: the functions
								 * of one's types may call another */

static void keep_only_primary_key(RELATION_HOOK_PARAMETERS);
static void read_arguments(FunctionCallInfo fcinfo, PageQuery *query);
static void run_query(PageQuery *query, ReturnSetInfo *rsinfo);
static void explain(PageQuery *query, bool analyze, ReturnSetInfo *rsinfo);
static void switch_to_owner_settings(PageQuery *query, Caller *caller);
static int	execute(PageQuery *query, SPIPlanPtr plan, bool read_only);
static SPIPlanPtr plan_of(PageQuery *query, bool *kept);
static void forget_plans(void);

/* query_init: installs the planner hook, once, when the library is loaded */
void
query_init(void)
{
	previous_hook = relation_hook;
	relation_hook = keep_only_primary_key;
}

/*
 * keep_only_primary_key
 *		Hides all indexes but primary keys from the planner while a page's statement is
 *		planned.  Another index may have the entries in the right order too, but among
 *		many entries that do not belong to the page.
 */
static void
keep_only_primary_key(RELATION_HOOK_PARAMETERS)
{
	ListCell   *cell;

	if (previous_hook)
		previous_hook(RELATION_HOOK_ARGUMENTS);
	if (!planning)
		return;
	foreach(cell, rel->indexlist)
	{
		Relation	index = index_open(((IndexOptInfo *) lfirst(cell))->indexoid, NoLock);
		bool		primary = index->rd_index->indisprimary;

		index_close(index, NoLock);
		if (!primary)
			rel->indexlist = foreach_delete_current(rel->indexlist, cell);
	}
}

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
	running++;
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
		running--;
		definition_unpin(query.lookup.factdef);
	}
	PG_END_TRY();
	lookup_close(&query.lookup);
	return (Datum) 0;
}

/* indextable_explain_query: returns what EXPLAIN, or with run EXPLAIN ANALYZE, says of a page's statement */
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

/* run_query: reads the entries and makes the cursors as the owner, then fetches the documents as the caller */
static void
run_query(PageQuery *query, ReturnSetInfo *rsinfo)
{
	TupleTableSlot *entry;
	SPITupleTable *rows = NULL;
	Datum	   *entries = NULL;
	Datum	   *cursors = NULL;
	MemoryContext row_cxt;
	Caller		caller;
	uint64		n = 0;
	uint64		i;
	int			c;

	SPI_connect();
	entry = MakeSingleTupleTableSlot(query->def->desc, &TTSOpsVirtual);
	row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable entry", ALLOCSET_DEFAULT_SIZES);

	switch_to_owner_settings(query, &caller);
	if (make_statement(query))
	{
		bool		kept;
		SPIPlanPtr	plan = plan_of(query, &kept);
		int			result = execute(query, plan, true);

		if (result != SPI_OK_SELECT)
			elog(ERROR, "could not read index table \"%s\": %s", query->def->name,
				 SPI_result_code_string(result));
		rows = SPI_tuptable;
		n = SPI_processed;
		if (!kept)
			SPI_freeplan(plan);
	}
	entries = palloc(sizeof(Datum) * (n + 1));
	cursors = palloc(sizeof(Datum) * (n + 1));

	/* Puts the columns that were read of a row into the slot of an entry. */
#define FILL_ENTRY(i) \
	do { \
		ExecClearTuple(entry); \
		memset(entry->tts_isnull, true, sizeof(bool) * query->def->desc->natts); \
		for (c = 0; c < query->ncolumns; c++) \
			entry->tts_values[query->columns[c] - 1] = \
				SPI_getbinval(rows->vals[i], rows->tupdesc, c + 1, \
							  &entry->tts_isnull[query->columns[c] - 1]); \
		ExecStoreVirtualTuple(entry); \
	} while (0)

	for (i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row_cxt);
		Datum		fields;
		Datum		cursor;

		CHECK_FOR_INTERRUPTS();
		FILL_ENTRY(i);
		fields = columns_to_jsonb(query->lookup.factdef->owner, entry, query->columns, query->nfields);
		cursor = cursor_make(&query->identity, query->def, query->range.nequal, entry);
		MemoryContextSwitchTo(old);
		entries[i] = datumCopy(fields, false, -1);
		cursors[i] = datumCopy(cursor, false, -1);
		MemoryContextReset(row_cxt);
	}
	become_caller(&caller);

	for (i = 0; i < n && query->documents && !query->copies; i++)
	{
		FILL_ENTRY(i);
		lookup_expect(&query->lookup, entry);
	}
	for (i = 0; i < n; i++)
	{
		Datum		values[3] = {entries[i], (Datum) 0, cursors[i]};
		bool		isnull[3] = {false, true, false};

		CHECK_FOR_INTERRUPTS();
		if (query->copies)
			values[1] = SPI_getbinval(rows->vals[i], rows->tupdesc, query->ncolumns, &isnull[1]);
		else if (query->documents)
		{
			FILL_ENTRY(i);
			query->lookup.cxt = row_cxt;
			isnull[1] = !lookup_document(&query->lookup, entry, &values[1]);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
		MemoryContextReset(row_cxt);
	}
	lookup_end_documents(&query->lookup);
	ExecDropSingleTupleTableSlot(entry);
	SPI_finish();
}

/* explain: returns the lines that EXPLAIN gives for the statement */
static void
explain(PageQuery *query, bool analyze, ReturnSetInfo *rsinfo)
{
	Caller		caller;
	SPIPlanPtr	plan;
	uint64		i;

	SPI_connect();
	switch_to_owner_settings(query, &caller);
	if (make_statement(query))
	{
		plan = SPI_prepare(psprintf("EXPLAIN (COSTS OFF%s) %s", analyze ? ", ANALYZE, BUFFERS" : "",
									query->sql.data),
						   query->nargs, query->types);
		if (plan == NULL || execute(query, plan, false) != SPI_OK_UTILITY)
			elog(ERROR, "could not explain the query of index table \"%s\"", query->def->name);
		for (i = 0; i < SPI_processed; i++)
		{
			bool		isnull;
			Datum		line = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &line, &isnull);
		}
	}
	become_caller(&caller);
	SPI_finish();
}

/*
 * switch_to_owner_settings
 *		Acts as the owner from now on, with settings that give values a fixed form, and
 *		plans that read the entries in the order of an index, whatever the statistics
 *		say.  The alternative would be to read and sort all entries that follow.
 */
static void
switch_to_owner_settings(PageQuery *query, Caller *caller)
{
	static const char *const settings[][2] = {
		{"enable_seqscan", "off"}, {"enable_bitmapscan", "off"}, {"enable_sort", "off"},
		{"enable_incremental_sort", "off"}, {"enable_indexscan", "on"}, {"enable_indexonlyscan", "on"},
		{"enable_partition_pruning", "on"}, {"max_parallel_workers_per_gather", "0"}, {"jit", "off"}
	};
	Size		i;

	if (check_enable_rls(query->def->relid, query->lookup.factdef->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", query->def->name),
				 errhint("Enable row security on the fact table instead.")));
	become_owner(caller, query->lookup.factdef->owner);
	fix_gucs();
	for (i = 0; i < lengthof(settings); i++)
		set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
}

/* execute: runs a plan with the values of the query's statement, and returns what SPI returns */
static int
execute(PageQuery *query, SPIPlanPtr plan, bool read_only)
{
	int			result;

	planning = true;
	PG_TRY();
	{
		result = SPI_execute_snapshot(plan, query->values, NULL, query->lookup.snapshot, InvalidSnapshot,
									  read_only, false, 0);
	}
	PG_FINALLY();
	{
		planning = false;
	}
	PG_END_TRY();
	return result;
}

/*
 * plan_of
 *		Returns the plan of the statement, and in *kept whether it is kept for the
 *		session; otherwise the caller frees it.  It is a generic plan, for all values:
 *		with sequential scans and sorts off there is not much to choose from.  Plans are
 *		not forgotten while another query may be using one.
 */
static SPIPlanPtr
plan_of(PageQuery *query, bool *kept)
{
	PlanKey		key = {0};
	KeptPlan   *entry;
	SPIPlanPtr	plan;

	if (plans == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(PlanKey);
		ctl.entrysize = sizeof(KeptPlan);
		plans = hash_create("indextable plans", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	key.index_table = query->def->relid;
	key.hash = hash_bytes_extended((unsigned char *) query->sql.data, query->sql.len, 0) ^
		hash_bytes_extended((unsigned char *) query->types, sizeof(Oid) * query->nargs, 1);
	entry = hash_search(plans, &key, HASH_FIND, NULL);
	*kept = true;
	if (entry != NULL && strcmp(entry->sql, query->sql.data) == 0)
		return entry->plan;

	plan = SPI_prepare_cursor(query->sql.data, query->nargs, query->types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	if (entry == NULL && hash_get_num_entries(plans) >= MAX_PLANS && running == 1)
		forget_plans();
	*kept = (entry == NULL && hash_get_num_entries(plans) < MAX_PLANS);
	if (*kept)
	{
		char	   *sql = MemoryContextStrdup(TopMemoryContext, query->sql.data);

		SPI_keepplan(plan);
		entry = hash_search(plans, &key, HASH_ENTER, NULL);
		entry->sql = sql;
		entry->plan = plan;
	}
	return plan;
}

/* forget_plans: frees all plans that are kept */
static void
forget_plans(void)
{
	HASH_SEQ_STATUS seq;
	KeptPlan   *entry;

	hash_seq_init(&seq, plans);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		SPI_freeplan(entry->plan);
		pfree(entry->sql);
		hash_search(plans, &entry->key, HASH_REMOVE, NULL);
	}
}
